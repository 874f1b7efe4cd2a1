/*
 * pzc_target.c - creating the output file, and removing the input
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The input is removed last, once the output is complete, has been synced and
 * has its final name, and only if the input is still the file that was read.
 */
#include "pzc_file.h"
#include "pzc_style.h"

#include "base/fdio.h"
#include "base/path.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns the name and time to be restored from the header. */
static struct codec_stored
to_restore(const struct file *f)
{
	struct codec_stored stored = f->stored;

	if (!f->p->restore_name)
		stored.name[0] = '\0';
	if (!f->p->restore_time)
		stored.mtime = 0;
	return stored;
}

/* On a terminal, asks the user, as gzip does. */
static bool
may_overwrite(struct file *f)
{
	const char *o = f->p->output;
	int c, first;

	if (f->p->force)
		return true;
	if (faccessat(o != NULL ? AT_FDCWD : f->src->dirfd, o != NULL ? o :
	    path_name(f->target), F_OK, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (!f->p->presume_tty &&
	    !(isatty(STDIN_FILENO) && isatty(STDERR_FILENO))))
		return false;
	msg_ask(&f->p->msg, "%s already exists; overwrite it (y or n)?",
	    f->target);
	first = c = getchar();
	while (c != '\n' && c != EOF)
		c = getchar();
	return first == 'y' || first == 'Y';
}

/* Returns the reason why the open file must not be written to, or NULL. */
static const char *
unfit(const struct file *f)
{
	if (output_is(&f->out, &f->src->st))
		return "is the input -- not overwritten";
	if (f->out.direct && f->p->verify && !f->decompress)
		return "cannot be read back, which --verify requires";
	return NULL;
}

static int
create_target(struct file *f)
{
	struct msg *msg = &f->p->msg;
	bool replace = may_overwrite(f);
	const char *why;
	int rc = f->p->output != NULL ?
	    output_create(&f->out, f->target, replace) :
	    output_create_at(&f->out, f->src->dirfd, path_name(f->target),
	    replace);

	if (rc == -EEXIST && !replace)
		pzc_say(f->p, ON_EXISTS, f->target, NULL);
	else if (rc == -EEXIST)
		msg_warn(msg, "%s is not a regular file -- not overwritten",
		    f->target);
	else if (rc != 0)
		msg_error(msg, "%s: %s", f->target, strerror(-rc));
	if (rc != 0)
		return rc;
	why = unfit(f);
	if (why != NULL) {
		msg_error(msg, "%s %s", f->target, why);
		output_abort(&f->out);
		return -EEXIST;
	}
	f->out_fd = f->out.fd;
	return 0;
}

static bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * Returns whether the name still refers to the file that was read, unchanged.
 */
static bool
unchanged(const struct source *s)
{
	struct stat now, open_now;

	return fstatat(s->dirfd, s->base, &now,
	    s->followed ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(s->fd, &open_now) == 0 &&
	    now.st_dev == s->st.st_dev && now.st_ino == s->st.st_ino &&
	    open_now.st_size == s->st.st_size &&
	    same_time(&open_now.st_mtim, &s->st.st_mtim) &&
	    same_time(&open_now.st_ctim, &s->st.st_ctim);
}

/* Returns whether the input is to be removed once the output exists. */
static bool
is_replaced(const struct file *f)
{
	return !f->p->keep && f->p->output == NULL &&
	    S_ISREG(f->src->st.st_mode);
}

static void
remove_input(struct file *f)
{
	const struct source *s = f->src;
	int rc;

	/* -f follows links: the link itself is removed, as in gzip */
	if (!unchanged(s)) {
		msg_error(&f->p->msg, "%s changed after it was read -- kept in "
		    "addition to %s", s->path, f->target);
		return;
	}
	rc = sys_unlinkat(s->dirfd, s->base, 0);
	if (rc != 0)
		msg_error(&f->p->msg, "%s: not removed: %s", s->path,
		    strerror(-rc));
}

/*
 * Sets the attributes of the output.  If the input is standard input, the
 * output is an ordinary new file, because the mode and owner of a pipe are
 * irrelevant.  If the input is a device or a named FIFO, the output is no more
 * accessible than the input.
 */
static int
set_meta(struct file *f)
{
	const struct source *s = f->src;
	mode_t mask;
	int rc;

	if (!s->is_stdin && S_ISREG(s->st.st_mode)) {
		rc = fdio_copy_meta(s->fd, f->out.fd);
		/* use the access time from before the input was read */
		futimens(f->out.fd, (struct timespec[2]){ s->st.st_atim,
		    s->st.st_mtim });
		return rc;
	}
	mask = umask(0);
	umask(mask);
	if (!s->is_stdin)
		mask |= ~s->st.st_mode;
	return fchmod(f->out.fd, 0666 & ~mask) == -1 ? -errno : 0;
}

static void
keep_meta(struct file *f, const struct codec_stored *stored)
{
	int rc = set_meta(f);

	if (rc != 0)
		msg_warn(&f->p->msg, "%s: attributes not preserved: %s",
		    f->target, strerror(-rc));
	if (stored->mtime != 0)
		futimens(f->out.fd, (struct timespec[2]){ f->src->st.st_atim,
		    { .tv_sec = stored->mtime } });
}

/*
 * Completes the output.  Syncing may take a long time, so it is done before the
 * last check of the input.  If the input has changed, no output is created.
 */
static void
finish_target(struct file *f)
{
	struct pzc *p = f->p;
	bool sync = p->sync || is_replaced(f);
	int rc = sync ? output_sync(&f->out) : 0;

	if (rc == 0 && is_replaced(f) && !unchanged(f->src)) {
		msg_error(&p->msg, "%s changed while it was being read -- kept",
		    f->src->path);
		output_abort(&f->out);
		return;
	}
	if (rc != 0)
		output_abort(&f->out);
	else
		rc = output_commit(&f->out, sync);
	if (rc == -EEXIST)
		pzc_say(p, ON_EXISTS, f->target, NULL);
	else if (rc != 0)
		msg_error(&p->msg, "%s: %s", f->target, strerror(-rc));
	else if (is_replaced(f))
		remove_input(f);
}

void
pzc_to_target(struct file *f)
{
	struct codec_stored stored = to_restore(f);

	f->target = pzc_target_name(f->p, f->src->path, f->decompress ? NULL :
	    f->codec, stored.name);
	if (f->target == NULL || create_target(f) != 0)
		return;
	if (pzc_convert(f) != 0) {
		output_abort(&f->out);
		return;
	}
	if (!f->out.direct)
		keep_meta(f, &stored);
	finish_target(f);
}
