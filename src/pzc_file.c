/*
 * pzc_file.c - one file, or standard input, into another
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The input is removed last of all: when the output is complete, on the
 * disk, has its name, and the input is still the file that was read.
 */
#include "pzc.h"

#include "adapt.h"
#include "fdio.h"
#include "output.h"
#include "progress.h"
#include "sandbox.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
	struct pzc *p;
	const char *path;		/* for messages */
	int fd;
	bool is_stdin;
	struct stat st;
	struct input in;
	const struct codec *codec;	/* NULL: to be copied */
	bool decompress;
	char *target;			/* the output's name, or NULL */
	struct output out;
	int out_fd;
	struct convert_result result;
};

const char *
pzc_sentence(int rc, const char *why)
{
	if (why != NULL)
		return why;
	return rc == -EFBIG ?
	    "the window is larger than allowed (--long, --memory)" :
	    convert_reason(rc);
}

/* Opening and looking */

/* Whether what is open may be replaced by its output. */
static bool
fit_to_replace(struct file *f)
{
	struct pzc *p = f->p;
	const struct stat *st = &f->st;

	if (S_ISDIR(st->st_mode)) {
		msg_warn(&p->msg, "%s is a directory -- ignored", f->path);
		return false;
	}
	if (p->to_stdout || p->mode == PZC_TEST)
		return true;
	if (!S_ISREG(st->st_mode)) {
		msg_warn(&p->msg, "%s is not a regular file -- ignored",
		    f->path);
		return false;
	}
	if (p->force || p->keep || p->output != NULL)
		return true;
	if (st->st_nlink > 1) {
		msg_warn(&p->msg, "%s has %lu other links -- ignored",
		    f->path, (unsigned long)st->st_nlink - 1);
		return false;
	}
	if (st->st_mode & (S_ISUID | S_ISGID | S_ISVTX)) {
		msg_warn(&p->msg, "%s has set-id or sticky bits -- ignored",
		    f->path);
		return false;
	}
	return true;
}

/* 0 or -1, when it has been said why not.  A FIFO must not block the open. */
static int
open_file(struct file *f)
{
	bool follow = f->p->force || f->p->to_stdout ||
	    f->p->output != NULL || f->p->mode == PZC_TEST;
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
	    (follow ? 0 : O_NOFOLLOW);

	f->fd = sys_openat(AT_FDCWD, f->path, flags, 0);
	if (f->fd == -ELOOP && !follow) {
		msg_warn(&f->p->msg, "%s is a symbolic link -- ignored",
		    f->path);
		return -1;
	}
	if (f->fd < 0) {
		msg_error(&f->p->msg, "%s: %s", f->path, strerror(-f->fd));
		return -1;
	}
	if (fstat(f->fd, &f->st) == -1) {
		msg_error(&f->p->msg, "%s: %s", f->path, strerror(errno));
		return -1;
	}
	fcntl(f->fd, F_SETFL, 0);
	return fit_to_replace(f) ? 0 : -1;
}

static bool
goes_to_stdout(const struct file *f)
{
	return f->p->to_stdout || (f->is_stdin && f->p->output == NULL);
}

/*
 * The format: when decompressing, what the stream begins with counts for
 * more than what was said, which may stand in the environment.
 */
static int
choose_codec(struct file *f)
{
	struct pzc *p = f->p;
	const uint8_t *head;
	ssize_t n;

	f->decompress = p->mode != PZC_COMPRESS;
	f->codec = p->codec;
	if (!f->decompress)
		return 0;
	n = input_peek(&f->in, CODEC_MAGIC_MAX, &head);
	if (n < 0) {
		msg_error(&p->msg, "%s: %s", f->path, strerror((int)-n));
		return -1;
	}
	if (f->codec == NULL || !f->codec->magic(head, (size_t)n))
		f->codec = codec_by_magic(head, (size_t)n);
	if (f->codec == NULL && n > 0)
		f->codec = p->codec;
	if (f->codec != NULL || (p->force && goes_to_stdout(f)))
		return 0;
	msg_error(&p->msg, n == 0 ? "%s: unexpected end of file" :
	    "%s: not in a known format", f->path);
	return -1;
}

