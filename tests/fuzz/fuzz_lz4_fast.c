/*
 * fuzz_lz4_fast.c - liblz4 reads our encoder's output, which is within its
 * bound
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/other/lz4_fast.h"

#include "unfold.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t room[256 << 10], back[sizeof(room)];
	size_t n = unfold(data, len, room, sizeof(room)), cap, made;
	struct lz4_fast *f = malloc(sizeof(*f));
	uint8_t *in = malloc(n + (n == 0)), *out;

	cap = (size_t)LZ4_compressBound((int)n);
	out = malloc(cap);
	if (f == NULL || in == NULL || out == NULL)
		abort();
	memcpy(in, room, n);
	made = lz4_fast_block(f, in, n, out);
	if (made > cap || LZ4_decompress_safe((const char *)out, (char *)back,
	    (int)made, (int)sizeof(back)) != (int)n ||
	    memcmp(back, room, n) != 0)
		abort();
	free(f);
	free(in);
	free(out);
	return 0;
}
