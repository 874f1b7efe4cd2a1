/*
 * zfs_meta.h - the blocks, dnodes and directories of a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata is added object by object, in creation order.  A struct zfs_meta
 * belongs to one thread.
 */
#ifndef COLDPRESS_ZFS_META_H
#define COLDPRESS_ZFS_META_H

#include "engine/other/zfs_blocks.h"
#include "zfs.h"

#include <sys/types.h>

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

/*
 * Counts `many` blocks like the len bytes (at most ZFS_META_MOST) at data,
 * which may be b->block.  Returns the space used by each block.
 */
uint64_t zfs_blocks_add(struct zfs_blocks *b, const uint8_t *data, size_t len,
    uint64_t many);

/*
 * Adds the blocks that contain the pointers to `blocks` blocks like *t, then
 * the blocks that contain the pointers to these, and so on, for at least the
 * given number of levels and until a single block is left.  *t then describes
 * that block.  Uses b->block.
 */
void zfs_add_indirect(struct zfs_blocks *b, uint64_t blocks,
    struct zfs_target *t, unsigned levels);

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
 * Adds a directory with these names, its dnode and its blocks.  A small one is
 * a block of 64-byte entries; a large one, or one with a long name, consists of
 * leaves found by hash.  Returns 0 or -ENOMEM.
 */
int zfs_dir_add(struct zfs_dnodes *d, unsigned depth, mode_t mode,
    const char *const *names, size_t count);

/* The metadata of a dataset. */
struct zfs_meta {
	struct zfs_blocks blocks;
	struct zfs_dnodes dnodes;
};

/* m must be zeroed. */
void zfs_meta_init(struct zfs_meta *m, const struct zfs_pool *pool);

/*
 * In these functions, and zfs_dir_add(), depth is the number of directories
 * above the object in the tree.  Its parent is the last directory added with a
 * smaller depth.
 */

/* Adds a file with the given number of records that are not holes. */
void zfs_meta_file(struct zfs_meta *m, unsigned depth, mode_t mode,
    uint64_t size, uint64_t records);

/*
 * Adds any other object, stored in its dnode: a link of `size` bytes, or
 * another type with size 0.
 */
void zfs_meta_other(struct zfs_meta *m, unsigned depth, mode_t mode,
    uint64_t size);

/*
 * Computes the total.  Call this once.  As in ZFS, the logical size equals the
 * physical size.
 */
void zfs_meta_end(struct zfs_meta *m, struct zfs_space *sum);

#endif
