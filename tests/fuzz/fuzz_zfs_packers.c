/*
 * fuzz_zfs_packers.c - LZJB and ZLE: any bytes in, and there and back
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../../src/fs/lzjb.h"
#include "../../src/fs/zle.h"

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
	n = zle_compress(data, size, packed, 2 * size + 64);
	if (n == 0 || zle_decompress(packed, n, out, size) != 0 ||
	    memcmp(out, data, size) != 0)
		abort();
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
	if (size > 0)
		there_and_back(data, size, packed, out);
	free(packed);
	free(out);
	return 0;
}
