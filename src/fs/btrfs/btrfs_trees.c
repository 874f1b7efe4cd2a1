/*
 * btrfs_trees.c - the space that the nodes of its trees take on btrfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Items are counted exactly.  How full the leaves are depends on the order of
 * insertion.  The fill factors are those measured in seven trees of 6,000 to
 * 20,000 files, directories or links, copied with cp -a on Linux 6.18.
 */
#include "btrfs.h"

enum {
	NODE = 16384,
	ROOM = NODE - 101,		/* in a node, after its header */
	ITEM = 25,			/* size of its header in a leaf */
	POINTER = 33,			/* size of a node's pointer in its
					 * parent */
	INODE = 160,
	REF = 10, NAME = 30,		/* before a name, or an xattr's */
	EXTENT_IN_FILE = 53,
	IN_LEAF = 21,			/* before the data */
	EXTENT = 53,			/* with one reference to it */
	NODE_EXTENT = 33,
	SUM = 4,			/* for each sector: crc32c */
	FULL_FILES = 86,		/* percent, fill factors of leaves */
	FULL_SUMS = 94, FULL_EXTENTS = 95,
	EMPTY_NODES = 7			/* in a filesystem without files */
};

void
btrfs_add_inode(struct btrfs_trees *t, uint64_t name_len)
{
	t->files_B += ITEM + INODE + ITEM + REF + name_len +
	    2 * (ITEM + NAME + name_len);
}

/*
 * This assumes that all names of a file are in one directory and share an item.
 */
void
btrfs_add_link(struct btrfs_trees *t, uint64_t name_len)
{
	t->files_B += REF + name_len + 2 * (ITEM + NAME + name_len);
}

void
btrfs_add_xattr(struct btrfs_trees *t, uint64_t name_len, uint64_t value_len)
{
	t->files_B += ITEM + NAME + name_len + value_len;
}

void
btrfs_add_in_leaf(struct btrfs_trees *t, uint64_t bytes)
{
	t->files_B += ITEM + IN_LEAF + bytes;
}

void
btrfs_add_extents(struct btrfs_trees *t, uint64_t count, uint64_t physical_B)
{
	t->files_B += count * (ITEM + EXTENT_IN_FILE);
	t->extents_B += count * (ITEM + EXTENT);
	t->sums_B += physical_B / BTRFS_SECTOR * SUM;
}

/*
 * Returns how many nodes hold that many bytes: leaves, filled to `full`
 * percent, and the nodes above them.
 */
static uint64_t
nodes(uint64_t bytes, unsigned full)
{
	uint64_t level = (bytes * 100 / full + ROOM - 1) / ROOM, all = level;

	while (level > 1) {
		level = (level * POINTER + ROOM - 1) / ROOM;
		all += level;
	}
	return all;
}

uint64_t
btrfs_trees_B(const struct btrfs_trees *t, unsigned copies)
{
	uint64_t n = nodes(t->files_B, FULL_FILES) +
	    nodes(t->sums_B, FULL_SUMS);

	n += nodes(t->extents_B + n * (ITEM + NODE_EXTENT), FULL_EXTENTS);
	return copies * NODE * (n + EMPTY_NODES);
}
