/*
 * zfs_dnode.h - the dnodes of a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Used only by the parts of zfs_meta, in one thread.
 */
#ifndef COLDPRESS_ZFS_DNODE_H
#define COLDPRESS_ZFS_DNODE_H

#include "zfs_block.h"

/* Deeper directories are assumed to have the same parent. */
enum { ZFS_DEPTHS = 256 };

enum { ZFS_DNODE = 512, ZFS_DNODE_BLOCK = 16384,
    ZFS_DNODES = ZFS_DNODE_BLOCK / ZFS_DNODE };

/* The maximum length of a symbolic link target that is stored in the dnode. */
enum { ZFS_TARGET_MOST = 56 };

struct zfs_dnodes {
	struct zfs_blocks *blocks;
	uint64_t objects;		/* dnodes so far */
	uint64_t dirs[ZFS_DEPTHS];	/* numbers of the last directories */
	uint64_t now_ns;
	unsigned in_block;
	uint8_t block[ZFS_DNODE_BLOCK];
};

/* The object of a dnode. */
struct zfs_object {
	unsigned depth;			/* directories above it */
	mode_t mode;
	uint64_t size;			/* as in stat(2) */
	uint32_t block;			/* size of each of its blocks */
	uint64_t blocks;		/* number of these blocks, or 0 */
	uint64_t used;			/* space used by these blocks */
};

/* d must be zeroed; blocks must outlast it. */
void zfs_dnodes_init(struct zfs_dnodes *d, struct zfs_blocks *blocks);

/* Adds the next dnode, whose blocks are beneath *t. */
void zfs_dnode_add(struct zfs_dnodes *d, const struct zfs_object *o,
    const struct zfs_target *t);

/*
 * Writes the incomplete block, and the pointers to all blocks.  Call this last.
 */
void zfs_dnodes_end(struct zfs_dnodes *d);

#endif
