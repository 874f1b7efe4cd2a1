/*
 * pzc_file.c - one file, or standard input, into another
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The input is removed last of all: when the output is complete, on the
 * disk, has its name, and the input is still the file that was read.
 */
#include "pzc.h"

#include "fdio.h"
#include "output.h"
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
	switch (rc) {
	case -EBADMSG:
		return "the data is corrupt";
	case -ENODATA:
		return "unexpected end of file";
	case -ENOTSUP:
		return "the format's variant is not supported";
	case -EFBIG:
		return "the window is larger than allowed (--long, --memory)";
	default:
		return strerror(-rc);
	}
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

/* The format: as said, or by what the stream begins with. */
static int
choose_codec(struct file *f)
{
	struct pzc *p = f->p;
	const uint8_t *head;
	ssize_t n;

	f->decompress = p->mode != PZC_COMPRESS;
	f->codec = p->codec;
	if (!f->decompress || f->codec != NULL)
		return 0;
	n = input_peek(&f->in, CODEC_MAGIC_MAX, &head);
	if (n < 0) {
		msg_error(&p->msg, "%s: %s", f->path, strerror((int)-n));
		return -1;
	}
	f->codec = codec_by_magic(head, (size_t)n);
	if (f->codec != NULL || (p->force && p->to_stdout))
		return 0;
	msg_error(&p->msg, n == 0 ? "%s: unexpected end of file" :
	    "%s: not in a known format", f->path);
	return -1;
}

/* Names */

static char *
concat(const char *a, size_t len, const char *b)
{
	char *s = sys_malloc(len + strlen(b) + 1);

	if (s != NULL) {
		memcpy(s, a, len);
		strcpy(s + len, b);
	}
	return s;
}

static int
packed_name(struct file *f)
{
	const struct codec_suffix *s;
	const char *suffix = f->p->suffix != NULL ? f->p->suffix :
	    f->codec->suffixes[0].packed;

	if (codec_by_suffix(f->path, &s) == f->codec && !f->p->force) {
		msg_warn(&f->p->msg, "%s already has %s suffix -- unchanged",
		    f->path, s->packed);
		return -1;
	}
	f->target = concat(f->path, strlen(f->path), suffix);
	return f->target == NULL ? -ENOMEM : 0;
}

/* The name that the header has, beside the packed file. */
static int
restored_name(struct file *f, const char *name)
{
	const char *slash = strrchr(f->path, '/');
	size_t dir = slash == NULL ? 0 : (size_t)(slash - f->path) + 1;

	f->target = concat(f->path, dir, name);
	return f->target == NULL ? -ENOMEM : 0;
}

static int
plain_name(struct file *f)
{
	const struct codec_suffix *s;
	size_t len = strlen(f->path), n;
	const char *own = f->p->suffix;

	if (own != NULL && len > strlen(own) &&
	    strcmp(f->path + len - strlen(own), own) == 0) {
		f->target = concat(f->path, len - strlen(own), "");
		return f->target == NULL ? -ENOMEM : 0;
	}
	if (codec_by_suffix(f->path, &s) == NULL) {
		msg_warn(&f->p->msg, "%s: unknown suffix -- ignored",
		    f->path);
		return -1;
	}
	n = len - strlen(s->packed);
	f->target = concat(f->path, n, s->plain);
	return f->target == NULL ? -ENOMEM : 0;
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

static int
name_target(struct file *f, const struct codec_stored *stored)
{
	int rc;

	if (f->p->output != NULL)
		f->target = concat(f->p->output, strlen(f->p->output), "");
	if (f->p->output != NULL)
		rc = f->target == NULL ? -ENOMEM : 0;
	else if (!f->decompress)
		rc = packed_name(f);
	else if (stored->name[0] != '\0')
		rc = restored_name(f, stored->name);
	else
		rc = plain_name(f);
	if (rc == -ENOMEM)
		msg_error(&f->p->msg, "%s", strerror(ENOMEM));
	return rc;
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
	if (f->fd != STDIN_FILENO && f->p->store_name)
		c.options.name = slash == NULL ? f->path : slash + 1;
	else if (f->fd == STDIN_FILENO)
		c.options.name = f->p->alias;
	if (f->fd != STDIN_FILENO && f->p->store_time &&
	    f->st.st_mtime > 0 && f->st.st_mtime <= UINT32_MAX)
		c.options.mtime = (uint32_t)f->st.st_mtime;
	return c;
}

static int
convert_timed(struct file *f)
{
	struct convert c = convert_of(f);
	struct rusage a, b;
	uint64_t t0 = sys_now_ns();
	int rc;

	getrusage(RUSAGE_SELF, &a);
	rc = convert_run(&c, &f->in, f->out_fd, &f->result);
	getrusage(RUSAGE_SELF, &b);
	if (rc == 0)
		pzc_report(f->p, &(struct pzc_run){ .name = f->path,
		    .codec = f->codec, .result = &f->result,
		    .decompress = f->decompress, .level = f->p->level,
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

/* Whether path is still what was read, and unchanged. */
static bool
unchanged(const struct file *f)
{
	struct stat now, open_now;

	return lstat(f->path, &now) == 0 && fstat(f->fd, &open_now) == 0 &&
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
	if (!f->p->force && !unchanged(f)) {
		msg_error(&f->p->msg, "%s changed while it was read -- kept",
		    f->path);
		return;
	}
	if (unlink(f->path) == -1)
		msg_error(&f->p->msg, "%s: %s", f->path, strerror(errno));
}

static void
finish_target(struct file *f, const struct codec_stored *stored)
{
	struct pzc *p = f->p;
	bool sync = p->sync || !(p->keep || p->output != NULL);
	int rc = f->out.direct ? 0 : fdio_copy_meta(f->fd, f->out.fd);

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
	if (name_target(f, &stored) != 0 || create_target(f) != 0)
		return;
	if (convert(f) == 0)
		finish_target(f, &stored);
	else
		output_abort(&f->out);
}

static void
to_stdout(struct file *f)
{
	if (!f->decompress && !f->p->force && isatty(STDOUT_FILENO)) {
		msg_error(&f->p->msg, "compressed data is not written to a "
		    "terminal (-f does)");
		return;
	}
	f->out_fd = STDOUT_FILENO;
	if (fcntl(STDOUT_FILENO, F_GETFD) == -1)
		msg_error(&f->p->msg, "standard output: %s",
		    strerror(errno));
	else
		convert(f);
	if (f->p->sync)
		fsync(STDOUT_FILENO);
}

static void
run(struct file *f)
{
	int rc = input_open(&f->in, f->fd);

	if (rc != 0) {
		msg_error(&f->p->msg, "%s: %s", f->path, strerror(-rc));
	} else {
		f->in.flush_ms = f->p->codec_options.flush_ms;
		if (choose_codec(f) != 0)
			;
		else if (f->p->mode == PZC_TEST)
			convert(f);
		else if (f->p->to_stdout || (f->fd == STDIN_FILENO &&
		    f->p->output == NULL))
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
