/*
 * zfs.h - what files take in a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rules: the on-disk format as Sun published
 * it ("ZFS On-Disk Specification", 2006), and how dsl_dataset_block_born()
 * counts.  Two kinds of pools: version 23, as zfs-fuse has it, and pools with
 * feature flags, as OpenZFS makes them.
 */
#ifndef COLDPRESS_ZFS_H
#define COLDPRESS_ZFS_H

#include "engine/packer/packer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ZFS_SECTOR = 512, ZFS_RECORD_MOST = 1 << 24 };

struct zfs_pool {
	bool features;		/* OpenZFS; else version 23 */
	bool early_abort;	/* zstd-3 and above probe a large record */
	unsigned ashift;	/* log2 of a sector, 9..16 */
	uint32_t recordsize;	/* a power of two, 512..ZFS_RECORD_MOST */
};

/* Bytes of blocks; added up with zfs_add(). */
struct zfs_space {
	uint64_t blocks;	/* holes not counted */
	uint64_t logical_B;
	uint64_t physical_B;
	uint64_t allocated_B;
};

void zfs_add(struct zfs_space *to, const struct zfs_space *from);

/* The size of the records of a file of size bytes. */
uint32_t zfs_record_size(const struct zfs_pool *pool, uint64_t size);

/*
 * Adds one record: record bytes at data, the file's own and zeros behind
 * them, compressed by p, which is of that name; probes: the packers lz4 and
 * zstd-1, with which zstd's early abort looks first.  Thread-safe for spaces
 * and packers that are the thread's.
 */
void zfs_record(const struct zfs_pool *pool, const struct packer_name *name,
    struct packer *p, struct packer *const probes[2], const uint8_t *data,
    uint32_t record, struct zfs_space *sum);

bool zfs_is_zero(const uint8_t *data, uint32_t len);

/* Adds so many records of zeros. */
void zfs_zeros(const struct zfs_pool *pool, const struct packer_name *name,
    uint32_t record, uint64_t count, struct zfs_space *sum);

/* The metadata of a dataset, object by object, in the order of creation. */
struct zfs_meta;

/* 0 or -ENOMEM.  Belongs to one thread. */
int zfs_meta_open(struct zfs_meta **m, const struct zfs_pool *pool);
void zfs_meta_close(struct zfs_meta *m);

/*
 * Of the next three, depth says how many directories are above the object,
 * of the tree's: the parent is the last one before it that was less deep.
 */

/* A file, of which so many records are no holes. */
void zfs_meta_file(struct zfs_meta *m, unsigned depth, mode_t mode,
    uint64_t size, uint64_t records);

/* Anything else: a link of size bytes, for the others 0, in its dnode. */
void zfs_meta_other(struct zfs_meta *m, unsigned depth, mode_t mode,
    uint64_t size);

/* A directory with these names in it. */
void zfs_meta_dir(struct zfs_meta *m, unsigned depth, mode_t mode,
    const char *const *names, size_t count);

/* The whole, once; logical is physical, as ZFS counts. */
void zfs_meta_end(struct zfs_meta *m, struct zfs_space *sum);

#endif
