/*
 * pzc_walk.c - processing every regular file below a directory (-r)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Directories are entered and left by descriptor, without following links, so
 * that other users who can write to the tree cannot redirect the walk.  There
 * is no recursion, so stack usage does not depend on depth.  Only the last HELD
 * directories of the path are open; earlier ones are reopened as "..", if that
 * is still the same directory.
 */
#include "pzc.h"

#include "base/array.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD = 64 };

/* A directory between the operand and the current position. */
struct level {
	int fd;				/* -1: closed for now */
	dev_t dev;
	ino_t ino;
	char **names;
	size_t count, cap, next;
	size_t path_len;		/* length of the path, including the
					 * slash */
};

struct tree_walk {
	struct pzc *p;
	char *path;
	size_t path_cap;
	struct level *levels;
	size_t depth, cap;
};

static void
walk_error(struct tree_walk *w, int rc)
{
	msg_error(&w->p->msg, "%s: %s", w->path, strerror(-rc));
}

/* Appends to the first len bytes of the path. */
static int
set_path(struct tree_walk *w, size_t len, const char *name)
{
	size_t need = len + strlen(name) + 2;
	char *s;

	if (need > w->path_cap) {
		s = sys_realloc(w->path, 2 * need);
		if (s == NULL)
			return -ENOMEM;
		w->path = s;
		w->path_cap = 2 * need;
	}
	strcpy(w->path + len, name);
	return 0;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Reads all names first, so that the walk does not encounter files that it
 * creates.
 */
static int
read_names(struct level *l)
{
	int copy = fcntl(l->fd, F_DUPFD_CLOEXEC, 0), rc = 0;
	DIR *dir = copy == -1 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (dir == NULL) {
		rc = -errno;
		if (copy != -1)
			sys_close(copy);
		return rc;
	}
	while (rc == 0 && (errno = 0, e = readdir(dir)) != NULL) {
		void *items = l->names;
		char *name;

		if (path_is_dots(e->d_name))
			continue;
		rc = array_grow(&items, l->count, &l->cap, sizeof(*l->names));
		l->names = items;
		if (rc == 0) {
			name = strcopy(e->d_name);
			rc = name == NULL ? -ENOMEM : 0;
		}
		if (rc == 0)
			l->names[l->count++] = name;
	}
	if (rc == 0)
		rc = -errno;
	closedir(dir);
	if (l->count > 0)
		qsort(l->names, l->count, sizeof(*l->names), compare_names);
	return rc;
}

static void
free_level(struct level *l)
{
	for (size_t i = 0; i < l->count; i++)
		sys_free(l->names[i]);
	sys_free(l->names);
	if (l->fd >= 0)
		sys_close(l->fd);
}

/* Pushes the directory at the current path, open at fd. */
static int
add_level(struct tree_walk *w, int fd)
{
	void *items = w->levels;
	size_t len = strlen(w->path);
	struct level *l;
	struct stat st;
	int rc = fstat(fd, &st) == -1 ? -errno :
	    array_grow(&items, w->depth, &w->cap, sizeof(*w->levels));

	w->levels = items;
	if (rc != 0) {
		sys_close(fd);
		return rc;
	}
	l = &w->levels[w->depth++];
	*l = (struct level){ .fd = fd, .dev = st.st_dev, .ino = st.st_ino,
	    .path_len = len };
	if (w->path[len - 1] != '/') {
		memcpy(w->path + len, "/", 2);
		l->path_len++;
	}
	if (w->depth > HELD) {
		sys_close(l[-HELD].fd);
		l[-HELD].fd = -1;
	}
	return read_names(l);
}

/* Descends into a directory, but not through a link. */
static void
enter(struct tree_walk *w, int dirfd, const char *name)
{
	int fd = sys_openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_NONBLOCK | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : add_level(w, fd);

	if (rc != 0)
		walk_error(w, rc);
}

/*
 * Returns to the parent directory.  If it has to be reopened and is no longer
 * the same directory, the walk ends.
 */
static void
leave(struct tree_walk *w)
{
	struct level *l = &w->levels[w->depth - 1], *above;
	bool lost = false;
	struct stat st;

	if (w->depth > 1 && l[-1].fd < 0) {
		above = &l[-1];
		above->fd = sys_openat(l->fd, "..",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		lost = above->fd < 0 || fstat(above->fd, &st) == -1 ||
		    st.st_dev != above->dev || st.st_ino != above->ino;
	}
	free_level(l);
	w->depth--;
	if (!lost)
		return;
	msg_error(&w->p->msg, "%.*s: moved while being read; the rest of %.*s "
	    "is skipped", (int)l->path_len, w->path,
	    (int)w->levels[0].path_len, w->path);
	while (w->depth > 0)
		free_level(&w->levels[--w->depth]);
}

static void
take_next(struct tree_walk *w)
{
	struct level *l = &w->levels[w->depth - 1];
	struct source s = { .fd = -1, .dirfd = l->fd, .in_tree = true };
	struct stat st;

	if (set_path(w, l->path_len, l->names[l->next++]) != 0) {
		msg_error(&w->p->msg, "out of memory");
		return;
	}
	s.path = w->path;
	s.base = l->names[l->next - 1];
	if (fstatat(l->fd, s.base, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		walk_error(w, -errno);
	} else if (S_ISDIR(st.st_mode)) {
		enter(w, l->fd, s.base);
	} else if (!S_ISREG(st.st_mode)) {
		pzc_say(w->p, !S_ISLNK(st.st_mode) ? ON_SPECIAL :
		    w->p->mode >= PZC_TEST || w->p->to_stdout ? ON_LINK_READ :
		    ON_LINK, s.path, NULL);
	} else {
		if (pzc_source_open(w->p, &s) == 0)
			pzc_source_run(w->p, &s);
		pzc_source_close(&s);
	}
}

void
pzc_walk(struct pzc *p, const char *path)
{
	struct tree_walk w = { .p = p };
	struct source s;
	struct stat st;

	if (pzc_source_locate(p, &s, path) != 0)
		return;
	if (fstatat(s.dirfd, s.base, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		pzc_say(p, errno == ENOENT ? ON_MISSING : ON_OPEN, s.path,
		    strerror(errno));
	} else if (!S_ISDIR(st.st_mode)) {
		if (pzc_source_open(p, &s) == 0)
			pzc_source_run(p, &s);
	} else if (set_path(&w, 0, path) != 0) {
		msg_error(&p->msg, "out of memory");
	} else {
		enter(&w, s.dirfd, s.base);
		while (w.depth > 0) {
			struct level *l = &w.levels[w.depth - 1];

			l->next < l->count ? take_next(&w) : leave(&w);
		}
	}
	pzc_source_close(&s);
	sys_free(w.levels);
	sys_free(w.path);
}
