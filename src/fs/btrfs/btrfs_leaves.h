/*
 * btrfs_leaves.h - the distribution of items over the leaves of a btrfs tree
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The fill level of leaves depends on the order in which items are added.  This
 * code reproduces the algorithm in Linux.  An item is inserted in key order.
 * If the leaf has no room, items are pushed to the next or the previous leaf;
 * if that is not possible, the leaf is split, in the middle if the item then
 * fits.  All leaves are assumed to have the same parent.
 *
 * A struct btrfs_leaves belongs to one thread; it must be zeroed initially.
 */
#ifndef COLDPRESS_BTRFS_LEAVES_H
#define COLDPRESS_BTRFS_LEAVES_H

#include <stddef.h>
#include <stdint.h>

enum {
	BTRFS_NODE = 16384,
	BTRFS_ROOM = BTRFS_NODE - 101,	/* room in a node, after its header */
	BTRFS_HEADER = 25		/* size of the header of an item in a
					 * leaf */
};

/* Types of items, in the order of their keys. */
enum {
	BTRFS_INODE_ITEM = 1, BTRFS_INODE_REF = 12, BTRFS_XATTR = 24,
	BTRFS_DIR_ITEM = 84, BTRFS_DIR_INDEX = 96, BTRFS_EXTENT_DATA = 108
};

struct btrfs_item {
	uint64_t owner;			/* object << 8 | type */
	uint32_t offset;		/* last part of the key */
	uint32_t size;			/* size including the header */
};

struct btrfs_leaf;

struct btrfs_leaves {
	struct btrfs_leaf **leaves;	/* in the order of their keys */
	size_t count, cap;
};

/*
 * Adds n items with successive keys in one step; together they must fit in a
 * leaf.  Returns 0 or -ENOMEM.
 */
int btrfs_leaves_add(struct btrfs_leaves *t, const struct btrfs_item *items,
    unsigned n);

/*
 * Enlarges the item with this key by `size' bytes.  Returns 0, -ENOENT,
 * -EOVERFLOW (the item would not fit in a leaf) or -ENOMEM.
 */
int btrfs_leaves_grow(struct btrfs_leaves *t, const struct btrfs_item *item);

void btrfs_leaves_free(struct btrfs_leaves *t);

#endif
