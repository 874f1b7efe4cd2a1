/*
 * bench_bz2.c - compare the bzip2 coder with libbz2, in one process
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * bench_bz2 FILE [ROUNDS]: compresses FILE block by block at level 9 with both,
 * decompresses libbz2's output with both, alternately, and prints CPU seconds.
 * This is not a test; the timings are not checked.
 */
#include "engine/bzip2/bz2_block.h"

#include <bzlib.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEVEL = 9, OUT_CAP = 1 << 16 };

struct buf {
	uint8_t *p;
	size_t len, cap;
};

static void
reserve(struct buf *b, size_t more)
{
	if (b->cap - b->len >= more)
		return;
	b->cap = (b->len + more) * 2;
	b->p = realloc(b->p, b->cap);
	if (b->p == NULL)
		err(1, NULL);
}

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct buf
slurp(const char *path)
{
	struct buf b = { 0 };
	FILE *f = fopen(path, "rb");
	size_t n;

	if (f == NULL)
		err(1, "%s", path);
	do {
		reserve(&b, 1 << 20);
		n = fread(b.p + b.len, 1, b.cap - b.len, f);
		b.len += n;
	} while (n > 0);
	fclose(f);
	return b;
}

static void
lib_compress(const struct buf *in, struct buf *out)
{
	unsigned len;

	out->len = 0;
	reserve(out, in->len + in->len / 50 + 600);
	len = (unsigned)out->cap;
	if (BZ2_bzBuffToBuffCompress((char *)out->p, &len, (char *)in->p,
	    (unsigned)in->len, LEVEL, 0, 0) != BZ_OK)
		errx(1, "libbz2 does not compress");
	out->len = len;
}

static void
own_compress(struct bz2_encoder *e, const struct buf *in, struct buf *out)
{
	static uint8_t block[BZ2_LEVEL_MAX * BZ2_BLOCK_UNIT];
	size_t cap = bz2_encode_bound(LEVEL), at = 0;
	uint8_t *bits = malloc(cap);
	struct bz2_join j;
	uint32_t crc;

	if (bits == NULL)
		err(1, NULL);
	out->len = 0;
	reserve(out, BZ2_HEADER_BYTES);
	out->len = bz2_join_header(&j, LEVEL, out->p);
	while (at < in->len) {
		struct bz2_rle r;
		int64_t n;

		bz2_rle_start(&r, LEVEL, block);
		at += bz2_rle_fill(&r, in->p + at, in->len - at);
		n = bz2_encode_block(e, block, bz2_rle_end(&r), bits, cap,
		    &crc);
		if (n < 0)
			errx(1, "a block is not encoded");
		reserve(out, (size_t)n / 8 + 64);
		out->len += bz2_join_block(&j, bits, (uint64_t)n, crc,
		    out->p + out->len);
	}
	out->len += bz2_join_trailer(&j, out->p + out->len);
	free(bits);
}

static void
lib_decompress(const struct buf *in, struct buf *out)
{
	unsigned len = (unsigned)out->cap;

	if (BZ2_bzBuffToBuffDecompress((char *)out->p, &len, (char *)in->p,
	    (unsigned)in->len, 0, 0) != BZ_OK)
		errx(1, "libbz2 does not decompress");
	out->len = len;
}

static void
own_decompress(struct bz2_decoder *d, const struct buf *in, struct buf *out)
{
	uint64_t bit = 32;
	uint32_t crc, all = 0, stored;

	out->len = 0;
	while (bz2_magic_at(in->p, in->len, bit) == BZ2_AT_BLOCK) {
		ssize_t n;

		if (bz2_decode_block(d, in->p[3] - '0', in->p, in->len, &bit,
		    &crc) != 0)
			errx(1, "a block is not decoded");
		all = bz2_crc_combine(all, crc);
		while ((n = bz2_decode_read(d, out->p + out->len,
		    OUT_CAP)) > 0)
			out->len += (size_t)n;
		if (n < 0)
			errx(1, "a block is wrong");
	}
	if (bz2_read_trailer(in->p, in->len, &bit, &stored) != 0 ||
	    stored != all)
		errx(1, "the trailer is wrong");
}

int
main(int argc, char *argv[])
{
	int rounds = argc > 2 ? atoi(argv[2]) : 3;
	struct buf in, packed = { 0 }, got = { 0 };
	struct bz2_decoder *d = bz2_decoder_new(LEVEL);
	struct bz2_encoder *e = bz2_encoder_new(LEVEL);

	if (argc < 2 || d == NULL || e == NULL)
		errx(1, "usage: bench_bz2 file [rounds]");
	in = slurp(argv[1]);
	reserve(&got, in.len + OUT_CAP);
	for (int i = 0; i < rounds; i++) {
		double t0 = cpu_s(), t1, t2;
		size_t size;

		own_compress(e, &in, &packed);
		t1 = cpu_s();
		size = packed.len;
		lib_decompress(&packed, &got);
		if (got.len != in.len || memcmp(got.p, in.p, in.len) != 0)
			errx(1, "encoded bytes differ");
		t2 = cpu_s();
		lib_compress(&in, &packed);
		t2 = cpu_s() - t2;
		t1 -= t0;
		printf("encode_s lib %.3f own %.3f ratio %.3f  "
		    "in_B %zu lib_B %zu own_B %zu pct %.2f\n", t2, t1,
		    t1 / t2, in.len, packed.len, size,
		    100.0 * (double)size / (double)packed.len);
	}
	for (int i = 0; i < rounds; i++) {
		double t0 = cpu_s(), t1, t2;

		lib_decompress(&packed, &got);
		t1 = cpu_s();
		own_decompress(d, &packed, &got);
		t2 = cpu_s();
		if (got.len != in.len || memcmp(got.p, in.p, in.len) != 0)
			errx(1, "decoded bytes differ");
		printf("decode_s lib %.3f own %.3f ratio %.3f\n", t1 - t0,
		    t2 - t1, (t2 - t1) / (t1 - t0));
	}
	bz2_encoder_free(e);
	bz2_decoder_free(d);
	free(in.p);
	free(packed.p);
	free(got.p);
	return 0;
}
