/*
 * test_bz2_block.c - bzip2 by blocks; libbz2 knows what is right
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * COLDPRESS_VECTORS: a folder with a folder bz2 of streams, good and bad, all
 * of which must be judged as libbz2 judges them.
 */
#include "bz2_judge.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

enum {
	DATA_MAX = 3000000,
	PACKED_MAX = 4000000
};

struct state {
	struct bz2_decoder *dec;
	struct bz2_encoder *enc[BZ2_LEVEL_MAX + 1];
	uint8_t *data, *packed, *block, *bits;
	struct verdict own, lib;
	uint64_t seed;
};

/* xorshift64*: the same numbers on every machine. */
static uint32_t
number(struct state *s)
{
	s->seed ^= s->seed >> 12;
	s->seed ^= s->seed << 25;
	s->seed ^= s->seed >> 27;
	return (uint32_t)(s->seed * UINT64_C(0x2545f4914f6cdd1d) >> 32);
}

static int
setup(void **state)
{
	struct state *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -1;
	s->seed = 1;
	s->dec = bz2_decoder_new(9);
	s->enc[1] = bz2_encoder_new(1);
	s->enc[9] = bz2_encoder_new(9);
	s->data = malloc(DATA_MAX);
	s->packed = malloc(PACKED_MAX);
	s->block = malloc(bz2_rle_cap(9));
	s->bits = malloc(bz2_encode_bound(9));
	*state = s;
	return s->dec == NULL || s->enc[1] == NULL || s->enc[9] == NULL ||
	    s->data == NULL || s->packed == NULL || s->block == NULL ||
	    s->bits == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	struct state *s = *state;

	bz2_decoder_free(s->dec);
	for (int i = 0; i <= BZ2_LEVEL_MAX; i++)
		bz2_encoder_free(s->enc[i]);
	free(s->data);
	free(s->packed);
	free(s->block);
	free(s->bits);
	free(s->own.out);
	free(s->lib.out);
	free(s);
	return 0;
}

/* A stream of s->data[0..len), with its input in pieces; its length. */
static size_t
pack(struct state *s, int level, size_t len, size_t piece)
{
	uint8_t *to = s->packed;
	struct bz2_join j;
	struct bz2_rle r;
	size_t at = 0, n;
	uint32_t crc;

	to += bz2_join_header(&j, level, to);
	do {
		bz2_rle_start(&r, level, s->block);
		while (at < len && !bz2_rle_full(&r)) {
			n = len - at < piece ? len - at : piece;
			at += bz2_rle_fill(&r, s->data + at, n);
		}
		n = bz2_rle_end(&r);
		assert_true(n <= bz2_rle_cap(level));
		if (n > 0) {
			int64_t bits = bz2_encode_block(s->enc[level],
			    s->block, n, s->bits, bz2_encode_bound(9), &crc);

			assert_true(bits > 0);
			to += bz2_join_block(&j, s->bits, (uint64_t)bits, crc,
			    to);
		}
	} while (at < len);
	to += bz2_join_trailer(&j, to);
	return (size_t)(to - s->packed);
}

static void
assert_same_verdict(struct state *s, const uint8_t *in, size_t len)
{
	judge_own(s->dec, &s->own, in, len);
	judge_lib(&s->lib, in, len);
	assert_true(judge_agree(&s->own, &s->lib));
}

/* Packed by us, then by libbz2; unpacked by both; the data each time. */
static void
assert_round_trip(struct state *s, int level, size_t len)
{
	size_t n = pack(s, level, len, SIZE_MAX);
	unsigned lib = PACKED_MAX;

	assert_same_verdict(s, s->packed, n);
	assert_true(s->own.good);
	assert_int_equal(s->own.used, n);
	assert_int_equal(s->own.len, len);
	assert_true(len == 0 || memcmp(s->own.out, s->data, len) == 0);
	assert_int_equal(BZ2_bzBuffToBuffCompress((char *)s->packed, &lib,
	    (char *)s->data, (unsigned)len, level, 0, 0), BZ_OK);
	assert_same_verdict(s, s->packed, lib);
	assert_true(s->own.good);
	/* no larger than a hundredth and a few bytes above it */
	if (n > lib + lib / 100 + 16)
		fail_msg("%zu bytes, libbz2 %u, of %zu", n, lib, len);
}

