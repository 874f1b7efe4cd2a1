/*
 * btrfs_sample.c - deciding whether btrfs tries to compress a piece
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Without compress-force, btrfs first samples 16 of every 256 bytes.
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
collect(const uint8_t *piece, uint32_t len, uint8_t *sample)
{
	uint32_t whole = (len + BTRFS_SECTOR - 1) / BTRFS_SECTOR *
	    BTRFS_SECTOR, n = 0;

	for (uint32_t at = 0; at < whole; at += EVERY, n += TAKE)
		memcpy(sample + n, piece + at, TAKE);
	return n;
}

static int
by_count(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/*
 * Returns how many of the most common byte values make up nine tenths.  counts
 * are in descending order.
 */
static unsigned
core(const uint32_t counts[256], uint32_t n)
{
	uint32_t sum = 0, most = n * 90 / 100;
	unsigned i = 0;

	while (i < CORE_LOW)
		sum += counts[i++];
	while (sum <= most && i < CORE_HIGH && counts[i] != 0)
		sum += counts[i++];
	return i;
}

/* Returns four times the base-2 logarithm of n, truncated. */
static uint32_t
log2_quarters(uint64_t n)
{
	n = n * n * n * n;
	return 63 - (uint32_t)__builtin_clzll(n);
}

/* Returns the entropy as a percentage of eight bits per byte. */
static uint32_t
entropy(const uint32_t counts[256], uint32_t n)
{
	uint32_t of_all = log2_quarters(n), sum = 0;

	for (unsigned i = 0; i < 256 && counts[i] != 0; i++)
		sum += counts[i] * (of_all - log2_quarters(counts[i]));
	return sum / n * 100 / (8 * log2_quarters(2));
}

bool
btrfs_looks_good(const uint8_t *piece, uint32_t len)
{
	uint8_t sample[SAMPLE];
	uint32_t counts[256] = { 0 }, n = collect(piece, len, sample);
	unsigned different = 0, few;

	if (memcmp(sample, sample + n / 2, n / 2) == 0)
		return true;
	for (uint32_t i = 0; i < n; i++)
		different += counts[sample[i]]++ == 0;
	if (different < FEW_BYTES)
		return true;
	qsort(counts, 256, sizeof(counts[0]), by_count);
	few = core(counts, n);
	if (few <= CORE_LOW || few >= CORE_HIGH)
		return few <= CORE_LOW;
	return entropy(counts, n) < ENTROPY_HIGH;
}
