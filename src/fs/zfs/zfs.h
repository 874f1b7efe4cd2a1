/*
 * zfs.h - the space used by files in a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The rules are the on-disk format as published by Sun ("ZFS On-Disk
 * Specification", 2006), and the accounting of dsl_dataset_block_born().  There
 * are two types of pools: version 23, as in zfs-fuse, and pools with feature
 * flags, as created by OpenZFS, whose rules for compressed blocks are those of
 * zio_write_compress().
 */
#ifndef COLDPRESS_ZFS_H
#define COLDPRESS_ZFS_H

#include "engine/packer/packer.h"

#include <stdbool.h>
#include <stdint.h>

enum { ZFS_SECTOR = 512, ZFS_RECORD_MOST = 1 << 24 };

struct zfs_pool {
	bool features;		/* OpenZFS; otherwise version 23 */
	bool whole_sectors;	/* a record must save an eighth of it, rounded
				 * up to sectors */
	bool early_abort;	/* zstd-3 and above first test a large record */
	bool embeds;		/* small blocks are kept in their pointers */
	bool kept_times;	/* times are those of the tree */
	unsigned ashift;	/* log2 of a sector, 9..16 */
	uint32_t recordsize;	/* a power of two, 512..ZFS_RECORD_MOST */
	unsigned copies;	/* of data */
	unsigned meta_copies;	/* of metadata, */
	unsigned pointer_copies;	/* of pointers to a file's records, */
	unsigned dnode_copies;	/* and of dnodes and directories */
	uint32_t dnode;		/* size of a dnode, 512..16K */
	bool encrypted;
	bool strong;		/* checksums are 256 random bits */
	bool special;		/* metadata is on a vdev of its own, */
	uint64_t special_most;	/* and records of up to so many bytes */
	unsigned parity, data;	/* disks for parity and data; 0: one disk */
	bool draid;		/* blocks do not share rows */
};

/* The space used by blocks, in bytes. */
struct zfs_space {
	uint64_t blocks;	/* without holes */
	uint64_t logical_B;
	uint64_t physical_B;
	uint64_t allocated_B;
	uint64_t padding_B;	/* the unused part of allocated_B; for data */
};

static inline uint64_t
zfs_round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/*
 * Returns the space that one copy of a block uses, as ZFS reports it: what it
 * takes on all disks, less what a block of 128 KiB loses there.
 */
uint64_t zfs_allocated(const struct zfs_pool *pool, uint64_t physical,
    bool meta);

/* What a compressed size is rounded up to. */
uint64_t zfs_unit(const struct zfs_pool *pool);

/* The maximum that is embedded in a block pointer. */
enum { ZFS_EMBEDDED_MOST = 112 };

/* Returns the record size for a file of `size` bytes. */
uint32_t zfs_record_size(const struct zfs_pool *pool, uint64_t size);

/*
 * Adds one record: `record` bytes at data, which are file data followed by
 * zeros, compressed by p, which implements the algorithm `name`.  probes are
 * the packers lz4 and zstd-1, which zstd's early abort tries first.  Returns
 * whether the record is embedded in its pointer.  Thread-safe if the spaces and
 * packers belong to the calling thread.
 */
bool zfs_record(const struct zfs_pool *pool, const struct packer_name *name,
    struct packer *p, struct packer *const probes[2], const uint8_t *data,
    uint32_t record, struct zfs_space *sum);

/*
 * Writes the bytes that an embedded record leaves in its pointer, and returns
 * their number: 0 if it is not embedded.
 */
size_t zfs_payload(const struct zfs_pool *pool,
    const struct packer_name *name, struct packer *p, const uint8_t *data,
    uint32_t record, uint8_t out[ZFS_EMBEDDED_MOST]);

/* The numbers of compressors in pointers: of none, lz4, and of an algorithm. */
enum { ZFS_PACKER_OFF = 2, ZFS_PACKER_LZ4 = 15 };
unsigned zfs_packer_number(const struct packer_name *name);

bool zfs_is_zero(const uint8_t *data, uint32_t len);

/* Adds `count` records of zeros. */
void zfs_zeros(const struct zfs_pool *pool, const struct packer_name *name,
    uint32_t record, uint64_t count, struct zfs_space *sum);

#endif
