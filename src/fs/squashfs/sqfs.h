/*
 * sqfs.h - what files take in a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: "Squashfs Binary Format" (squashfs-tools-ng,
 * doc/format.adoc), and what mksquashfs 4.5.1 -all-root makes of trees: names
 * in order of their bytes, depth first; a file below a block's size goes into
 * a fragment block, a larger one's end does not; files with the same content
 * are stored once; blocks of zeros not at all.
 */
#ifndef COLDPRESS_SQFS_H
#define COLDPRESS_SQFS_H

#include "fs/fs_model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SQFS_RAW = 1 << 24,		/* in a size: not compressed */
	SQFS_SUPER = 96,
	SQFS_PAD = 4096			/* an image is that many times long */
};

/* Where a file's data are: shared by those of the same content. */
struct sqfs_data {
	size_t unit;			/* the first block, or the fragment's */
	uint32_t blocks;
	uint32_t tail_at;		/* in the fragment block */
	bool tail;
};

struct sqfs_node {
	const struct fs_item *item;	/* NULL: a root above several */
	const char *name;
	size_t parent;
	size_t end;			/* behind all that is below it */
	size_t owner;			/* of its inode: the first hard link */
	uint32_t number, links;		/* of the inode */
	struct sqfs_data data;
};

/* Nodes in the order of an image, each directory before what is in it. */
struct sqfs_tree {
	struct sqfs_node *nodes;
	size_t count;
	uint32_t inodes;
};

/* 0 or -ENOMEM; t is to be freed in any case. */
int sqfs_tree_make(struct sqfs_tree *t, const struct fs_list *l);
void sqfs_tree_free(struct sqfs_tree *t);

/* Whether the node is the one whose data are stored. */
bool sqfs_has_data(const struct sqfs_tree *t, size_t node);

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
