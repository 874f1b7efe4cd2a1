/*
 * merge_private.h - a tree while it is built
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_MERGE_PRIVATE_H
#define COLDPRESS_MERGE_PRIVATE_H

#include "lazy/merge.h"

#include "base/arena.h"

struct merge {
	struct merge_node *nodes;
	size_t count, cap;
	uint32_t *children;		/* of all directories, one after the
					 * other */
	struct arena names;		/* of directories without an entry */

	/* while it is built: the node of (parent, name), numbers + 1 */
	uint32_t *table;
	size_t slots;
	bool *gone;			/* removed by a higher layer: then
					 * what is below it is so, too */
	size_t gone_cap;
};

/* merge_table.c */

/* A name in a directory: the node, or MERGE_NONE. */
int64_t merge_find(const struct merge *t, uint32_t parent, const char *name,
    size_t len);

/* Adds a node, whose name must remain valid.  Its number, or -errno. */
int64_t merge_add(struct merge *t, uint32_t parent, const char *name);

/* Removes a node with what is below it. */
void merge_remove(struct merge *t, uint32_t node);

/*
 * Removes what is below a directory, which gets another number unless it is the
 * root.  0 or -errno.
 */
int merge_empty(struct merge *t, uint32_t dir);

/* Numbers the nodes that are left, and sorts the children.  0 or -ENOMEM. */
int merge_settle(struct merge *t);

#endif
