/*
 * pzc_source.c - an operand is opened, and judged by what was opened
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Its directory is opened once, and everything else goes through that
 * descriptor: whoever exchanges a part of the path meanwhile, changes nothing.
 */
#include "pzc.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Options that allow a link, a special file, or one with other links. */
static bool
input_stays(const struct pzc *p)
{
	return p->to_stdout || p->mode >= PZC_TEST;
}

/* Whether what is open may be replaced by its output. */
static bool
fit_to_replace(struct pzc *p, const struct source *s)
{
	const struct stat *st = &s->st;

	if (p->force || p->keep || p->output != NULL)
		return true;
	if (st->st_nlink > 1) {
		msg_warn(&p->msg, "%s has %lu other links -- ignored",
		    s->path, (unsigned long)st->st_nlink - 1);
		return false;
	}
	if (st->st_mode & (S_ISUID | S_ISGID | S_ISVTX)) {
		msg_warn(&p->msg, "%s has set-id or sticky bits -- ignored",
		    s->path);
		return false;
	}
	return true;
}

static bool
fit_to_read(struct pzc *p, const struct source *s)
{
	mode_t mode = s->st.st_mode;
	bool asked_for = !s->in_tree && (input_stays(p) || p->force ||
	    p->keep || p->output != NULL);

	if (S_ISDIR(mode)) {
		msg_warn(&p->msg, "%s is a directory -- ignored", s->path);
		return false;
	}
	if (!S_ISREG(mode) && !asked_for) {
		msg_warn(&p->msg, "%s is not a regular file -- ignored",
		    s->path);
		return false;
	}
	return !S_ISREG(mode) || input_stays(p) || fit_to_replace(p, s);
}

/*
 * A FIFO was opened without waiting for its writer, and until there has been
 * one read(2) says that this is the end.  poll(2) does wait.
 */
static void
wait_for_writer(const struct source *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	if (S_ISFIFO(s->st.st_mode))
		while (poll(&p, 1, -1) == -1 && errno == EINTR)
			;
}

static int
open_base(struct pzc *p, struct source *s)
{
	s->followed = !s->in_tree &&
	    (input_stays(p) || p->force || p->output != NULL);
	s->fd = sys_openat(s->dirfd, s->base, O_RDONLY | O_CLOEXEC |
	    O_NONBLOCK | O_NOCTTY | (s->followed ? 0 : O_NOFOLLOW), 0);
	return s->fd < 0 ? s->fd : fstat(s->fd, &s->st) == -1 ? -errno : 0;
}

int
pzc_source_open(struct pzc *p, struct source *s)
{
	int rc = open_base(p, s);

	if (rc == -ELOOP && !s->followed)
		msg_warn(&p->msg, "%s is a symbolic link -- ignored",
		    s->path);
	else if (rc != 0)
		msg_error(&p->msg, "%s: %s", s->path, strerror(-rc));
	if (rc != 0 || !fit_to_read(p, s))
		return -1;
	wait_for_writer(s);
	fcntl(s->fd, F_SETFL, 0);
	return 0;
}

static int
open_stdin(struct pzc *p, struct source *s)
{
	s->path = "standard input";
	s->fd = STDIN_FILENO;
	s->is_stdin = true;
	if (fstat(s->fd, &s->st) == -1) {
		msg_error(&p->msg, "%s: %s", s->path, strerror(errno));
		return -1;
	}
	if (p->mode != PZC_COMPRESS && !p->force && isatty(STDIN_FILENO)) {
		msg_error(&p->msg, "compressed data is not read from a "
		    "terminal (-f does)");
		return -1;
	}
	return 0;
}

/*
 * Of a path that ends with a slash nothing can be split off; it can only be
 * a directory.
 */
int
pzc_source_locate(struct pzc *p, struct source *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir;

	*s = (struct source){ .path = path, .base = path, .fd = -1,
	    .dirfd = AT_FDCWD };
	if (slash == NULL || slash[1] == '\0')
		return 0;
	dir = sys_calloc(1, (size_t)(slash - path) + 2);
	if (dir != NULL) {
		memcpy(dir, path, (size_t)(slash - path) + 1);
		s->base = slash + 1;
		s->dirfd = sys_openat(AT_FDCWD, dir,
		    O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
		sys_free(dir);
	}
	if (dir != NULL && s->dirfd >= 0)
		return 0;
	msg_error(&p->msg, "%s: %s", path,
	    strerror(dir == NULL ? ENOMEM : -s->dirfd));
	s->dirfd = AT_FDCWD;
	return -1;
}

void
pzc_source_close(struct source *s)
{
	if (s->fd >= 0 && !s->is_stdin)
		sys_close(s->fd);
	if (s->dirfd >= 0 && !s->in_tree)
		sys_close(s->dirfd);
	s->fd = -1;
	s->dirfd = AT_FDCWD;
}

void
pzc_operand(struct pzc *p, const char *path)
{
	struct source s = { .fd = -1, .dirfd = AT_FDCWD };
	int rc = strcmp(path, "-") == 0 ? open_stdin(p, &s) :
	    pzc_source_locate(p, &s, path);

	if (rc == 0 && !s.is_stdin)
		rc = pzc_source_open(p, &s);
	if (rc == 0)
		pzc_source_run(p, &s);
	pzc_source_close(&s);
}

void
pzc_source_run(struct pzc *p, struct source *s)
{
	if (p->mode == PZC_LIST)
		pzc_list(p, s);
	else
		pzc_file(p, s);
}
