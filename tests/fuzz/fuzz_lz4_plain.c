/*
 * fuzz_lz4_plain.c - an LZ4 block has the size implied by its sequences
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../../src/format/lz4/lz4_frame.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char out[ROOM];
	uint8_t *copy = malloc(size + 1);
	int64_t n;
	int made;

	if (copy == NULL)
		abort();
	memcpy(copy, data, size);
	n = lz4_block_plain(copy, size);
	made = LZ4_decompress_safe((const char *)data, out, (int)size, ROOM);
	if (made > 0 && n != made)
		abort();
	free(copy);
	return 0;
}
