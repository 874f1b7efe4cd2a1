/*
 * zfs.c - the space used by file records in a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zfs.h"

#include <string.h>

enum {
	USUAL = 128 << 10,	/* the block size for which space is exact */
	LZ4_LENGTH = 4,		/* before the block, big-endian */
	ZSTD_HEADER = 8,	/* the length, version and level */
	ZSTD_VERSION = 10405,
	ABORT_LEVEL = 3,	/* minimum level and record size of zstd's
				 * ... */
	ABORT_RECORD = 128 << 10	/* ... early abort */
};

uint64_t
zfs_unit(const struct zfs_pool *pool)
{
	/*
	 * in OpenZFS a physical size is a multiple of the sector size, or of a
	 * draid's row
	 */
	if (!pool->features)
		return ZFS_SECTOR;
	return (uint64_t)(pool->draid ? pool->data : 1) << pool->ashift;
}

/* Returns the space that a block takes on all disks of a raidz or draid. */
static uint64_t
on_disks(const struct zfs_pool *pool, uint64_t physical)
{
	uint64_t sector = (uint64_t)1 << pool->ashift;
	uint64_t sectors = zfs_round_up(physical, sector) / sector;
	uint64_t rows = (sectors + pool->data - 1) / pool->data;

	if (pool->draid)
		sectors = rows * (pool->data + pool->parity);
	else	/* what cannot hold a block with its parity is left out */
		sectors = zfs_round_up(sectors + rows * pool->parity,
		    pool->parity + 1);
	return sectors * sector;
}

uint64_t
zfs_allocated(const struct zfs_pool *pool, uint64_t physical, bool meta)
{
	uint64_t loss;

	if (pool->parity == 0 || (pool->special &&
	    (meta || physical <= pool->special_most)))
		return zfs_round_up(physical, (uint64_t)1 << pool->ashift);
	/* for each 512 bytes, as vdev_deflate_ratio */
	loss = USUAL / (on_disks(pool, USUAL) / ZFS_SECTOR);
	return on_disks(pool, physical) / ZFS_SECTOR * loss;
}

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

unsigned
zfs_packer_number(const struct packer_name *name)
{
	enum { LZJB = 3, GZIP = 4, ZLE = 14, ZSTD = 16 };

	return name->kind == NULL ? ZFS_PACKER_OFF : is(name, "lzjb") ? LZJB :
	    is(name, "gzip") ? GZIP + (unsigned)name->level :
	    is(name, "zle") ? ZLE : is(name, "lz4") ? ZFS_PACKER_LZ4 : ZSTD;
}

/* Counts blocks of the given size, stored in whole sectors. */
static void
count_stored(const struct zfs_pool *pool, uint64_t physical, uint64_t count,
    struct zfs_space *sum)
{
	uint64_t allocated = pool->copies * zfs_allocated(pool, physical,
	    false);

	sum->physical_B += count * physical;
	sum->allocated_B += count * allocated;
	sum->padding_B += count * (allocated > physical ? allocated -
	    physical : 0);
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

/* Returns the size of the header before the compressed bytes. */
static uint32_t
header_of(const struct packer_name *name)
{
	return is(name, "zstd") || is(name, "zstd-fast") ? ZSTD_HEADER :
	    is(name, "lz4") ? LZ4_LENGTH : 0;
}

/* Returns the most that a compressed record may have: seven eighths. */
static uint32_t
most_of(const struct zfs_pool *pool, const struct packer_name *name,
    uint32_t record)
{
	uint32_t most = record - record / 8;
	uint32_t unit = (uint32_t)zfs_unit(pool);

	if (!pool->whole_sectors || (pool->features && is(name, "zle")))
		return most;
	most -= most % unit;
	return pool->features && most < unit ? ZFS_EMBEDDED_MOST : most;
}

bool
zfs_record(const struct zfs_pool *pool, const struct packer_name *name,
    struct packer *p, struct packer *const probes[2], const uint8_t *data,
    uint32_t record, struct zfs_space *sum)
{
	uint32_t most, head;
	uint64_t physical;

	if (name->kind != NULL && zfs_is_zero(data, record))
		return false;
	sum->blocks++;
	sum->logical_B += record;
	if (name->kind == NULL) {
		count_stored(pool, record, 1, sum);
		return false;
	}
	most = most_of(pool, name, record);
	head = header_of(name);
	/* zstd's early abort, if neither lz4 nor zstd-1 makes it smaller */
	if (most <= head || (is(name, "zstd") && pool->features &&
	    pool->early_abort && name->level >= ABORT_LEVEL &&
	    record >= ABORT_RECORD &&
	    packer_pack(probes[0], data, record, most - LZ4_LENGTH) == 0 &&
	    packer_pack(probes[1], data, record, most - ZSTD_HEADER) == 0)) {
		count_stored(pool, record, 1, sum);
		return false;
	}
	physical = packer_pack(p, data, record, most - head);
	physical += physical == 0 ? 0 : head;
	/* embedded in its pointer: uses no space, not even in physical_B */
	if (pool->embeds && physical != 0 && physical <= ZFS_EMBEDDED_MOST)
		return true;
	physical = zfs_round_up(physical, zfs_unit(pool));
	if (physical == 0 || physical >= record)
		physical = record;
	count_stored(pool, physical, 1, sum);
	return false;
}

/*
 * Returns the number that ZFS stores for a level of zstd, or of zstd-fast, whose
 * levels are those to 10 and then each tenth; what levels above 100 write is
 * never as small as to be embedded.
 */
static unsigned
stored_level(int level)
{
	enum { FAST = 102, TEN = FAST + 10 };

	return (unsigned)(level > 0 ? level : level >= -10 ? FAST - level :
	    TEN - 1 - level / 10);
}

size_t
zfs_payload(const struct zfs_pool *pool, const struct packer_name *name,
    struct packer *p, const uint8_t *data, uint32_t record,
    uint8_t out[ZFS_EMBEDDED_MOST])
{
	uint32_t most = most_of(pool, name, record), head = header_of(name);
	size_t n;

	/* with as much room as before, because some packers need more */
	n = most <= head ? 0 : packer_pack(p, data, record, most - head);
	if (n == 0 || n + head > ZFS_EMBEDDED_MOST)
		return 0;
	/* the length and, for zstd, the level and version, big-endian */
	for (unsigned i = 0; i < head; i++)
		out[i] = (uint8_t)((i < LZ4_LENGTH ? n : ZSTD_VERSION |
		    stored_level(name->level) << 24) >> 8 * (3 - i % 4));
	memcpy(out + head, packer_out(p), n);
	return head + n;
}
