/*
 * layout.h - the inodes and directory listings of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Made in the order and by the rules of mksquashfs 4.5.1: inodes depth first,
 * a directory behind what is in it; in its form with fewer bytes where that
 * can hold it.  By one thread.
 */
#ifndef COLDPRESS_SQWRITE_LAYOUT_H
#define COLDPRESS_SQWRITE_LAYOUT_H

#include "image/sqwrite/table.h"
#include "image/sqwrite/tree.h"

/* Of a long listing: where to begin looking for a name. */
struct sqw_index {
	uint32_t at;			/* in the listing */
	uint32_t block;			/* of the table that it is in there */
	const char *name;
};

struct sqw_layout {
	/* given */
	const struct sqw_tree *tree;
	uint32_t block;			/* bytes of a data block */
	/*
	 * Of each unit: the size word (0: a hole); where it begins in the
	 * image; the number of its fragment block.
	 */
	uint32_t (*size_of)(const void *arg, uint32_t unit);
	uint64_t (*start_of)(const void *arg, uint32_t unit);
	uint32_t (*fragment_of)(const void *arg, uint32_t unit);
	/* Of an owner: index in the id table. */
	uint16_t (*id_of)(const void *arg, uint32_t id);
	const void *arg;
	struct sqw_table inodes, listings;	/* with their ops */

	/* made */
	struct sqw_place *places;	/* of the nodes' inodes */
	uint16_t *types;		/* of these, none of them long */
	struct sqw_index *indices;	/* of the directory in hand */
	size_t index_count, index_cap;
	int err;
};

/*
 * Writes all inodes and listings and ends both tables.  0, -ENOMEM or -errno
 * of the tables; the layout is to be closed in any case.
 */
int sqw_layout_make(struct sqw_layout *l);
void sqw_layout_close(struct sqw_layout *l);

/* The reference of a node's inode: its block, and its place in that. */
uint64_t sqw_layout_ref(const struct sqw_layout *l, size_t node);

#endif
