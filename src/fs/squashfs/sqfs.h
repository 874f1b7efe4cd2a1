/*
 * sqfs.h - the space used by files in a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: "Squashfs Binary Format" (squashfs-tools-ng, doc/format.adoc), and
 * trees packed by mksquashfs 4.5.1 and 4.6.1 with -all-root: names in byte
 * order, depth first.  sqpack's feed (image/squashfs/write/feed.h) assigns data to
 * blocks.
 */
#ifndef COLDPRESS_SQFS_H
#define COLDPRESS_SQFS_H

#include "fs/fs_model.h"
#include "image/squashfs/write/data.h"
#include "image/squashfs/write/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tree of an image, and the list item for each node id. */
struct sqfs_tree {
	struct sqw_tree tree;
	const struct fs_item **items;
};

/*
 * Builds the tree from all items that have no error; several roots become
 * directories under a common root.  Returns 0, -ENOENT (no items) or -errno
 * from sqw_tree_add(); t must be freed even after an error.
 */
int sqfs_tree_make(struct sqfs_tree *t, const struct fs_list *l);
void sqfs_tree_free(struct sqfs_tree *t);

static inline const struct fs_item *
sqfs_item(const struct sqfs_tree *t, size_t node)
{
	return t->items[t->tree.nodes[node].id];
}

/* A unit, or the units of a hole. */
struct sqfs_run {
	uint32_t number, count;
};

/* All blocks: the blocks of large files, and fragment blocks. */
struct sqfs_units {
	struct sqw_data data;		/* the units of each file */
	uint32_t *sizes;		/* size of each unit with each
					 * algorithm */
	size_t count;
	struct sqfs_run *runs;		/* all units, in the order in which they
					 * filled up */
	size_t run_count;
};

/*
 * Reads all data, finds duplicates and compresses the blocks, like sqpack or
 * like mksquashfs.  Fills in the nodes' data.  Returns 0 or -errno.
 */
int sqfs_units_make(struct sqfs_units *u, struct sqfs_tree *t,
    const struct fs_job *job, bool as_sqpack);
void sqfs_units_free(struct sqfs_units *u);

struct sqfs_space {
	uint64_t data_B;		/* blocks and fragments */
	uint64_t tables_B;		/* everything else, excluding
					 * padding */
};

/* The compressors, called the way sqpack calls them. */
extern const struct packer_kind sqfs_packers_sqpack[];

/*
 * Measures an image with the algorithm at the given index.  If in_order is set,
 * data is in sqpack's order: each unit as soon as it is full.  Returns 0 or
 * -ENOMEM.  Thread-safe.
 */
int sqfs_measure(const struct sqfs_tree *t, const struct sqfs_units *u,
    const struct fs_job *job, unsigned algorithm, bool in_order,
    struct sqfs_space *s);

#endif
