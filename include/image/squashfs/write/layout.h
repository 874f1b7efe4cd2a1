/*
 * layout.h - the inodes and directory listings of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Follows the order and rules of mksquashfs 4.5.1: inodes are written depth
 * first, a directory after its contents, and in the long form where mksquashfs
 * does so; or those of gensquashfs: in the order of their numbers, which
 * sqw_tree_renumber() assigned.  Use from one thread at a time.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_LAYOUT_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_LAYOUT_H

#include "image/squashfs/write/table.h"
#include "image/squashfs/write/tree.h"

/*
 * An entry in the index of a long directory, which gives the position at which
 * to start searching for a name.
 */
struct sqw_index {
	uint32_t at;			/* offset in the listing */
	uint32_t block;			/* table block that contains the
					 * entry */
	const char *name;
};

struct sqw_layout {
	/* input */
	const struct sqw_tree *tree;
	uint32_t block;			/* size of a data block */
	bool gensquashfs;		/* whose rules */
	bool large_dirs_long;		/* those of its version 1.3 */
	/*
	 * These functions return the size word of a unit (0: a hole), its
	 * offset in the image, and the index of its fragment block.
	 */
	uint32_t (*size_of)(const void *arg, uint32_t unit);
	uint64_t (*start_of)(const void *arg, uint32_t unit);
	uint32_t (*fragment_of)(const void *arg, uint32_t unit);
	/* Returns the index of a user or group ID in the ID table. */
	uint16_t (*id_of)(const void *arg, uint32_t id);
	/*
	 * Returns the index in the image of a node's xattrs; called in the
	 * order of the inodes.  NULL: it is the node's own index.
	 */
	uint32_t (*xattr_of)(const void *arg, uint32_t index);
	const void *arg;
	struct sqw_table inodes, listings;	/* the caller sets their ops */

	/* output */
	struct sqw_place *places;	/* position of each node's inode */
	uint16_t *types;		/* basic types, not the long ones */
	struct sqw_index *indices;	/* index of the current directory */
	size_t index_count, index_cap;
	int err;
};

/*
 * Writes all inodes and listings, and ends both tables.  Returns 0, -ENOMEM or
 * -errno from the tables; the layout must be closed even after an error.
 */
int sqw_layout_make(struct sqw_layout *l);
void sqw_layout_close(struct sqw_layout *l);

/*
 * Returns the reference of a node's inode: its block and its offset in the
 * block.
 */
uint64_t sqw_layout_ref(const struct sqw_layout *l, size_t node);

#endif
