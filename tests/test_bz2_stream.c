/*
 * test_bz2_stream.c - finding bzip2 blocks, and rejecting bad streams
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * COLDPRESS_VECTORS names a folder whose subfolder bz2 has streams, good and
 * bad, on which we must agree with libbz2.
 */
#include "bz2_made.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

/* Makes a stream's block begin at every bit, and truncates it at every byte. */
static void
test_alignment(void **state)
{
	struct state *s = *state;
	uint8_t *moved = malloc(PACKED_MAX), *cut, out[3];
	uint32_t crc;
	size_t n;

	assert_non_null(moved);
	make(s, WORDS, 5000);
	n = pack(s, 9, 5000, SIZE_MAX);
	for (unsigned shift = 0; shift < 24; shift++) {
		struct bz2_join j = { 0 };
		uint8_t lead[3] = { 0 };
		uint64_t bit = shift, end = 0;
		ssize_t got = 0;
		size_t len;

		len = bz2_join_block(&j, lead, shift, 0, moved);
		len += bz2_join_block(&j, s->packed + 4, (n - 4) * 8, 0,
		    moved + len);
		moved[len] = j.rest;
		len += j.rest_bits > 0;
		assert_int_equal(bz2_magic_at(moved, len, bit), BZ2_AT_BLOCK);
		assert_int_equal(bz2_decode_block(s->dec, 9, moved, len, &bit,
		    &crc), 0);
		assert_int_equal(bz2_magic_at(moved, len, bit), BZ2_AT_END);
		for (size_t i = 0; i < 5000; i += (size_t)got) {
			got = bz2_decode_read(s->dec, out, 1 + i % 3);
			assert_true(got > 0);
			assert_memory_equal(out, s->data + i, got);
		}
		assert_int_equal(bz2_decode_read(s->dec, out, 1), 0);
		end = bit;
		for (len = 0; len * 8 < end; len++) {
			/* a copy, to detect reading beyond the end */
			cut = malloc(len + 1);
			assert_non_null(cut);
			memcpy(cut, moved, len);
			bit = shift;
			assert_int_equal(bz2_decode_block(s->dec, 9, cut, len,
			    &bit, &crc), -ENODATA);
			assert_int_equal(bit, shift);
			free(cut);
		}
	}
	free(moved);
}

static void
test_scan(void **state)
{
	static const uint64_t magics[] = { BZ2_MAGIC_BLOCK, BZ2_MAGIC_END };
	struct state *s = *state;
	struct bz2_scan scan;
	uint64_t found;

	bz2_scan_init(&scan);
	for (uint64_t at = 0; at + 48 <= 64 * 8; at++)
		for (int m = 0; m < 2; m++) {
			uint8_t buf[64];

			for (size_t i = 0; i < sizeof(buf); i++)
				buf[i] = (uint8_t)(number(s) & 0xee);
			for (unsigned i = 0; i < 48; i++) {
				uint64_t bit = at + i;
				uint8_t mask = (uint8_t)(0x80 >> bit % 8);

				buf[bit / 8] &= (uint8_t)~mask;
				if ((magics[m] >> (47 - i) & 1) != 0)
					buf[bit / 8] |= mask;
			}
			assert_int_equal(bz2_scan_next(&scan, buf, 64, 0,
			    &found), m + 1);
			assert_int_equal(found, at);
			assert_int_equal(bz2_scan_next(&scan, buf, 64, at,
			    &found), m + 1);
			assert_int_equal(bz2_scan_next(&scan, buf, 64, at + 1,
			    &found), 0);
			/* with a byte missing, it is not a trailer */
			assert_int_equal(bz2_scan_next(&scan, buf,
			    (size_t)(at + 47) / 8, 0, &found), 0);
		}
}

