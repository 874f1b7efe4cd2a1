/*
 * btrfs_copy.h - the trees of the btrfs filesystem that files are copied to
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A struct btrfs_copy belongs to one thread; it must be zeroed initially,
 * except for its names and `random'.
 */
#ifndef COLDPRESS_BTRFS_COPY_H
#define COLDPRESS_BTRFS_COPY_H

#include "btrfs_leaves.h"
#include "btrfs_names.h"

/* Items still to be added, once there are `limit' of them. */
struct btrfs_late {
	struct btrfs_item *items;
	size_t count, cap, limit;
};

struct btrfs_copy {
	const struct btrfs_names *names;
	struct btrfs_leaves files;	/* inodes, names and extents */
	struct btrfs_late late;		/* names for directories */
	uint64_t extents_B, sums_B;	/* items of the other trees */
	uint64_t random;		/* determines all random numbers */
};

/* Returns a random number from lo to hi. */
size_t btrfs_copy_random(struct btrfs_copy *c, size_t lo, size_t hi);

/*
 * Creates item i of the list, or adds it as a link to its file.  Returns 0 or
 * -ENOMEM.
 */
int btrfs_copy_create(struct btrfs_copy *c, size_t i);

/*
 * Writes extent k of file i: bytes in its leaf, or on disk.  Returns 0 or
 * -ENOMEM.
 */
int btrfs_copy_in_leaf(struct btrfs_copy *c, size_t i, uint32_t bytes);
int btrfs_copy_extent(struct btrfs_copy *c, size_t i, uint32_t k,
    uint32_t disk_B);

/* Writes all remaining items.  Returns 0 or -ENOMEM. */
int btrfs_copy_end(struct btrfs_copy *c);

/* Returns how many nodes all trees have. */
uint64_t btrfs_copy_nodes(const struct btrfs_copy *c);

void btrfs_copy_free(struct btrfs_copy *c);

#endif
