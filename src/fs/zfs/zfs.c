/*
 * zfs.c - the space used by file records in a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zfs.h"

#include <string.h>

enum {
	EMBEDDED_MOST = 112,	/* maximum embedded in a block pointer */
	LZ4_LENGTH = 4,		/* before the block, big-endian */
	ZSTD_HEADER = 8,	/* the length, version and level */
	ABORT_LEVEL = 3,	/* minimum level and record size of zstd's
				 * ... */
	ABORT_RECORD = 128 << 10	/* ... early abort */
};

uint32_t
zfs_record_size(const struct zfs_pool *pool, uint64_t size)
{
	if (size > pool->recordsize)
		return pool->recordsize;
	return size == 0 ? ZFS_SECTOR :
	    (uint32_t)zfs_round_up(size, ZFS_SECTOR);
}

bool
zfs_is_zero(const uint8_t *p, uint32_t len)
{
	return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

static bool
is(const struct packer_name *name, const char *kind)
{
	return strcmp(name->kind->name, kind) == 0;
}

/* Counts blocks of the given size, stored in whole sectors. */
static void
count_stored(const struct zfs_pool *pool, uint64_t physical, uint64_t count,
    struct zfs_space *sum)
{
	uint64_t allocated = zfs_round_up(physical,
	    (uint64_t)1 << pool->ashift);

	sum->physical_B += count * physical;
	sum->allocated_B += count * allocated;
	sum->padding_B += count * (allocated - physical);
}

void
zfs_zeros(const struct zfs_pool *pool, const struct packer_name *name,
    uint32_t record, uint64_t count, struct zfs_space *sum)
{
	if (name->kind != NULL)
		return;			/* holes */
	sum->blocks += count;
	sum->logical_B += count * record;
	count_stored(pool, record, count, sum);
}

void
zfs_record(const struct zfs_pool *pool, const struct packer_name *name,
    struct packer *p, struct packer *const probes[2], const uint8_t *data,
    uint32_t record, struct zfs_space *sum)
{
	bool zstd = name->kind != NULL && is(name, "zstd");
	/* at most seven eighths, in version 23 pools in whole sectors */
	uint32_t most = record - record / 8, head = 0;
	/* in OpenZFS a physical size is a multiple of the sector size */
	uint64_t unit = pool->features ? (uint64_t)1 << pool->ashift :
	    ZFS_SECTOR;
	uint64_t physical;

	if (name->kind != NULL && zfs_is_zero(data, record))
		return;
	sum->blocks++;
	sum->logical_B += record;
	if (!pool->features)
		most = most / ZFS_SECTOR * ZFS_SECTOR;
	/* the header before the compressed bytes */
	if (zstd || (name->kind != NULL && is(name, "zstd-fast")))
		head = ZSTD_HEADER;
	else if (name->kind != NULL && is(name, "lz4"))
		head = LZ4_LENGTH;
	/* zstd's early abort, if neither lz4 nor zstd-1 makes it smaller */
	if (name->kind == NULL || most <= head || (zstd && pool->features &&
	    pool->early_abort && name->level >= ABORT_LEVEL &&
	    record >= ABORT_RECORD &&
	    packer_pack(probes[0], data, record, most - LZ4_LENGTH) == 0 &&
	    packer_pack(probes[1], data, record, most - ZSTD_HEADER) == 0)) {
		count_stored(pool, record, 1, sum);
		return;
	}
	physical = packer_pack(p, data, record, most - head);
	physical += physical == 0 ? 0 : head;
	if (physical != 0 && pool->features && physical <= EMBEDDED_MOST) {
		/* embedded in its pointer: uses bytes, but no sector */
		sum->physical_B += physical;
		return;
	}
	physical = zfs_round_up(physical, unit);
	if (physical == 0 || physical >= record)
		physical = record;
	count_stored(pool, physical, 1, sum);
}
