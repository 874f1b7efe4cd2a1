/*
 * fuzz_deflate_strong.c - our deflate encoder's output decodes to its input
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/deflate/deflate_strong.h"

#include "unfold.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/*
 * The input consists of a level, or the search for binaries instead, and
 * instructions for unfold().
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t room[256 << 10], back[sizeof(room)];
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	struct deflate_strong *s;
	uint8_t *in, *out;
	size_t n, cap, made;
	ssize_t got;

	if (len == 0 || d == NULL || deflate_strong_open(&s,
	    DEFLATE_STRONG_MIN + data[0] % 7) != 0) {
		libdeflate_free_decompressor(d);
		return 0;
	}
	n = unfold(data + 1, len - 1, room, sizeof(room));
	cap = deflate_strong_bound(n);
	in = malloc(n + (n == 0));
	out = malloc(cap);
	if (in == NULL || out == NULL)
		abort();
	memcpy(in, room, n);
	got = (data[0] % 8 == 7 ? deflate_strong_run_binary :
	    deflate_strong_run)(s, in, n, true, out, cap);
	if (got <= 0 || libdeflate_deflate_decompress(d, out, (size_t)got,
	    back, sizeof(back), &made) != LIBDEFLATE_SUCCESS || made != n ||
	    memcmp(back, room, n) != 0)
		abort();
	free(in);
	free(out);
	deflate_strong_close(s);
	libdeflate_free_decompressor(d);
	return 0;
}