/* The output */

/* What is decompressed in its place needs a suffix, or a stored name. */
static bool
can_be_named(struct file *f)
{
	return f->p->mode != PZC_DECOMPRESS || f->p->output != NULL ||
	    goes_to_stdout(f) ||
	    (f->p->restore_name && !f->p->recursive) ||
	    pzc_has_suffix(f->p, f->path);
}

static void
read_stored(struct file *f, struct codec_stored *stored)
{
	const uint8_t *head;
	ssize_t n;

	memset(stored, 0, sizeof(*stored));
	if (!f->p->restore_name || !f->decompress || f->codec == NULL ||
	    f->codec->stored == NULL)
		return;
	n = input_peek(&f->in, INPUT_PEEK, &head);
	if (n > 0)
		f->codec->stored(head, (size_t)n, stored);
}

/* On a terminal one is asked, as by gzip. */
static bool
may_overwrite(struct file *f)
{
	int c, first;

	if (f->p->force)
		return true;
	if (faccessat(AT_FDCWD, f->target, F_OK, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	fprintf(stderr, "%s: %s already exists; overwrite it (y or n)? ",
	    f->p->msg.prog, f->target);
	first = c = getchar();
	while (c != '\n' && c != EOF)
		c = getchar();
	return first == 'y' || first == 'Y';
}

static int
create_target(struct file *f)
{
	int rc = output_create(&f->out, f->target, may_overwrite(f));

	if (rc == -EEXIST)
		msg_warn(&f->p->msg, "%s already exists -- not overwritten",
		    f->target);
	else if (rc != 0)
		msg_error(&f->p->msg, "%s: %s", f->target, strerror(-rc));
	f->out_fd = rc == 0 ? f->out.fd : -1;
	return rc;
}

/* Converting */

static uint64_t
microseconds(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static struct convert
convert_of(const struct file *f)
{
	struct convert c = { .codec = f->codec, .decompress = f->decompress,
	    .options = f->p->codec_options, .memory = f->p->memory };
	const char *slash = strrchr(f->path, '/');

	/* standard input has neither name nor time: pipe and file < agree */
	if (!f->is_stdin && f->p->store_name)
		c.options.name = slash == NULL ? f->path : slash + 1;
	else if (f->is_stdin)
		c.options.name = f->p->alias;
	if (!f->is_stdin && f->p->store_time &&
	    f->st.st_mtime > 0 && f->st.st_mtime <= UINT32_MAX)
		c.options.mtime = (uint32_t)f->st.st_mtime;
	return c;
}

static int
convert_timed(struct file *f)
{
	struct convert c = convert_of(f);
	struct progress progress;
	struct adapt adapt;
	struct rusage a, b;
	uint64_t t0 = sys_now_ns();
	int rc;

	if (f->p->adapt && !f->decompress) {
		adapt_start(&adapt, f->p->level, f->p->adapt_min,
		    f->p->adapt_max);
		c.options.adapt = &adapt;
	}

	progress_start(&progress, STDERR_FILENO, S_ISREG(f->st.st_mode) ?
	    (uint64_t)f->st.st_size : 0, f->p->msg.quiet);
	c.progress = &progress;
	getrusage(RUSAGE_SELF, &a);
	rc = convert_run(&c, &f->in, f->out_fd, &f->result);
	getrusage(RUSAGE_SELF, &b);
	progress_erase(&progress);
	if (rc == 0)
		pzc_report(f->p, &(struct pzc_run){ .name = f->path,
		    .codec = f->codec, .result = &f->result,
		    .decompress = f->decompress, .level = f->p->level,
		    .adapt = c.options.adapt,
		    .wall_ns = sys_now_ns() - t0,
		    .user_us = microseconds(&b.ru_utime) -
		    microseconds(&a.ru_utime),
		    .sys_us = microseconds(&b.ru_stime) -
		    microseconds(&a.ru_stime) });
	return rc;
}

/* Decompresses what was written, and compares its length. */
static int
verify(struct file *f)
{
	struct convert c = { .codec = f->codec, .decompress = true,
	    .options = f->p->codec_options, .memory = f->p->memory };
	struct convert_result r;
	struct input in;
	int rc;

	if (lseek(f->out_fd, 0, SEEK_SET) == -1)
		return -errno;
	rc = input_open(&in, f->out_fd);
	if (rc == 0)
		rc = convert_run(&c, &in, -1, &r);
	input_close(&in);
	return rc != 0 ? rc : r.stats.out_bytes == f->in.bytes ? 0 : -EBADMSG;
}

static int
convert(struct file *f)
{
	struct pzc *p = f->p;
	int rc = convert_timed(f);

	if (rc != 0) {
		bool out = f->result.stats.failed == PIPELINE_OUT;

		msg_error(&p->msg, "%s: %s", !out ? f->path :
		    f->target != NULL ? f->target : "standard output",
		    pzc_sentence(rc, f->result.why));
		return rc;
	}
	if (f->result.notes.trailing_garbage)
		msg_warn(&p->msg, "%s: trailing garbage ignored", f->path);
	if (f->result.notes.unchecked)
		msg_warn(&p->msg, "%s: a check of unknown kind was not "
		    "verified", f->path);
	if (p->verify && !f->decompress) {
		rc = verify(f);
		if (rc != 0)
			msg_error(&p->msg, "%s: what was written does not "
			    "verify: %s", f->path, pzc_sentence(rc, NULL));
	}
	return rc;
}

/* Ending */

/* Whether path still leads to what was read, and that is unchanged. */
static bool
unchanged(const struct file *f)
{
	struct stat now, open_now;
	int flags = f->p->force ? 0 : AT_SYMLINK_NOFOLLOW;

	return fstatat(AT_FDCWD, f->path, &now, flags) == 0 &&
	    fstat(f->fd, &open_now) == 0 &&
	    now.st_dev == f->st.st_dev && now.st_ino == f->st.st_ino &&
	    open_now.st_size == f->st.st_size &&
	    open_now.st_mtim.tv_sec == f->st.st_mtim.tv_sec &&
	    open_now.st_mtim.tv_nsec == f->st.st_mtim.tv_nsec;
}

static void
remove_input(struct file *f)
{
	if (f->p->keep || f->p->output != NULL)
		return;
	/* with -f a link was followed: the link goes, as with gzip */
	if (!unchanged(f)) {
		msg_error(&f->p->msg, "%s changed while it was read -- kept",
		    f->path);
		return;
	}
	if (unlink(f->path) == -1)
		msg_error(&f->p->msg, "%s: %s", f->path, strerror(errno));
}

/*
 * What comes from standard input is a new file like any other: a pipe's mode
 * and owner say nothing.
 */
static int
set_meta(struct file *f)
{
	mode_t mask;
	int rc;

	if (f->out.direct)
		return 0;
	if (!f->is_stdin) {
		rc = fdio_copy_meta(f->fd, f->out.fd);
		/* the time of access from before it was read here */
		futimens(f->out.fd, (struct timespec[2]){ f->st.st_atim,
		    f->st.st_mtim });
		return rc;
	}
	mask = umask(0);
	umask(mask);
	return fchmod(f->out.fd, 0666 & ~mask) == -1 ? -errno : 0;
}

static void
finish_target(struct file *f, const struct codec_stored *stored)
{
	struct pzc *p = f->p;
	bool sync = p->sync || !(p->keep || p->output != NULL);
	int rc = set_meta(f);

	if (rc != 0)
		msg_warn(&p->msg, "%s: attributes not kept: %s", f->target,
		    strerror(-rc));
	if (stored->mtime != 0 && !f->out.direct)
		futimens(f->out.fd, (struct timespec[2]){ f->st.st_atim,
		    { .tv_sec = stored->mtime } });
	rc = output_commit(&f->out, sync);
	if (rc == -EEXIST)
		msg_warn(&p->msg, "%s already exists -- not overwritten",
		    f->target);
	else if (rc != 0)
		msg_error(&p->msg, "%s: %s", f->target, strerror(-rc));
	else
		remove_input(f);
}

static void
to_target(struct file *f)
{
	struct codec_stored stored;

	read_stored(f, &stored);
	f->target = pzc_target_name(f->p, f->path, f->decompress ? NULL :
	    f->codec, stored.name);
	if (f->target == NULL || create_target(f) != 0)
		return;
	if (convert(f) == 0)
		finish_target(f, &stored);
	else
		output_abort(&f->out);
}

static void
sync_stdout(struct pzc *p)
{
	int rc = sys_fsync(STDOUT_FILENO);

	/* a pipe or terminal has nothing to sync */
	if (rc != 0 && rc != -EINVAL && rc != -EROFS && rc != -ENOTSUP)
		msg_error(&p->msg, "standard output: %s", strerror(-rc));
}

static void
to_stdout(struct file *f)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (!f->decompress && !f->p->force && isatty(STDOUT_FILENO)) {
		msg_error(&f->p->msg, "compressed data is not written to a "
		    "terminal (-f does)");
		return;
	}
	if (!f->decompress && f->p->verify &&
	    ((flags & O_ACCMODE) != O_RDWR || lseek(STDOUT_FILENO, 0,
	    SEEK_CUR) != 0)) {
		msg_error(&f->p->msg, "--verify needs a file: standard "
		    "output cannot be read back (-o)");
		return;
	}
	f->out_fd = STDOUT_FILENO;
	if ((flags & O_ACCMODE) == O_RDONLY)
		msg_error(&f->p->msg, "standard output: %s",
		    strerror(EBADF));
	else if (convert(f) == 0 && f->p->sync)
		sync_stdout(f->p);
}

static void
run(struct file *f)
{
	int rc;

	if (!can_be_named(f))
		return;
	rc = input_open(&f->in, f->fd);
	if (rc != 0) {
		msg_error(&f->p->msg, "%s: %s", f->path, strerror(-rc));
	} else {
		if (f->p->codec_options.flush_ms > 0)
			f->in.flush_ms = f->p->codec_options.flush_ms;
		if (choose_codec(f) != 0)
			;
		else if (f->p->mode == PZC_TEST)
			convert(f);
		else if (goes_to_stdout(f))
			to_stdout(f);
		else
			to_target(f);
	}
	input_close(&f->in);
	sys_free(f->target);
}

/*
 * A filter needs no more files than it has.  What a report is written to is
 * opened later, so then there is no sandbox.
 */
static void
confine(const struct pzc *p)
{
	bool confined;

	if (p->file_count == 1 && p->output == NULL && p->stats == NULL &&
	    getenv("PZC_STATS") == NULL)
		sandbox_enter(&confined);
}

void
pzc_file(struct pzc *p, const char *path)
{
	struct file f = { .p = p, .path = path, .out_fd = -1,
	    .out = { .fd = -1, .dirfd = -1 } };

	if (p->mode == PZC_LIST) {
		pzc_list(p, path);
		return;
	}
	if (strcmp(path, "-") == 0) {
		f.path = "standard input";
		f.fd = STDIN_FILENO;
		f.is_stdin = true;
		if (fstat(f.fd, &f.st) == -1) {
			msg_error(&p->msg, "%s: %s", f.path, strerror(errno));
			return;
		}
		if (p->mode != PZC_COMPRESS && !p->force &&
		    isatty(STDIN_FILENO)) {
			msg_error(&p->msg, "compressed data is not read from "
			    "a terminal (-f does)");
			return;
		}
		confine(p);
		run(&f);
		return;
	}
	if (open_file(&f) == 0)
		run(&f);
	if (f.fd >= 0)
		sys_close(f.fd);
}
