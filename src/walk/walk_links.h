/*
 * walk_links.h - files with several names, which may be found in any order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Used only by the directory walk, which holds a lock during each call.
 */
#ifndef COLDPRESS_WALK_LINKS_H
#define COLDPRESS_WALK_LINKS_H

#include "walk/walk_tree.h"

struct walk_link {
	dev_t dev;
	ino_t ino;
	struct walk_file file;		/* without its path */
	size_t *entries;		/* its names, as entries of the tree */
	size_t count, cap;
};

/* The files encountered so far; a zeroed struct is empty. */
struct walk_links {
	struct walk_link *all;
	size_t count, cap;
	size_t *table;			/* hash table of 1 + index in all */
	size_t table_size;		/* a power of 2 */
};

/*
 * Adds a name of the file described by st: the entry with the given index.
 * Returns 1 if it is the first name, so that the caller must read the file; 0
 * if another thread reads it; or -ENOMEM.  *index is the file's index in all.
 */
int walk_links_join(struct walk_links *l, const struct stat *st, size_t entry,
    size_t *index);

/*
 * Calls tell once for each name, which is then the path of the file.  For all
 * but the first name in byte order, duplicate_of is set to that first name.
 * Returns 0, the result of tell, or -ENOMEM.
 */
int walk_links_tell(struct walk_links *l, const struct tree *t,
    int (*tell)(void *arg, const struct walk_file *f), void *arg);

void walk_links_free(struct walk_links *l);

#endif
