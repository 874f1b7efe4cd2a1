/*
 * fuzz_inflater.c - any bytes, fed in any steps, compared with zlib
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../inflate_oracle.h"

#include <stdbool.h>
#include <stdlib.h>

enum { CAP = 1 << 18 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * We reject a header without a code immediately; zlib does so when the code is
 * used.
 */
static bool
bad_further_on(const uint8_t *in, size_t len, uint8_t *out)
{
	uint8_t *more = calloc(1, len + 512);
	struct inflate_result r;

	if (more == NULL)
		abort();
	memcpy(more, in, len);
	r = inflate_by_zlib(more, len + 512, out, CAP);
	free(more);
	return r.rc == -EBADMSG;
}

static void
compare(const uint8_t *in, size_t len, size_t in_step, size_t out_step)
{
	uint8_t *want = malloc(CAP), *got = malloc(CAP);
	struct inflate_result w, g;
	struct inflater *f;

	if (want == NULL || got == NULL || inflater_open(&f) != 0)
		abort();
	w = inflate_by_zlib(in, len, want, CAP);
	g = inflate_in_steps(f, in, len, in_step, got, CAP, out_step);
	/* without room, zlib looks at the next header, and we do not */
	if (w.made < CAP && g.rc != w.rc && (g.rc != -EBADMSG || w.rc != -ENODATA ||
	    !bad_further_on(in, len, want)))
		abort();
	if (w.rc == STREAM_END && (g.used != w.used || g.made != w.made))
		abort();
	if (memcmp(want, got, w.made < g.made ? w.made : g.made) != 0)
		abort();
	inflater_close(f);
	free(want);
	free(got);
}

/*
 * Tests the data itself, and the data compressed by zlib with one bit flipped.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data };
	uint8_t *packed;
	size_t cap, bit;

	if (size < 6)
		return 0;
	compare(data + 6, size - 6, 1 + data[0] * 9u, 1 + data[1] * 13u);
	cap = 2 * size + 64;
	packed = malloc(cap);
	if (packed == NULL || deflateInit2(&z, data[2] % 10, Z_DEFLATED,
	    -MAX_WBITS, 1 + data[3] % 9, data[4] % 5) != Z_OK)
		abort();
	z.avail_in = (uInt)size;
	z.next_out = packed;
	z.avail_out = (uInt)cap;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	compare(packed, z.total_out, 1 + data[0] * 9u, CAP);
	bit = (data[5] + 256u * data[0]) % (z.total_out * 8);
	packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
	compare(packed, z.total_out, CAP, 1 + data[1] * 13u);
	deflateEnd(&z);
	free(packed);
	return 0;
}
