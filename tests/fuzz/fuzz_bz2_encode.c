/*
 * fuzz_bz2_encode.c - libbz2 reads our encoder's output, which is within its
 * bound
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte determines how many times the rest, unfolded, is repeated.
 * Few inputs make a full block, because that takes a hundred times as long.
 */
#include "../bz2_judge.h"

#include "unfold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROOM = 128 << 10, SMALL = 2000, LARGE = 70000, LARGE_FROM = 252 };

/* Returns the input of one block, and its length in *n. */
static uint8_t *
encode(struct bz2_encoder *e, const uint8_t *in, size_t len, size_t *n)
{
	size_t cap = bz2_encode_bound(BZ2_LEVEL_MIN), block_len;
	uint8_t *block = malloc(bz2_rle_cap(BZ2_LEVEL_MIN));
	uint8_t *bits = malloc(cap), *out = malloc(cap + 64);
	struct bz2_join j = { .crc = 0 };
	struct bz2_rle r;
	uint32_t crc;
	int64_t got;

	if (block == NULL || bits == NULL || out == NULL)
		abort();
	bz2_rle_start(&r, BZ2_LEVEL_MIN, block);
	if (bz2_rle_fill(&r, in, len) != len)
		abort();
	block_len = bz2_rle_end(&r);
	got = bz2_encode_block(e, block, block_len, bits, cap, &crc);
	if (got <= 0 || (uint64_t)got > 8 * (uint64_t)cap)
		abort();
	*n = bz2_join_header(&j, BZ2_LEVEL_MIN, out);
	*n += bz2_join_block(&j, bits, (uint64_t)got, crc, out + *n);
	*n += bz2_join_trailer(&j, out + *n);
	free(block);
	free(bits);
	return out;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct verdict v;
	static struct bz2_encoder *e;
	uint8_t *in = malloc(ROOM), *out;
	size_t n, once, made, most = len > 0 && data[0] >= LARGE_FROM ? LARGE :
	    SMALL;

	if (e == NULL)
		e = bz2_encoder_new(BZ2_LEVEL_MIN);
	if (in == NULL || e == NULL)
		abort();
	/*
	 * 99,000 bytes may be too many if every four bytes are followed by a
	 * count
	 */
	once = len == 0 ? 0 : unfold(data + 1, len - 1, in, most);
	n = once;
	while (once > 0 && n + once <= most && n < once * (data[0] + 1U)) {
		memcpy(in + n, in, once);
		n += once;
	}
	if (n > 0) {
		out = encode(e, in, n, &made);
		judge_lib(&v, out, made);
		if (!v.good || v.used != made || v.len != n ||
		    memcmp(v.out, in, n) != 0)
			abort();
		free(out);
	}
	free(in);
	return 0;
}
