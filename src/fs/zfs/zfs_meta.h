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
	ZFS_TXG = 11,			/* transaction group of all writes */
	ZFS_TYPE_DNODE = 10, ZFS_TYPE_FILE = 19, ZFS_TYPE_DIR = 20,
	ZFS_INDIRECT_OLD = 14,		/* log2 of the pointer block size */
	ZFS_INDIRECT_NEW = 17,
	ZFS_META_MOST = 1 << ZFS_INDIRECT_NEW
};

/* Working space, which several structs zfs_blocks of one thread can share. */
struct zfs_scratch {
	uint8_t block[ZFS_META_MOST];	/* for building one block */
	uint8_t packed[ZFS_META_MOST];
	uint16_t lzjb[LZJB_TABLE];
	uint32_t lz4[LZ4_ZFS_TABLE];
};

struct zfs_blocks {
	const struct zfs_pool *pool;
	struct zfs_scratch *scratch;
	struct zfs_space sum;
	uint64_t seed;			/* for the random filler */
	uint64_t offset, copies;	/* offsets in the pool, in sectors */
	uint64_t packed;		/* bytes of the last block, or 0 */
};

/* What a block of metadata is, by which its number of copies is chosen. */
enum zfs_rank {
	ZFS_RANK_POINTERS,		/* to a file's records */
	ZFS_RANK_DNODES,		/* and directories */
	ZFS_RANK_CRITICAL,
	ZFS_RANK_FIRST			/* before the dataset has properties */
};

/* The block that a pointer refers to. */
struct zfs_target {
	uint64_t size, stored;		/* bytes; 0 stored: embedded */
	bool meta;			/* metadata, with more copies */
	uint64_t under;			/* number of data blocks beneath it */
	unsigned type;			/* ZFS_TYPE_... */
	uint64_t filled;		/* bytes before zeros; 0: not known */
	unsigned packer;		/* of a file: zfs_packer_number() */
	const uint8_t *data;		/* its contents if they are known and
					 * uncompressed, otherwise NULL */
	size_t payload_len;		/* if it is embedded */
	uint8_t payload[ZFS_EMBEDDED_MOST];
};

/* b must be zeroed; the pool and the scratch space must outlast it. */
void zfs_blocks_init(struct zfs_blocks *b, const struct zfs_pool *pool,
    struct zfs_scratch *scratch);

/* Returns 64 incompressible bits, the same in every run. */
uint64_t zfs_noise(struct zfs_blocks *b);

/*
 * Counts `many` blocks like the len bytes (at most ZFS_META_MOST) at data,
 * which may be the scratch block.  Returns the space used by each block.
 */
uint64_t zfs_blocks_add(struct zfs_blocks *b, enum zfs_rank rank,
    const uint8_t *data, size_t len, uint64_t many);

/*
 * Counts a block of an object's contents, to which *t refers, and which OpenZFS
 * embeds in its pointer if it is small enough.
 */
void zfs_blocks_leaf(struct zfs_blocks *b, enum zfs_rank rank,
    const uint8_t *data, size_t len, struct zfs_target *t);

/* Returns the space used by all copies of a directory's block. */
uint64_t zfs_meta_used(const struct zfs_pool *pool, uint64_t stored);

/* Writes a pointer of ZFS_POINTER bytes to *t. */
void zfs_put_pointer(struct zfs_blocks *b, uint8_t *p,
    const struct zfs_target *t);

/*
 * Adds the blocks that contain the pointers to `blocks` blocks like *t, then
 * the blocks that contain the pointers to these, and so on, for at least the
 * given number of levels and until a single block is left.  *t then describes
 * that block.  Uses the scratch block.
 */
void zfs_add_indirect(struct zfs_blocks *b, enum zfs_rank rank,
    uint64_t blocks, struct zfs_target *t, unsigned levels);

/* Deeper directories are assumed to have the same parent. */
enum { ZFS_DEPTHS = 256 };

enum { ZFS_DNODE = 512, ZFS_DNODE_BLOCK = 16384,
    ZFS_DNODES = ZFS_DNODE_BLOCK / ZFS_DNODE };	/* of the smallest size */

/*
 * The maximum length of a symbolic link target that is stored in the dnode, in
 * pools of version 23 and in OpenZFS.
 */
enum { ZFS_TARGET_OLD = 56, ZFS_TARGET_NEW = 144 };

struct zfs_dnodes {
	struct zfs_blocks *blocks;
	uint64_t objects;		/* dnodes so far */
	uint64_t dirs[ZFS_DEPTHS];	/* numbers of the last directories */
	uint64_t now_ns;
	uint64_t ended;			/* blocks that are complete */
	uint64_t stored, filled;	/* size of the last of them, and how
					 * much of that is not zeros */
	unsigned in_block;
	uint8_t block[ZFS_DNODE_BLOCK];
	/* the next block, which OpenZFS begins before this one is full */
	unsigned in_next;
	uint8_t next[ZFS_DNODE_BLOCK];
};

