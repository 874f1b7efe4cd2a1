/*
 * sqfs.h - what files take in a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: "Squashfs Binary Format" (squashfs-tools-ng,
 * doc/format.adoc), and what mksquashfs 4.5.1 and 4.6.1 -all-root make of
 * trees: names in order of their bytes, depth first; a file below a block's
 * size goes into a fragment block, a larger one's end does not; files with the
 * same content are stored once; blocks of zeros not at all.
 */
#ifndef COLDPRESS_SQFS_H
#define COLDPRESS_SQFS_H

#include "fs/fs_model.h"
#include "image/sqwrite/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tree of an image, and what each id of a node was in the list. */
struct sqfs_tree {
	struct sqw_tree tree;
	const struct fs_item **items;
};

/*
 * Of all items without an error; several roots become directories below one.
 * 0, -ENOENT (there is none) or -errno of sqw_tree_add(); t is to be freed in
 * any case.
 */
int sqfs_tree_make(struct sqfs_tree *t, const struct fs_list *l);
void sqfs_tree_free(struct sqfs_tree *t);

static inline const struct fs_item *
sqfs_item(const struct sqfs_tree *t, size_t node)
{
	return t->items[t->tree.nodes[node].id];
}

/* All blocks: those of large files, and fragment blocks. */
struct sqfs_units {
	uint32_t *sizes;		/* of each unit with each algorithm */
	uint32_t *fragment;		/* number of a fragment block, or 0 */
	size_t count;
	uint32_t fragments;
	uint64_t bytes;			/* in them, zeros included */
};

/*
 * Reads all data, finds which are the same, and compresses the blocks.  Fills
 * the nodes' data.  0 or -errno.
 */
int sqfs_units_make(struct sqfs_units *u, struct sqfs_tree *t,
    const struct fs_job *job);
void sqfs_units_free(struct sqfs_units *u);

struct sqfs_space {
	uint64_t data_B;		/* blocks and fragments */
	uint64_t tables_B;		/* all else, without the padding */
};

/* An image with the algorithm of that index.  0 or -ENOMEM.  Thread-safe. */
int sqfs_measure(const struct sqfs_tree *t, const struct sqfs_units *u,
    const struct fs_job *job, unsigned algorithm, struct sqfs_space *s);

#endif
