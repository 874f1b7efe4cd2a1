/*
 * btrfs.c - the space used by pieces of files on btrfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Without compress-force, btrfs first samples 16 of every 256 bytes, to decide
 * whether it tries to compress a piece.
 */
#include "btrfs.h"

#include <stdlib.h>
#include <string.h>

enum {
	TAKE = 16,
	EVERY = 256,
	SAMPLE = BTRFS_PIECE / EVERY * TAKE,
	FEW_BYTES = 64,			/* fewer distinct bytes: compressible */
	CORE_LOW = 64, CORE_HIGH = 200,	/* number of distinct bytes that make up
					 * nine tenths */
	ENTROPY_HIGH = 80		/* percent */
};

static uint32_t
round_up(uint32_t n)
{
	return (n + BTRFS_SECTOR - 1) / BTRFS_SECTOR * BTRFS_SECTOR;
}

/* Counts one more extent, or the bytes in a leaf. */
static void
add_extent(struct btrfs_chunk *c, uint32_t len, uint32_t stored)
{
	c->logical_B += round_up(len);
	c->physical_B += round_up(stored);
	c->filled_B += stored;
	c->extents++;
}

static void
put_in_leaf(struct btrfs_chunk *c, uint32_t len, uint32_t stored)
{
	*c = (struct btrfs_chunk){ .logical_B = len, .physical_B = stored,
	    .filled_B = stored, .in_leaf = true, .failed = c->failed };
}

void
btrfs_plain(bool first, uint32_t len, struct btrfs_chunk *c)
{
	*c = (struct btrfs_chunk){ .extents = 0 };
	if (first && len <= BTRFS_INLINE)
		put_in_leaf(c, len, len);
	else
		add_extent(c, len, len);
}

void
btrfs_pack(struct packer *p, const uint8_t *data, uint64_t offset,
    uint64_t size, const bool good[BTRFS_PIECES], struct btrfs_chunk *c)
{
	uint32_t len = size - offset < BTRFS_CHUNK ?
	    (uint32_t)(size - offset) : BTRFS_CHUNK;
	uint32_t at = 0, n, packed;

	*c = (struct btrfs_chunk){ .extents = 0 };
	for (; at < len && good[at / BTRFS_PIECE]; at += n) {
		bool first = offset + at == 0;

		n = len - at < BTRFS_PIECE ? len - at : BTRFS_PIECE;
		/* one sector cannot shrink, but it may fit into a leaf */
		if (!first && n <= BTRFS_SECTOR)
			break;
		packed = (uint32_t)packer_pack(p, data + at, n, round_up(n));
		if (packed != 0 && first && n <= BTRFS_SECTOR &&
		    packed <= BTRFS_INLINE) {
			put_in_leaf(c, n, packed);
			continue;
		}
		c->failed = packed == 0 ||
		    round_up(packed) + BTRFS_SECTOR > round_up(n);
		if (c->failed)
			break;
		add_extent(c, n, packed);
	}
	if (at < len && offset == 0 && at == 0 && len <= BTRFS_INLINE)
		put_in_leaf(c, len, len);
	else if (at < len)
		add_extent(c, len - at, len - at);
}

static int
by_count(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Returns four times the base-2 logarithm of n, truncated. */
static uint32_t
log2_quarters(uint64_t n)
{
	n = n * n * n * n;
	return 63 - (uint32_t)__builtin_clzll(n);
}

bool
btrfs_looks_good(const uint8_t *piece, uint32_t len)
{
	uint8_t sample[SAMPLE];
	uint32_t counts[256] = { 0 }, n = 0, sum = 0, of_all;
	unsigned different = 0, core = 0;

	for (uint32_t at = 0; at < round_up(len); at += EVERY, n += TAKE)
		memcpy(sample + n, piece + at, TAKE);
	if (memcmp(sample, sample + n / 2, n / 2) == 0)
		return true;
	for (uint32_t i = 0; i < n; i++)
		different += counts[sample[i]]++ == 0;
	if (different < FEW_BYTES)
		return true;
	/* how many of the most common byte values make up nine tenths */
	qsort(counts, 256, sizeof(counts[0]), by_count);
	while (core < CORE_LOW)
		sum += counts[core++];
	while (sum <= n * 90 / 100 && core < CORE_HIGH && counts[core] != 0)
		sum += counts[core++];
	if (core <= CORE_LOW || core >= CORE_HIGH)
		return core <= CORE_LOW;
	/* the entropy, as a percentage of eight bits per byte */
	of_all = log2_quarters(n);
	sum = 0;
	for (unsigned i = 0; i < 256 && counts[i] != 0; i++)
		sum += counts[i] * (of_all - log2_quarters(counts[i]));
	return sum / n * 100 / (8 * log2_quarters(2)) < ENTROPY_HIGH;
}
