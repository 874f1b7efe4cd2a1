/*
 * zfs_block.h - metadata blocks in a ZFS dataset, and block pointers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Used only by the parts of zfs_meta, in one thread.
 */
#ifndef COLDPRESS_ZFS_BLOCK_H
#define COLDPRESS_ZFS_BLOCK_H

#include "engine/other/lz4_zfs.h"
#include "engine/other/lzjb.h"
#include "zfs.h"

enum {
	ZFS_POINTER = 128,		/* size of a pointer */
	ZFS_COPIES = 2,			/* copies of all metadata */
	ZFS_TXG = 11,			/* transaction group of all writes */
	ZFS_TYPE_DNODE = 10, ZFS_TYPE_FILE = 19, ZFS_TYPE_DIR = 20,
	ZFS_INDIRECT_OLD = 14,		/* log2 of the pointer block size */
	ZFS_INDIRECT_NEW = 17,
	ZFS_META_MOST = 1 << ZFS_INDIRECT_NEW
};

struct zfs_blocks {
	const struct zfs_pool *pool;
	struct zfs_space sum;
	uint64_t seed;			/* for the random filler */
	uint64_t offset, copies;	/* offsets in the pool, in sectors */
	uint8_t block[ZFS_META_MOST];	/* scratch space for building one
					 * block */
	uint8_t packed[ZFS_META_MOST];
	uint16_t lzjb[LZJB_TABLE];
	uint32_t lz4[LZ4_ZFS_TABLE];
};

/* The block that a pointer refers to. */
struct zfs_target {
	uint64_t size, stored;		/* bytes */
	bool meta;			/* metadata, with two copies */
	uint64_t under;			/* number of data blocks beneath it */
	unsigned type;			/* ZFS_TYPE_... */
	const uint8_t *data;		/* its contents if they are known and
					 * uncompressed, otherwise NULL */
};

/* b must be zeroed. */
void zfs_blocks_init(struct zfs_blocks *b, const struct zfs_pool *pool);

/* Returns 64 incompressible bits, the same in every run. */
uint64_t zfs_noise(struct zfs_blocks *b);

/* Returns log2 of the pointer block size. */
unsigned zfs_indirect_shift(const struct zfs_pool *pool);

/*
 * Counts `many` blocks like the len bytes (at most ZFS_META_MOST) at data,
 * which may be b->block.  Returns the space used by each block.
 */
uint64_t zfs_blocks_add(struct zfs_blocks *b, const uint8_t *data, size_t len,
    uint64_t many);

/* Writes a pointer of ZFS_POINTER bytes to *t. */
void zfs_put_pointer(struct zfs_blocks *b, uint8_t *p,
    const struct zfs_target *t);

/*
 * Adds the blocks that contain the pointers to `blocks` blocks like *t, then
 * the blocks that contain the pointers to these, and so on, for at least the
 * given number of levels and until a single block is left.  *t then describes
 * that block.  Uses b->block.
 */
void zfs_add_indirect(struct zfs_blocks *b, uint64_t blocks,
    struct zfs_target *t, unsigned levels);

#endif
