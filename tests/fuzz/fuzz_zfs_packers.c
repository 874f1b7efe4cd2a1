/*
 * fuzz_zfs_packers.c - LZJB and ZLE on any bytes; round trips, including LZ4
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/other/zfs_blocks.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
there_and_back(const uint8_t *data, size_t size, uint8_t *packed, uint8_t *out)
{
	uint16_t table[LZJB_TABLE];
	size_t n = lzjb_compress(data, size, packed, 2 * size + 64, table);

	if (n == 0 || lzjb_decompress(packed, n, out, size) != 0 ||
	    memcmp(out, data, size) != 0)
		abort();
	n = zle_compress(data, size, packed, 2 * size + 64, 0);
	if (n == 0 || zle_decompress(packed, n, out, size) != 0 ||
	    memcmp(out, data, size) != 0)
		abort();
}

/* Compresses into ample space, then into less than the result needs. */
static void
lz4_of_zfs(const uint8_t *data, size_t size, uint8_t *packed, uint8_t *out)
{
	uint32_t table[LZ4_ZFS_TABLE];
	size_t n = lz4_zfs_compress(data, size, packed, 2 * size + 64, table);
	size_t cap = data[0] * n / 256;
	uint8_t *less = malloc(cap + 1);

	if (n == 0 || less == NULL ||
	    LZ4_decompress_safe((const char *)packed, (char *)out, (int)n,
	    (int)size) != (int)size || memcmp(out, data, size) != 0)
		abort();
	less[cap] = 0xa5;
	if (lz4_zfs_compress(data, size, less, cap, table) > cap ||
	    less[cap] != 0xa5)
		abort();
	free(less);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t most = 8 * size + 64;
	uint8_t *packed = malloc(2 * size + 64), *out = malloc(most);

	if (packed == NULL || out == NULL)
		abort();
	lzjb_decompress(data, size, out, most);
	lzjb_decompress(data, size, out, size);
	zle_decompress(data, size, out, most);
	if (size > 0) {
		there_and_back(data, size, packed, out);
		lz4_of_zfs(data, size, packed, out);
	}
	free(packed);
	free(out);
	return 0;
}
