/*
 * merge_tree.h - a tree of names under construction
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_MERGE_TREE_H
#define COLDPRESS_LAZY_MERGE_TREE_H

#include "lazy/merge.h"

#include "base/arena.h"

struct merge {
	struct merge_node *nodes;
	size_t count, cap;
	uint32_t *children;		/* children of all directories, grouped
					 * by directory */
	struct arena names;		/* names of directories without an
					 * entry */

	/* while the tree is built: hash table of node + 1 by parent and name */
	uint32_t *table;
	size_t slots;
	uint64_t seed;
	bool *gone;			/* removed by a higher layer, including
					 * everything below it */
	size_t gone_cap;
};

/* Finds a name in a directory.  Returns the node, or MERGE_NONE. */
int64_t merge_find(const struct merge *t, uint32_t parent, const char *name,
    size_t len);

/* Adds a node, whose name must remain valid.  Returns its number, or -errno. */
int64_t merge_add(struct merge *t, uint32_t parent, const char *name);

/* Removes a node and everything below it. */
void merge_remove(struct merge *t, uint32_t node);

#endif
