/*
 * walk_trail.c - reaching one path after another in a deep tree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk/walk_trail.h"

#include "base/sys.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <string.h>

static void
drop_last(struct walk_trail *t)
{
	sys_close(t->held[--t->count].fd);
}

static void
drop_first(struct walk_trail *t)
{
	sys_close(t->held[0].fd);
	memmove(t->held, t->held + 1, --t->count * sizeof(*t->held));
}

/* Goes back to the last directory that leads to the path. */
static void
go_back(struct walk_trail *t, int root, const char *path, size_t len)
{
	while (t->count > 0) {
		size_t n = t->held[t->count - 1].len;

		if (root == t->root && n < len && path[n] == '/' &&
		    memcmp(path, t->dir, n) == 0)
			break;
		drop_last(t);
	}
	t->root = root;
}

/* Keeps another directory open, instead of the first one if there are many. */
static void
hold(struct walk_trail *t, int fd, size_t len)
{
	if (t->count == WALK_TRAIL_HELD)
		drop_first(t);
	t->held[t->count].fd = fd;
	t->held[t->count++].len = len;
}

int
walk_trail_reach(struct walk_trail *t, int root, const char **path)
{
	size_t len = strlen(*path), at;
	const char *slash, *p = *path, *end;
	char part[WALK_TRAIL_STEP], *dir;
	int fd;

	if (len < WALK_TRAIL_STEP)
		return root;
	go_back(t, root, p, len);
	if (len >= t->cap) {
		dir = sys_realloc(t->dir, 2 * len);
		if (dir == NULL)
			return -ENOMEM;
		t->dir = dir;
		t->cap = 2 * len;
	}
	at = t->count == 0 ? 0 : t->held[t->count - 1].len;
	memcpy(t->dir + at, p + at, len - at);
	end = p + len;
	for (p += at + (at > 0); end - p >= WALK_TRAIL_STEP; p = slash + 1) {
		slash = memrchr(p, '/', WALK_TRAIL_STEP - 1);
		if (slash == NULL || slash == p)
			return -ENAMETOOLONG;
		memcpy(part, p, (size_t)(slash - p));
		part[slash - p] = '\0';
		fd = tree_open_dir(t->count == 0 ? root :
		    t->held[t->count - 1].fd, part);
		/* with few descriptors, only the last directory is kept */
		for (; fd == -EMFILE && t->count > 1; fd = tree_open_dir(
		    t->held[t->count - 1].fd, part))
			drop_first(t);
		if (fd < 0)
			return fd;
		hold(t, fd, (size_t)(slash - *path));
	}
	*path = p;
	return t->count == 0 ? root : t->held[t->count - 1].fd;
}

int
walk_trail_open(struct walk_trail *t, int root, const char *path, int flags)
{
	int dir = walk_trail_reach(t, root, &path), fd;

	if (dir < 0)
		return dir;
	fd = tree_open(dir, path, flags);
	for (; fd == -EMFILE && t->count > 1; fd = tree_open(dir, path, flags))
		drop_first(t);
	return fd;
}

void
walk_trail_close(struct walk_trail *t)
{
	while (t->count > 0)
		drop_last(t);
	sys_free(t->dir);
	*t = (struct walk_trail){ .count = 0 };
}
