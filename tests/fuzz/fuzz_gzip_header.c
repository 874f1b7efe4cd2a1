/*
 * fuzz_gzip_header.c - gzip member headers have the same length as in zlib
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * With fewer bytes, the parser must request more or return the same result.
 */
#include "format/gzip/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like gzip_header_parse(), returns the header's length, 0 or -1. */
static long
theirs(const uint8_t *data, size_t size)
{
	z_stream z = { .next_in = (z_const Bytef *)(uintptr_t)data,
	    .avail_in = (uInt)size };
	gz_header h = { .done = 0 };
	uint8_t out[1];
	long n;
	int rc;

	z.next_out = out;
	z.avail_out = sizeof(out);
	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK ||
	    inflateGetHeader(&z, &h) != Z_OK)
		abort();
	rc = inflate(&z, Z_BLOCK);
	n = h.done == 1 ? (long)z.total_in : rc == Z_DATA_ERROR ? -1 : 0;
	inflateEnd(&z);
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gzip_header h, part;
	int rc = gzip_header_parse(&h, data, size);
	long want = theirs(data, size);

	if ((rc == 1) != (want > 0) || (rc == 1 && h.len != (size_t)want))
		abort();
	/* zlib examines the first four bytes in pairs */
	if (size >= 4 && (rc < 0) != (want < 0))
		abort();
	if (rc == 1 && h.name != NULL &&
	    memchr(h.name, 0, h.len - (size_t)(h.name - (const char *)data))
	    == NULL)
		abort();
	for (size_t n = 0; n < size && n < 64; n++) {
		uint8_t *copy = malloc(n + 1);
		int r;

		if (copy == NULL)
			abort();
		memcpy(copy, data, n);
		r = gzip_header_parse(&part, copy, n);
		if (r != 0 && (r != rc || part.len != h.len))
			abort();
		free(copy);
	}
	return 0;
}
