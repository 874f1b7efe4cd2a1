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

void
zfs_add(struct zfs_space *to, const struct zfs_space *from)
{
	to->blocks += from->blocks;
	to->logical_B += from->logical_B;
	to->physical_B += from->physical_B;
	to->allocated_B += from->allocated_B;
	to->padding_B += from->padding_B;
}

static uint64_t
round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

uint32_t
zfs_record_size(const struct zfs_pool *pool, uint64_t size)
{
	if (size > pool->recordsize)
		return pool->recordsize;
	return size == 0 ? ZFS_SECTOR : (uint32_t)round_up(size, ZFS_SECTOR);
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

/* Returns the size of the header before the compressed bytes of a record. */
static uint32_t
head_of(const struct packer_name *name)
{
	return is(name, "lz4") ? LZ4_LENGTH :
	    is(name, "zstd") || is(name, "zstd-fast") ? ZSTD_HEADER : 0;
}

/*
 * Returns the maximum compressed size of a record: seven eighths of its size.
 * In version 23 pools it is rounded down to whole sectors.
 */
static uint32_t
most_of(const struct zfs_pool *pool, uint32_t record)
{
	uint32_t most = record - record / 8;

	return pool->features ? most : most / ZFS_SECTOR * ZFS_SECTOR;
}

/*
 * Returns whether zstd stores a record uncompressed because neither lz4 nor
 * zstd-1 makes it smaller.
 */
static bool
aborts(const struct zfs_pool *pool, const struct packer_name *name,
    struct packer *const probes[2], const uint8_t *data, uint32_t record)
{
	uint32_t most = most_of(pool, record);

	if (!pool->features || !pool->early_abort || !is(name, "zstd") ||
	    name->level < ABORT_LEVEL || record < ABORT_RECORD)
		return false;
	return packer_pack(probes[0], data, record, most - LZ4_LENGTH) == 0 &&
	    packer_pack(probes[1], data, record, most - ZSTD_HEADER) == 0;
}

/* Returns the compressed size, or 0 if it is stored uncompressed. */
static uint32_t
compressed_size(const struct zfs_pool *pool, const struct packer_name *name,
    struct packer *p, struct packer *const probes[2], const uint8_t *data,
    uint32_t record)
{
	uint32_t most = most_of(pool, record), head = head_of(name);
	size_t n;

	if (most <= head || aborts(pool, name, probes, data, record))
		return 0;
	n = packer_pack(p, data, record, most - head);
	return n == 0 ? 0 : (uint32_t)n + head;
}

/* Counts blocks of the given size, stored in whole sectors. */
static void
count_stored(const struct zfs_pool *pool, uint64_t physical, uint64_t count,
    struct zfs_space *sum)
{
	uint64_t allocated = round_up(physical, (uint64_t)1 << pool->ashift);

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
	uint64_t sector = (uint64_t)1 << pool->ashift;
	/* in OpenZFS a physical size is a multiple of the sector size */
	uint64_t unit = pool->features ? sector : ZFS_SECTOR;
	uint64_t physical = 0;

	if (name->kind != NULL && zfs_is_zero(data, record))
		return;
	sum->blocks++;
	sum->logical_B += record;
	if (name->kind != NULL)
		physical = compressed_size(pool, name, p, probes, data, record);
	if (physical != 0 && pool->features && physical <= EMBEDDED_MOST) {
		/* embedded in its pointer: uses bytes, but no sector */
		sum->physical_B += physical;
		return;
	}
	if (physical != 0)
		physical = round_up(physical, unit);
	if (physical == 0 || physical >= record)
		physical = record;
	count_stored(pool, physical, 1, sum);
}
