/*
 * walk_trail.h - reaching one path after another in a deep tree
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The kernel walks a path component by component, from the root each time, so
 * opening everything in a deep tree would take time proportional to the square
 * of the depth.  A trail keeps some directories on the way to the last path
 * open, and begins at the nearest one.  It belongs to one thread.
 */
#ifndef COLDPRESS_WALK_TRAIL_H
#define COLDPRESS_WALK_TRAIL_H

#include <stddef.h>

enum {
	WALK_TRAIL_HELD = 8,
	WALK_TRAIL_STEP = 512		/* bytes of a path from one directory
					 * to the next; shorter paths are left
					 * to the kernel */
};

/* All zeros: an empty trail. */
struct walk_trail {
	int root;			/* where it begins; not closed */
	char *dir;			/* the last path */
	size_t cap;
	struct {
		int fd;
		size_t len;		/* of its path in dir */
	} held[WALK_TRAIL_HELD];	/* each leads to the next */
	unsigned count;
};

/*
 * Returns root or a directory on the way to *path, which may have any length
 * (O_PATH; valid until the next call, not to be closed), and sets *path to the
 * rest, which is shorter than WALK_TRAIL_STEP; or returns -errno.  Follows no
 * symbolic links.
 */
int walk_trail_reach(struct walk_trail *t, int root, const char **path);

/* Does the same as tree_open(). */
int walk_trail_open(struct walk_trail *t, int root, const char *path,
    int flags);

/* Closes the directories and empties the trail. */
void walk_trail_close(struct walk_trail *t);

#endif
