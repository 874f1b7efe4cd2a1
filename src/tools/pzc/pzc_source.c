/*
 * pzc_source.c - opening an operand, and deciding whether to process it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The directory of the operand is opened once, and all other operations are
 * relative to that descriptor, so that replacing part of the path in the
 * meantime has no effect.
 */
#include "pzc_style.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SUFFIX_MAX = 8 };	/* longest suffix tried, including the NUL */

/*
 * Returns whether an option allows a symbolic link, a special file, or a file
 * with other hard links.
 */
static bool
input_stays(const struct pzc *p)
{
	return p->to_stdout || p->mode >= PZC_TEST;
}

/* Returns whether the open file may be replaced by its output. */
static bool
fit_to_replace(struct pzc *p, const struct source *s)
{
	const struct stat *st = &s->st;
	bool allowed = p->force || (p->style->lenient &&
	    (p->keep || p->output != NULL));
	char links[64];

	snprintf(links, sizeof(links), "%lu other link%s",
	    (unsigned long)st->st_nlink - 1, st->st_nlink == 2 ? "" : "s");
	if (st->st_nlink > 1 && !allowed &&
	    pzc_say(p, ON_LINKS, s->path, links))
		return false;
	if (st->st_mode & S_ISVTX && !allowed &&
	    pzc_say(p, ON_SET_ID, s->path, NULL))
		return false;
	return !(st->st_mode & (S_ISUID | S_ISGID)) ||
	    (allowed && p->style->force_allows_set_id) ||
	    !pzc_say(p, ON_SET_ID, s->path, NULL);
}

static bool
fit_to_read(struct pzc *p, const struct source *s)
{
	mode_t mode = s->st.st_mode;
	bool asked_for = !s->in_tree && (input_stays(p) ||
	    (p->style->lenient && (p->force || p->keep ||
	    p->output != NULL)));

	if (S_ISDIR(mode)) {
		pzc_say(p, ON_DIRECTORY, s->path, NULL);
		return false;
	}
	if (!S_ISREG(mode) && !asked_for) {
		pzc_say(p, ON_SPECIAL, s->path, NULL);
		return false;
	}
	return !S_ISREG(mode) || input_stays(p) || fit_to_replace(p, s);
}

/*
 * Waits until a FIFO has a writer.  It is opened without waiting, and until
 * there is a writer, read(2) reports the end of the file; poll(2), however,
 * waits.
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
	s->followed = !s->in_tree && (p->to_stdout || p->force ||
	    p->output != NULL ||
	    (p->mode >= PZC_TEST && !p->style->test_needs_file));
	s->fd = sys_openat(s->dirfd, s->base, O_RDONLY | O_CLOEXEC |
	    O_NONBLOCK | O_NOCTTY | (s->followed ? 0 : O_NOFOLLOW), 0);
	return s->fd < 0 ? s->fd : fstat(s->fd, &s->st) == -1 ? -errno : 0;
}

int
pzc_source_open(struct pzc *p, struct source *s)
{
	int rc = open_base(p, s);

	if (rc == -ELOOP && !s->followed)
		pzc_say(p, ON_LINK, s->path, NULL);
	else if (rc != 0)
		pzc_say(p, rc == -ENOENT ? ON_MISSING : ON_OPEN, s->path,
		    strerror(-rc));
	if (rc != 0 || !fit_to_read(p, s))
		return -1;
	wait_for_writer(s);
	fcntl(s->fd, F_SETFL, 0);
	return 0;
}

static int
open_stdin(struct pzc *p, struct source *s)
{
	s->path = p->style->stdin_name;
	s->fd = STDIN_FILENO;
	s->is_stdin = true;
	if (fstat(s->fd, &s->st) == -1) {
		msg_error(&p->msg, "%s: %s", s->path, strerror(errno));
		return -1;
	}
	if (p->mode != PZC_COMPRESS && !p->force && isatty(STDIN_FILENO)) {
		msg_error(&p->msg, "compressed data not read from a terminal "
		    "(-f forces it)");
		return -1;
	}
	return 0;
}

/* Appends a suffix to the names, replacing a previous one. */
static void
put_suffix(struct source *s, const char *path, const char *suffix)
{
	size_t len = strlen(path), dir = (size_t)(s->base - s->path);

	strcpy(s->found, path);
	strcpy(s->found + len, suffix);
	s->path = s->found;
	s->base = s->found + dir;
}

static bool
is_missing(const struct source *s)
{
	struct stat st;

	return fstatat(s->dirfd, s->base, &st, AT_SYMLINK_NOFOLLOW) == -1 &&
	    errno == ENOENT;
}

/*
 * Looks up an operand, which may lack the suffix of a compressed file.  If no
 * such file exists, the error message contains the operand as given.
 */
static void
look_up(const struct pzc *p, struct source *s)
{
	const char *const *suffix = p->style->look_up, *path = s->path;
	const char *first = p->suffix != NULL ? p->suffix : "";

	if (suffix == NULL || p->mode == PZC_COMPRESS || !is_missing(s) ||
	    (!p->style->look_up_all && pzc_is_packed(p, path)))
		return;
	s->found = sys_malloc(strlen(path) + strlen(first) + SUFFIX_MAX);
	if (s->found == NULL)
		return;
	put_suffix(s, path, first);
	while (is_missing(s) && *suffix != NULL)
		put_suffix(s, path, *suffix++);
	if (is_missing(s))
		put_suffix(s, path, p->style->look_up_all ? "" :
		    p->suffix != NULL ? first : ".gz");
}

/*
 * Opens the directory that contains path, up to the last slash.  Returns 0 or
 * -errno.
 */
static int
open_directory(struct source *s, const char *path, size_t len)
{
	char *dir = sys_calloc(1, len + 1);

	if (dir == NULL)
		return -ENOMEM;
	memcpy(dir, path, len);
	s->base = path + len;
	s->dirfd = sys_openat(AT_FDCWD, dir, O_PATH | O_DIRECTORY | O_CLOEXEC,
	    0);
	sys_free(dir);
	return s->dirfd < 0 ? s->dirfd : 0;
}

/*
 * A path that ends with a slash is not split, because it can only be a
 * directory.
 */
int
pzc_source_locate(struct pzc *p, struct source *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	int rc = 0;

	*s = (struct source){ .path = path, .base = path, .fd = -1,
	    .dirfd = AT_FDCWD };
	if (slash != NULL && slash[1] != '\0')
		rc = open_directory(s, path, (size_t)(slash - path) + 1);
	if (rc == 0) {
		look_up(p, s);
		return 0;
	}
	pzc_say(p, rc == -ENOENT ? ON_MISSING : ON_OPEN, path, strerror(-rc));
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
	sys_free(s->found);
	s->found = NULL;
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
	bool skips = p->recursive && p->mode >= PZC_TEST &&
	    p->style->test_skips_plain && !s->is_stdin;

	if (p->ended || (skips && !pzc_has_suffix(p, s->path)))
		return;
	if (p->mode == PZC_LIST)
		pzc_list(p, s);
	else
		pzc_file(p, s);
}
