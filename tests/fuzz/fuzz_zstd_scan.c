/*
 * fuzz_zstd_scan.c - frames end where libzstd says, however they come
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte chooses the pieces.  The scan looks at less than libzstd
 * does; but a frame that libzstd can measure, too, must be as long here.
 */
#include "../../src/format/zstd/zstd_scan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The length of the first frame; 0: it does not end; -1: there is none. */
static int64_t
scan(const uint8_t *data, size_t size, size_t piece)
{
	struct zstd_scan z;
	size_t at = 0;
	bool ended = false;

	memset(&z, 0, sizeof(z));
	while (!ended && at < size) {
		size_t n = piece < size - at ? piece : size - at;
		uint8_t *copy = malloc(n);
		int64_t used;

		if (copy == NULL)
			abort();
		memcpy(copy, data + at, n);
		used = zstd_scan(&z, copy, n, &ended);
		free(copy);
		if (used < 0)
			return -1;
		if (used > (int64_t)n || (!ended && used < (int64_t)n))
			abort();
		at += (size_t)used;
	}
	return ended ? (int64_t)at : 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t whole;
	size_t n;

	if (size < 2)
		return 0;
	whole = scan(data + 1, size - 1, size);
	if (scan(data + 1, size - 1, 1 + data[0]) != whole)
		abort();
	n = ZSTD_findFrameCompressedSize(data + 1, size - 1);
	/* libzstd may know frames of older kinds as well */
	if (!ZSTD_isError(n) && whole != -1 && whole != (int64_t)n)
		abort();
	return 0;
}