/* The object of a dnode. */
struct zfs_object {
	unsigned depth;			/* directories above it */
	const struct stat *st;
	uint64_t size;			/* bytes; names and 2 of a directory */
	uint32_t block;			/* size of each of its blocks */
	uint64_t blocks;		/* number of these blocks, or 0 */
	uint64_t used;			/* space used by these blocks */
	const char *link;		/* a link's target, or NULL */
};

/* d must be zeroed; blocks must outlast it. */
void zfs_dnodes_init(struct zfs_dnodes *d, struct zfs_blocks *blocks);

/* Adds the next dnode, whose blocks are beneath *t.  Returns 0 or -ENOMEM. */
int zfs_dnode_add(struct zfs_dnodes *d, const struct zfs_object *o,
    const struct zfs_target *t);

/* The names in a directory, of which there may be millions. */
struct zfs_names {
	size_t count;
	/*
	 * Returns name i and sets what its entry says: the number of the
	 * object, and its type in the highest four bits.
	 */
	const char *(*get)(const void *arg, size_t i, uint64_t *value);
	const void *arg;
};

/*
 * Adds a directory with these names, its dnode and its blocks.  A small one is
 * a block of 64-byte entries; a large one, or one with a long name, consists of
 * leaves found by hash.  Returns 0 or -ENOMEM.
 */
int zfs_dir_add(struct zfs_dnodes *d, unsigned depth, const struct stat *st,
    const struct zfs_names *names);

/* Returns the number of the object that is the nth in the tree, from 0. */
uint64_t zfs_object_number(const struct zfs_pool *pool, uint64_t n);

/*
 * A table of names in one block: begins an empty one of len bytes, and writes
 * entry i.
 */
enum { ZFS_MICRO_ENTRY = 64 };
void zfs_micro_begin(struct zfs_blocks *b, uint8_t *block, size_t len);
void zfs_micro_put(uint8_t *block, size_t i, uint64_t value,
    const char *name);

/*
 * Counts the blocks of a large table of names, of which *leaf describes one,
 * and sets the number of those that hold names and the space that these use.
 * Returns 0 or -ENOMEM.
 */
int zfs_fat_blocks(struct zfs_dnodes *d, enum zfs_rank rank,
    const struct zfs_names *names, struct zfs_target *leaf, uint64_t *leaves,
    uint64_t *used);

/* Writes the attributes of the next object into its dnode at p. */
void zfs_znode_put(struct zfs_dnodes *d, uint8_t *p,
    const struct zfs_object *o);
void zfs_sa_put(struct zfs_dnodes *d, uint8_t *p, const struct zfs_object *o);

/*
 * Adds the objects of OpenZFS that stand before the first directory, or after.
 * Returns 0 or -ENOMEM.
 */
void zfs_sa_begin(struct zfs_dnodes *d);
int zfs_sa_after_root(struct zfs_dnodes *d);

/* Adds the head of the dataset. */
void zfs_sa_head(struct zfs_dnodes *d, const struct zfs_target *dnodes);

/* Moves the clock on by what an object takes, and returns it. */
uint64_t zfs_dnodes_clock(struct zfs_dnodes *d, const struct zfs_object *o);

/* Returns the object number of the directory above an object. */
uint64_t zfs_parent_of(const struct zfs_dnodes *d, unsigned depth);

/* Ends the block of dnodes. */
void zfs_dnodes_end(struct zfs_dnodes *d);

/* The metadata of a dataset. */
struct zfs_meta {
	struct zfs_blocks blocks;
	struct zfs_dnodes dnodes;
};

/* m must be zeroed. */
void zfs_meta_init(struct zfs_meta *m, const struct zfs_pool *pool,
    struct zfs_scratch *scratch);

/*
 * In these functions, and zfs_dir_add(), depth is the number of directories
 * above the object in the tree.  Its parent is the last directory added with a
 * smaller depth.
 */

/*
 * Adds a file with the given number of records that are not holes, which a
 * compressor with this number has compressed.  If its only record is embedded,
 * payload has its bytes.  Returns 0 or -ENOMEM.
 */
int zfs_meta_file(struct zfs_meta *m, unsigned depth, const struct stat *st,
    uint64_t records, unsigned packer, const uint8_t *payload,
    size_t payload_len);

/*
 * Adds any other object, stored in its dnode: a link to the given target, or
 * another type.  Returns 0 or -ENOMEM.
 */
int zfs_meta_other(struct zfs_meta *m, unsigned depth, const struct stat *st,
    const char *link);

/*
 * Computes the total.  Call this once.  As in ZFS, the logical size equals the
 * physical size.
 */
void zfs_meta_end(struct zfs_meta *m, struct zfs_space *sum);

#endif
