/*
 * pzc_target.c - the file that the output goes to, and the end of the input
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The input is removed last of all: when the output is complete, on the
 * disk, has its name, and the input is still the file that was read.
 */
#include "pzc_file.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

void
pzc_to_target(struct file *f)
{
	struct codec_stored stored;

	read_stored(f, &stored);
	f->target = pzc_target_name(f->p, f->path, f->decompress ? NULL :
	    f->codec, stored.name);
	if (f->target == NULL || create_target(f) != 0)
		return;
	if (pzc_convert(f) == 0)
		finish_target(f, &stored);
	else
		output_abort(&f->out);
}