enum {
	ZEROS, NOISE, LETTERS, PAIRS, TRIPLES, WORDS, FIBONACCI, MORSE, RAMP,
	STEPS, RUNS, COUNTS, PERIOD, COPIES, ONE_OTHER, SKEWED, KINDS
};

static uint8_t
byte_of(struct state *s, int kind, size_t i, size_t len)
{
	const uint8_t *d = s->data;

	switch (kind) {
	case NOISE:
		return (uint8_t)number(s);
	case LETTERS:
		return (uint8_t)('a' + number(s) % 4);
	case PAIRS:
		return "ab"[i & 1];
	case TRIPLES:
		return "aab"[i % 3];
	case WORDS:
		return number(s) % 6 == 0 || i < 3000 ?
		    (uint8_t)(' ' + number(s) % 90) :
		    d[i - 1 - number(s) % 7 * (i % 400)];
	case MORSE:
		return (uint8_t)__builtin_parityll(i);
	case RAMP:
		return (uint8_t)i;
	case STEPS:
		return (uint8_t)(i / 4);
	case RUNS:
		return i > 0 && number(s) % 100 != 0 ? d[i - 1] :
		    (uint8_t)number(s);
	case COUNTS:
		/* runs of the byte that is the count of long runs */
		return number(s) % 2000 == 0 ? (uint8_t)number(s) : 251;
	case PERIOD:
		return i < 1000 ? (uint8_t)number(s) : d[i - 1000];
	case COPIES:
		return i < len / 2 ? (uint8_t)(number(s) % 50) :
		    d[i - len / 2];
	case ONE_OTHER:
		return i == len / 2;
	case SKEWED:
		return (uint8_t)__builtin_ctz(number(s) | 1U << 30);
	default:
		return 0;
	}
}

static void
make(struct state *s, int kind, size_t len)
{
	if (kind == FIBONACCI) {
		size_t a = 1, b = 2;

		memcpy(s->data, "ab", 2);
		for (; b < len; a = b - a) {
			size_t n = a < len - b ? a : len - b;

			memcpy(s->data + b, s->data, n);
			b += n;
		}
		return;
	}
	for (size_t i = 0; i < len; i++)
		s->data[i] = byte_of(s, kind, i, len);
}

static void
test_small(void **state)
{
	struct state *s = *state;

	for (int kind = 0; kind < KINDS; kind++)
		for (size_t len = 0; len < 600; len += 1 + len / 40) {
			make(s, kind, len);
			assert_round_trip(s, 1, len);
		}
	for (int i = 0; i < 5000; i++) {
		size_t len = number(s) % 40;
		unsigned letters = 1 + number(s) % 4;

		for (size_t k = 0; k < len; k++)
			s->data[k] = (uint8_t)(number(s) % letters);
		assert_round_trip(s, 1, len);
	}
}

/* Pieces of what was before, at any length: deep repeats. */
static void
test_repeats(void **state)
{
	struct state *s = *state;

	for (int i = 0; i < 200; i++) {
		size_t len = 0, seed = 2 + number(s) % 900;

		make(s, (int)(number(s) % KINDS), seed);
		for (len = seed; len < 60000;) {
			size_t from = number(s) % 4 == 0 ?
			    number(s) % len : 0;
			size_t n = number(s) % (len - from) + 1;

			if (n > 60000 - len)
				n = 60000 - len;
			memmove(s->data + len, s->data + from, n);
			len += n;
			if (number(s) % 3 == 0)
				s->data[len - 1] = (uint8_t)number(s);
		}
		assert_round_trip(s, 1, len);
	}
}

