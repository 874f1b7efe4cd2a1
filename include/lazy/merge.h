/*
 * merge.h - the names of one or more layers, merged into one tree
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layer Filesystem Changeset":
 * whiteouts (".wh.NAME" removes NAME from lower layers, and ".wh..wh..opq"
 * removes all names in its directory) are applied before the other entries of
 * their layer.
 *
 * The names belong to the layers, which must outlive the tree.  A node needs 48
 * bytes.  After merge_build() a tree is constant, so all functions are
 * thread-safe.
 */
#ifndef COLDPRESS_LAZY_MERGE_H
#define COLDPRESS_LAZY_MERGE_H

#include "base/arena.h"
#include "lazy/layer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge;

enum { MERGE_ROOT = 0, MERGE_NONE = -1 };

/* Node 0 is the root. */
struct merge_node {
	const char *name;
	const struct layer_entry *entry;	/* NULL for a directory without
						 * an entry */
	uint32_t parent;
	uint32_t inode;			/* this node, or the first of a file's
					 * nodes if it has several names */
	uint32_t first, count;		/* directories only; see
					 * merge_child() */
	uint32_t links;			/* link count; for a directory, 2 plus
					 * its subdirectories */
	uint16_t layer;			/* index of the entry's layer */
	bool opaque;			/* MERGE_OVERLAY only */
	bool whiteout;
};

enum merge_mode {
	MERGE_MERGED,			/* whiteouts are applied */
	MERGE_OVERLAY			/* one layer, whose whiteouts become
					 * nodes for overlayfs: a character
					 * device 0/0, or a directory with an
					 * attribute */
};


/*
 * Merges count layers, lowest first.  Returns 0, -ENOMEM, -EFBIG (more than
 * LAYER_ENTRIES_MAX names, or UINT16_MAX layers) or -EBADMSG (a hard link to a
 * missing file or a directory; a name below a file that is not a directory)
 * with the reason in why.
 */
int merge_build(struct merge **t, struct layer *const *layers, size_t count,
    enum merge_mode mode, char why[LAYER_WHY]);
void merge_free(struct merge *t);			/* may be NULL */

size_t merge_count(const struct merge *t);
const struct merge_node *merge_node(const struct merge *t, uint32_t node);

/* Returns child i of a directory, in byte order of names. */
uint32_t merge_child(const struct merge *t, uint32_t dir, uint32_t i);

/* Returns the node with this name in a directory, or MERGE_NONE. */
int64_t merge_lookup(const struct merge *t, uint32_t dir, const char *name);

/* Returns a node's type; TAR_DIR if the node has no entry. */
enum tar_type merge_type(const struct merge_node *n);

/* A tree of names under construction, for lazy/pack. */
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
