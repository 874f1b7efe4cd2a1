/*
 * walk_tree.h - the names in a tree, collected before anything is opened
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_WALK_TREE_H
#define COLDPRESS_WALK_TREE_H

#include "base/arena.h"
#include "walk/walk.h"

struct tree_dir {
	const char *name;		/* "" for the root, which comes first */
	size_t path_len;		/* of its path from the root */
	uint32_t parent;		/* index */
};

/* A file, or any entry with an error.  There may be very many. */
struct tree_entry {
	const char *name;
	uint64_t ino;			/* as in the directory entry */
	uint32_t dir;			/* index */
	int16_t err;			/* -errno: a directory that could not be
					 * read */
	uint8_t type;			/* enum walk_type */
};

struct tree {
	struct tree_dir *dirs;
	size_t dir_count, dir_cap;
	struct tree_entry *entries;
	size_t count, cap;
	struct arena names;
};

/* A path whose buffer is reused. */
struct tree_path {
	char *s;
	size_t cap;
};

/*
 * Collects everything below the directory root with the given number of
 * threads, in no particular order.  Returns 0, -ECANCELED, -ENOMEM or -EFBIG
 * (more than 2^32 - 1 directories); t must be freed even on failure.
 */
int tree_scan(struct tree *t, int root, unsigned threads,
    const atomic_bool *cancel);

/* Uses the given paths, which must remain valid, instead of scanning. */
int tree_from_paths(struct tree *t, const char *const *paths, size_t count);

void tree_free(struct tree *t);

/* Returns the type of a file with this mode. */
enum walk_type tree_type(mode_t mode);

/* Writes the path of e relative to the root to p->s.  Returns 0 or -ENOMEM. */
int tree_path(const struct tree *t, const struct tree_entry *e,
    struct tree_path *p);

/*
 * Opens path, which may have any length, below root, without following symbolic
 * links and, if permitted, without updating the access time.  Returns the
 * descriptor, or -errno.
 */
int tree_open(int root, const char *path, int flags);

/*
 * Opens a directory below root (O_PATH), whose path is shorter than PATH_MAX,
 * in the same way.
 */
int tree_open_dir(int root, const char *path);

/*
 * For system calls, which accept a path up to PATH_MAX: returns root or, if
 * *path is longer, a descriptor of a directory on the way (O_PATH), which must
 * be closed, and sets *path to the rest; or -errno.
 */
int tree_reach(int root, const char **path);

/* Sorts the entries in disk order. */
void tree_sort(struct tree *t);

#endif