static void
test_large(void **state)
{
	struct state *s = *state;

	for (int kind = 0; kind < KINDS; kind++) {
		make(s, kind, 2000003);
		assert_round_trip(s, 9, 2000003);
		assert_round_trip(s, 1, 250001);
	}
	/* a block that is just full, and its neighbours */
	make(s, NOISE, 900100);
	for (size_t len = bz2_rle_cap(9) - 6; len < bz2_rle_cap(9) + 3; len++)
		assert_round_trip(s, 9, len);
}

/* Where a block is cut must not depend on the pieces of the input. */
static void
test_pieces(void **state)
{
	struct state *s = *state;
	uint8_t *whole = malloc(PACKED_MAX);

	assert_non_null(whole);
	for (int kind = 0; kind < KINDS; kind++) {
		static const size_t pieces[] = { 1, 2, 3, 7, 4096 };
		size_t len = 220000, n;

		make(s, kind, len);
		n = pack(s, 1, len, SIZE_MAX);
		memcpy(whole, s->packed, n);
		for (size_t i = 0; i < 5; i++) {
			assert_int_equal(pack(s, 1, len, pieces[i]), n);
			assert_memory_equal(whole, s->packed, n);
		}
	}
	free(whole);
}

/* Every length of a run, at every distance from the end of a block. */
static void
test_run_lengths(void **state)
{
	struct state *s = *state;

	for (size_t run = 1; run < 1030; run += run < 12 ? 1 : 83) {
		memset(s->data, 'x', 2000);
		memset(s->data + 3, 'y', run);
		assert_round_trip(s, 1, 3 + run);
		assert_round_trip(s, 1, 4 + run);
	}
	for (size_t before = 0; before < 12; before++) {
		size_t at = bz2_rle_cap(1) - before;

		for (size_t i = 0; i < at; i++)
			s->data[i] = (uint8_t)(i * 7);
		memset(s->data + at, 'z', 300);
		for (size_t run = 1; run < 300; run += 1 + run / 3)
			assert_round_trip(s, 1, at + run);
	}
}

/* The block of a stream at every bit, and cut short at every byte. */
static void
test_alignment(void **state)
{
	struct state *s = *state;
	uint8_t *moved = malloc(PACKED_MAX), *cut;
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
			got = bz2_decode_read(s->dec, s->own.out, 1 + i % 3);
			assert_true(got > 0);
			assert_memory_equal(s->own.out, s->data + i, got);
		}
		assert_int_equal(bz2_decode_read(s->dec, s->own.out, 1), 0);
		end = bit;
		for (len = 0; len * 8 < end; len++) {
			/* a copy, for a reader beyond the end to be seen */
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
			/* cut by a byte, it is none */
			assert_int_equal(bz2_scan_next(&scan, buf,
			    (size_t)(at + 47) / 8, 0, &found), 0);
		}
}

/* All blocks of a stream are found by the scan, in order. */
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

/* Bits of good streams flipped, one or a few: the same judgement. */
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
 * A block that begins at each of its bytes: some then end with four equal
 * ones, where a count is missing.
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
		/* the origin, of 24 bits, is after magic, crc and one bit */
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
	/* a block that is too long for the level of its stream */
	make(s, NOISE, 300000);
	n = pack(s, 9, 300000, SIZE_MAX);
	assert_int_equal(bz2_decode_block(s->dec, 2, s->packed, n, &bit, &crc),
	    -EBADMSG);
	assert_int_equal(bz2_decode_block(s->dec, 0, s->packed, n, &bit, &crc),
	    -EINVAL);
	assert_int_equal(bz2_decode_block(s->dec, 3, s->packed, n, &bit, &crc),
	    0);
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_run_lengths),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_scan_stream),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_missing_count),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_vectors),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
