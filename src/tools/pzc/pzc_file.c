/*
 * pzc_file.c - one file, or standard input, into another
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Here is what is opened and where it goes; pzc_convert.c runs the codec,
 * pzc_target.c makes the file that comes of it.
 */
#include "pzc_file.h"

#include "base/sandbox.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	else if (pzc_convert(f) == 0 && f->p->sync)
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
			pzc_convert(f);
		else if (goes_to_stdout(f))
			to_stdout(f);
		else
			pzc_to_target(f);
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
