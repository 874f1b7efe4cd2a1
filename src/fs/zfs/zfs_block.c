/*
 * zfs_block.c - metadata blocks in a ZFS dataset, and block pointers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zfs_block.h"

#include "base/bytes.h"

#include <string.h>

enum { PACKER_OFF = 2, PACKER_LZJB = 3, PACKER_GZIP = 10, FLETCHER4 = 7 };

void
zfs_blocks_init(struct zfs_blocks *b, const struct zfs_pool *pool)
{
	b->pool = pool;
	b->seed = 1;
	b->offset = 1 << 16;
	b->copies = 1 << 20;
}

/* This is splitmix64, as published by Steele, Lea and Flood. */
uint64_t
zfs_noise(struct zfs_blocks *b)
{
	uint64_t z = b->seed += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

unsigned
zfs_indirect_shift(const struct zfs_pool *pool)
{
	return pool->features ? ZFS_INDIRECT_NEW : ZFS_INDIRECT_OLD;
}

static uint64_t
round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static size_t
compress(struct zfs_blocks *b, const uint8_t *data, size_t len)
{
	size_t most = len - len / 8;
	size_t n;

	if (!b->pool->features) {
		most = most / ZFS_SECTOR * ZFS_SECTOR;
		return most == 0 ? 0 : lzjb_compress(data, len, b->packed,
		    most, b->lzjb);
	}
	n = lz4_zfs_compress(data, len, b->packed, most - 4, b->lz4);
	return n == 0 ? 0 : n + 4;
}

uint64_t
zfs_blocks_add(struct zfs_blocks *b, const uint8_t *data, size_t len,
    uint64_t many)
{
	uint64_t sector = (uint64_t)1 << b->pool->ashift;
	uint64_t n = compress(b, data, len);

	n = n == 0 ? len : n;
	n = round_up(n, b->pool->features ? sector : ZFS_SECTOR);
	n = n < len ? n : len;
	b->sum.blocks += many;
	b->sum.logical_B += many * n;
	b->sum.physical_B += many * n;
	b->sum.allocated_B += many * ZFS_COPIES * round_up(n, sector);
	return n;
}

/*
 * Writes the fletcher4 checksum of a block: the sum of its words, the sum of
 * these sums, and so on, each with more digits than the previous one.  Unknown
 * contents are assumed to be random.
 */
static void
put_checksum(struct zfs_blocks *blocks, uint8_t *p, const struct zfs_target *t)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (uint64_t i = 0; i < t->stored / 8; i++) {
		uint64_t word = t->data != NULL ? load_le64(t->data + 8 * i) :
		    zfs_noise(blocks);

		d += c += b += a += (uint32_t)word;
		d += c += b += a += word >> 32;
	}
	store_le64(p, a);
	store_le64(p + 8, b);
	store_le64(p + 16, c);
	store_le64(p + 24, d);
}

void
zfs_put_pointer(struct zfs_blocks *b, uint8_t *p, const struct zfs_target *t)
{
	uint64_t sectors = round_up(t->stored,
	    (uint64_t)1 << b->pool->ashift) / ZFS_SECTOR;
	unsigned packer = t->stored == t->size ? PACKER_OFF :
	    t->meta ? PACKER_LZJB : PACKER_GZIP;

	memset(p, 0, ZFS_POINTER);
	store_le64(p, sectors);
	store_le64(p + 8, b->offset);
	b->offset += sectors;
	if (t->meta) {
		/* second copies are stored consecutively in another area */
		store_le64(p + 16, sectors);
		store_le64(p + 24, b->copies);
		b->copies += sectors;
	}
	store_le64(p + 48, (t->size / ZFS_SECTOR - 1) |
	    (t->stored / ZFS_SECTOR - 1) << 16 | (uint64_t)packer << 32 |
	    (uint64_t)FLETCHER4 << 40 | (uint64_t)t->type << 48 |
	    (uint64_t)(t->under > 1) << 56 | (uint64_t)1 << 63);
	store_le64(p + 80, ZFS_TXG);
	store_le64(p + 88, t->under);
	put_checksum(b, p + 96, t);
}

/* Adds one level: the blocks that contain `blocks` pointers. */
static uint64_t
add_level(struct zfs_blocks *b, uint64_t blocks, uint64_t room,
    const struct zfs_target *t)
{
	size_t len = (size_t)room * ZFS_POINTER;
	uint64_t whole = blocks / room, rest = blocks % room, stored;

	memset(b->block, 0, len);
	for (uint64_t i = 0; i < (whole > 0 ? room : rest); i++)
		zfs_put_pointer(b, b->block + i * ZFS_POINTER, t);
	stored = zfs_blocks_add(b, b->block, len, whole > 0 ? whole : 1);
	if (whole > 0 && rest > 0) {
		memset(b->block + rest * ZFS_POINTER, 0,
		    len - rest * ZFS_POINTER);
		zfs_blocks_add(b, b->block, len, 1);
	}
	return stored;
}

void
zfs_add_indirect(struct zfs_blocks *b, uint64_t blocks, struct zfs_target *t,
    unsigned levels)
{
	size_t len = (size_t)1 << zfs_indirect_shift(b->pool);
	uint64_t room = len / ZFS_POINTER, under = blocks;

	for (unsigned level = 0; level < levels || blocks > 1; level++) {
		t->stored = add_level(b, blocks, room, t);
		blocks = blocks / room + (blocks % room > 0);
		t->size = len;
		t->meta = true;
		t->under = room < under ? room : under;
	}
	t->under = under;
}