/* The scan finds all blocks in a stream, in order. */
static void
test_scan_stream(void **state)
{
	struct state *s = *state;
	uint64_t bit = 0, next = 32, found;
	struct bz2_scan scan;
	uint32_t crc;
	size_t n;
	int at;

	bz2_scan_init(&scan);
	make(s, WORDS, 1000000);
	n = pack(s, 1, 1000000, SIZE_MAX);
	while ((at = bz2_scan_next(&scan, s->packed, n, bit, &found)) ==
	    BZ2_AT_BLOCK) {
		assert_int_equal(found, next);
		assert_int_equal(bz2_decode_block(s->dec, 1, s->packed, n,
		    &next, &crc), 0);
		bit = found + 1;
	}
	assert_int_equal(at, BZ2_AT_END);
	assert_int_equal(found, next);
}

/*
 * Good streams with one or a few bits flipped get the same verdict from both.
 */
static void
test_damage(void **state)
{
	struct state *s = *state;
	uint8_t bad[4096];
	size_t n = 0;

	for (int i = 0; i < 20000; i++) {
		if (i % 500 == 0) {
			make(s, i / 500 % KINDS, 1 + number(s) % 700);
			n = pack(s, 1 + i / 500 % 2 * 8, 1 + number(s) % 700,
			    SIZE_MAX);
			assert_true(n < sizeof(bad));
		}
		memcpy(bad, s->packed, n);
		for (unsigned k = number(s) % 3 + 1; k > 0; k--) {
			size_t bit = number(s) % (n * 8);

			bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		assert_same_verdict(s, bad, n);
	}
}

/*
 * A block is cut at each of its bytes: some cuts end with four equal bytes,
 * where a count is missing.
 */
static void
test_missing_count(void **state)
{
	static const uint8_t text[] = "abbbb\1accccb\1\1\1\1\1xyz";
	struct state *s = *state;
	uint8_t block[sizeof(text)];
	struct bz2_join j;
	uint32_t crc;
	int64_t bits;
	size_t n;

	assert_true(bz2_encode_block(s->enc[1], text, 5, s->bits,
	    bz2_encode_bound(1), &crc) == -EINVAL);
	for (size_t i = 0; i < sizeof(text); i++) {
		uint64_t bit = 32;
		ssize_t got;

		n = bz2_join_header(&j, 1, s->packed);
		bits = bz2_encode_block(s->enc[1], text, sizeof(text), s->bits,
		    bz2_encode_bound(1), &crc);
		n += bz2_join_block(&j, s->bits, (uint64_t)bits, crc,
		    s->packed + n);
		n += bz2_join_trailer(&j, s->packed + n);
		/* the 24-bit origin follows the magic, the CRC and one bit */
		s->packed[4 + 10] &= 0x80;
		s->packed[4 + 11] = 0;
		s->packed[4 + 12] = (uint8_t)(i >> 1);
		s->packed[4 + 13] = (uint8_t)((s->packed[4 + 13] & 0x7f) |
		    i << 7);
		assert_same_verdict(s, s->packed, n);
		assert_int_equal(bz2_decode_block(s->dec, 1, s->packed, n,
		    &bit, &crc), 0);
		do
			got = bz2_decode_read(s->dec, block, 1);
		while (got > 0);
		assert_int_equal(got, s->own.good ? 0 : -EBADMSG);
	}
}

static void
test_limits(void **state)
{
	struct state *s = *state;
	uint64_t bit = 32;
	uint32_t crc;
	size_t n;

	assert_null(bz2_encoder_new(0));
	assert_null(bz2_encoder_new(10));
	assert_null(bz2_decoder_new(0));
	assert_null(bz2_decoder_new(10));
	assert_true(bz2_encoder_memory(9) < 20 << 20);
	assert_true(bz2_decoder_memory(9) < 8 << 20);
	assert_true(bz2_encode_block(s->enc[9], s->data, 0, s->bits,
	    bz2_encode_bound(9), &crc) == -EINVAL);
	assert_true(bz2_encode_block(s->enc[1], s->data, bz2_rle_cap(1) + 1,
	    s->bits, bz2_encode_bound(9), &crc) == -EINVAL);
	assert_true(bz2_encode_block(s->enc[1], s->data, 1, s->bits,
	    bz2_encode_bound(1) - 1, &crc) == -EINVAL);
	/* a block that is too long for its stream's level */
	make(s, NOISE, 300000);
	n = pack(s, 9, 300000, SIZE_MAX);
	assert_int_equal(bz2_decode_block(s->dec, 2, s->packed, n, &bit, &crc),
	    -EBADMSG);
	assert_int_equal(bz2_decode_block(s->dec, 0, s->packed, n, &bit, &crc),
	    -EINVAL);
	assert_int_equal(bz2_decode_block(s->dec, 3, s->packed, n, &bit, &crc),
	    0);
}

enum { GROUP = 50 };	/* symbols with one table */

/* Adds n bits, highest first, at *at. */
static void
put_bits(uint8_t *p, size_t *at, uint64_t v, unsigned n)
{
	for (; n > 0; n--, ++*at)
		p[*at / 8] |= (uint8_t)((v >> (n - 1) & 1) << (7 - *at % 8));
}

/*
 * Makes the first fifty symbols of a block with two bytes, which end with the
 * digits of a run, and the stream.  Returns its length.
 */
static size_t
make_run(uint8_t *p, unsigned digits)
{
	size_t at = 0;

	memset(p, 0, 64);
	put_bits(p, &at, 0x425a6831, 32);
	put_bits(p, &at, BZ2_MAGIC_BLOCK, 48);
	/* a CRC, not randomised, the origin */
	put_bits(p, &at, 0, 32 + 1 + 24);
	/* 'a' and 'b' */
	put_bits(p, &at, 1 << 9, 16);
	put_bits(p, &at, 3 << 13, 16);
	/* two tables, seven groups of the first, and codes of two bits */
	put_bits(p, &at, 2, 3);
	put_bits(p, &at, 7, 15);
	put_bits(p, &at, 0, 7);
	for (int i = 0; i < 2; i++)
		put_bits(p, &at, 2 << 4, 5 + 4);
	/* 2: the other byte; 0: one more, or as many as those before */
	for (unsigned i = 0; i < GROUP; i++)
		put_bits(p, &at, i < GROUP - digits ? 2 : 0, 2);
	assert_int_equal(at % 8, 0);
	return at / 8;
}

/*
 * A run with more digits than a block's size has is refused before more input
 * is there, as by libbz2.
 */
static void
test_long_run(void **state)
{
	struct state *s = *state;
	uint8_t p[64];

	for (unsigned digits = 1; digits < GROUP; digits++) {
		bz_stream z = { .next_in = (char *)p,
		    .next_out = (char *)s->data, .avail_out = DATA_MAX };
		size_t len = make_run(p, digits);
		uint64_t bit = 32;
		uint32_t crc;
		int theirs;

		z.avail_in = (unsigned)len;
		assert_int_equal(BZ2_bzDecompressInit(&z, 0, 0), BZ_OK);
		theirs = BZ2_bzDecompress(&z);
		BZ2_bzDecompressEnd(&z);
		assert_int_equal(theirs, digits > 21 ? BZ_DATA_ERROR : BZ_OK);
		assert_int_equal(bz2_decode_block(s->dec, 1, p, len, &bit,
		    &crc), theirs == BZ_OK ? -ENODATA : -EBADMSG);
	}
}

static void
judge_file(struct state *s, const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	assert_non_null(f);
	n = fread(s->packed, 1, PACKED_MAX, f);
	fclose(f);
	judge_own(s->dec, &s->own, s->packed, n);
	judge_lib(&s->lib, s->packed, n);
	if (!judge_agree(&s->own, &s->lib))
		fail_msg("%s: libbz2 says %d, we %d", path, s->lib.good,
		    s->own.good);
}

static void
test_vectors(void **state)
{
	const char *root = getenv("COLDPRESS_VECTORS");
	char path[4096];
	const struct dirent *e;
	int count = 0;
	DIR *dir;

	if (root == NULL)
		skip();
	snprintf(path, sizeof(path), "%s/bz2", root);
	dir = opendir(path);
	if (dir == NULL)
		skip();
	while ((e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/bz2/%s", root, e->d_name);
		judge_file(*state, path);
		count++;
	}
	closedir(dir);
	assert_true(count > 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_scan_stream),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_missing_count),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_long_run),
		cmocka_unit_test(test_vectors),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
