/*
 * zfs_dnode.h - the dnodes of a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Private to the parts of zfs_meta.  Belongs to one thread.
 */
#ifndef COLDPRESS_ZFS_DNODE_H
#define COLDPRESS_ZFS_DNODE_H

#include "zfs_block.h"

/* Deeper directories are taken to have the same parent. */
enum { ZFS_DEPTHS = 32 };

enum { ZFS_DNODE = 512, ZFS_DNODE_BLOCK = 16384,
    ZFS_DNODES = ZFS_DNODE_BLOCK / ZFS_DNODE };

struct zfs_dnodes {
	struct zfs_blocks *blocks;
	uint64_t objects;		/* dnodes so far */
	uint64_t dirs[ZFS_DEPTHS];	/* numbers of the last directories */
	uint64_t now_ns;
	unsigned in_block;
	uint8_t block[ZFS_DNODE_BLOCK];
};

/* What a dnode is of. */
struct zfs_object {
	unsigned depth;			/* directories above it */
	mode_t mode;
	uint64_t size;			/* as stat(2) says */
	uint32_t block;			/* bytes of its blocks */
	uint64_t blocks;		/* so many of them, or 0 */
	uint64_t used;			/* bytes that they take */
};

/* d is zeros; blocks outlast it. */
void zfs_dnodes_init(struct zfs_dnodes *d, struct zfs_blocks *blocks);

/* The next dnode; its blocks are found by *t. */
void zfs_dnode_add(struct zfs_dnodes *d, const struct zfs_object *o,
    const struct zfs_target *t);

/* After the last one: what is not a whole block yet, and what points to all. */
void zfs_dnodes_end(struct zfs_dnodes *d);

#endif
