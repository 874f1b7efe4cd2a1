/*
 * merge_private.h - a tree under construction
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
	bool *gone;			/* removed by a higher layer, with
					 * everything below it */
	size_t gone_cap;
};

/* merge_table.c */

/* Finds a name in a directory.  Returns the node, or MERGE_NONE. */
int64_t merge_find(const struct merge *t, uint32_t parent, const char *name,
    size_t len);

/* Adds a node, whose name must remain valid.  Returns its number, or -errno. */
int64_t merge_add(struct merge *t, uint32_t parent, const char *name);

/* Removes a node and everything below it. */
void merge_remove(struct merge *t, uint32_t node);

/*
 * Removes everything below a directory, which gets a new number unless it is
 * the root.  Returns 0 or -errno.
 */
int merge_empty(struct merge *t, uint32_t dir);

/*
 * Numbers the remaining nodes, and sorts the children.  Returns 0 or -ENOMEM.
 */
int merge_settle(struct merge *t);

#endif
