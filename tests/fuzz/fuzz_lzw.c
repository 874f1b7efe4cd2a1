/*
 * fuzz_lzw.c - the .Z decoder, with its input divided in different ways
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first two bytes select the pieces; the rest is a stream without its
 * magic.  One pass uses all of the input and large pieces of output, the other
 * small pieces of both; result, length and content must be equal.
 */
#include "engine/other/lzw.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 20 };

struct result {
	int rc;
	size_t len;
	uint64_t hash;
};

static void
hash(struct result *r, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r->hash = (r->hash ^ p[i]) * 0x100000001b3;
	r->len += n;
}

/*
 * Decoding stops after MOST bytes, because the rest of a decompression bomb
 * would not reveal more errors.
 */
static struct result
decode(const uint8_t *in, size_t len, size_t in_piece, size_t out_piece)
{
	struct result r = { .hash = 0xcbf29ce484222325 };
	struct stream_io io = { .in = in };
	uint8_t *out = malloc(out_piece);
	size_t at = 0;
	void *z;

	if (out == NULL || lzw_stream.open(&z, 0) != 0)
		abort();
	do {
		size_t n = in_piece < len - at ? in_piece : len - at;

		io = (struct stream_io){ in + at, n, out, out_piece,
		    at + n == len };
		r.rc = lzw_stream.run(z, &io);
		if (r.rc == STREAM_MORE && io.in_len > 0 && io.out_len > 0)
			abort();
		at += n - io.in_len;
		n = out_piece - io.out_len;
		if (n > MOST - r.len)
			n = MOST - r.len;
		hash(&r, out, n);
	} while (r.rc == STREAM_MORE && r.len < MOST);
	if (r.len == MOST)
		r.rc = 0;
	lzw_stream.close(z);
	free(out);
	return r;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct result a, b;
	uint8_t *in;

	if (size < 2)
		return 0;
	in = malloc(size);
	if (in == NULL)
		abort();
	in[0] = 0x1f;
	in[1] = 0x9d;
	memcpy(in + 2, data + 2, size - 2);
	a = decode(in, size, size, 65536);
	b = decode(in, size, 1 + data[0] % 32U, 1 + data[1]);
	if (a.rc != b.rc || a.len != b.len || a.hash != b.hash)
		abort();
	free(in);
	return 0;
}
