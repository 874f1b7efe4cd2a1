/*
 * test_deflate_walk_damage.c - damaged and random streams, judged as by zlib
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/deflate/deflate_walk.h"
#include "engine/deflate/inflater.h"

#include "deflate_data.h"
#include "deflate_oracle.h"
#include "rnd.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>
#include <cmocka.h>

/* Uses an exactly allocated buffer, so that a sanitizer detects overruns. */
static void
agrees(const uint8_t *s, size_t len)
{
	struct deflate_last got = { 1, 2 }, want = { 0, 0 };
	uint8_t *copy = malloc(len == 0 ? 1 : len);
	enum oracle o = oracle_walk(s, len, &want);
	int rc;

	assert_non_null(copy);
	memcpy(copy, s, len);
	rc = deflate_walk(copy + (len == 0), len, &got);
	free(copy);
	if (o == ORACLE_GOOD) {
		assert_int_equal(rc, 0);
		assert_int_equal(got.header, want.header);
		assert_int_equal(got.end, want.end);
	} else if (o == ORACLE_BAD) {
		assert_int_equal(rc, -EBADMSG);
		assert_int_equal(got.header, 1);
		assert_int_equal(got.end, 2);
	}
}

static void
damage(const uint8_t *data, size_t n, int level, int strategy)
{
	uint8_t *s = malloc(n + 1000);
	size_t len;

	assert_non_null(s);
	len = strategy < 0 ? lib_deflate(data, n, s, n + 1000, level) :
	    zlib_deflate(data, n, s, n + 1000, level, strategy, 8);
	for (size_t cut = 0; cut < len; cut++)
		agrees(s, cut);
	for (size_t bit = 0; bit < len * 8; bit++) {
		s[bit / 8] ^= (uint8_t)(1U << bit % 8);
		agrees(s, len);
		s[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
	free(s);
}

static void
damaged_streams(void **state)
{
	uint8_t in[4000];

	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		fill(in, sizeof(in), kind);
		damage(in, kind == 1 ? 300 : 2000, 6, -1);
		damage(in, kind == 1 ? 300 : 2000, 12, -1);
		damage(in, kind == 1 ? 100 : 700, 6, Z_FIXED);
		damage(in, kind == 1 ? 100 : 1500, 6, Z_HUFFMAN_ONLY);
		damage(in, 60, 0, Z_DEFAULT_STRATEGY);
	}
}

/* Tests blocks long enough to be walked in several places at a time. */
static void
damaged_long_streams(void **state)
{
	enum { LEN = 60000, ROUNDS = 150 };
	uint8_t *in = malloc(LEN), *s = malloc(MAX);
	uint32_t seed = 99;

	(void)state;
	assert_non_null(in);
	assert_non_null(s);
	for (unsigned i = 0; i < KINDS * 4; i++) {
		size_t len;

		fill(in, LEN, i % KINDS);
		len = i < KINDS ? lib_deflate(in, LEN, s, MAX, 6) :
		    zlib_deflate(in, LEN, s, MAX, 6, i % 2 == 0 ?
		    Z_DEFAULT_STRATEGY : Z_HUFFMAN_ONLY, 9);
		for (unsigned k = 0; k < ROUNDS; k++) {
			size_t bit = rnd(&seed) % (len * 8);

			agrees(s, rnd(&seed) % len);
			s[bit / 8] ^= (uint8_t)(1U << bit % 8);
			agrees(s, len);
			s[bit / 8] ^= (uint8_t)(1U << bit % 8);
		}
	}
	free(in);
	free(s);
}

/* Tests headers that mutations of good streams hardly ever reach. */
static void
random_streams(void **state)
{
	uint32_t seed = 12345;
	uint8_t s[200];

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		size_t len = rnd(&seed) % sizeof(s);

		for (size_t k = 0; k < len; k++)
			s[k] = (uint8_t)rnd(&seed);
		/* This is mostly a final block with dynamic or fixed codes. */
		if (len > 0 && i % 8 != 0)
			s[0] = (uint8_t)((s[0] & ~7U) | (i % 3 == 0 ? 3 : 5));
		agrees(s, len);
	}
}

/* A stream being written, lowest bit first. */
struct bits {
	uint8_t p[512];
	size_t at;
};

static void
put(struct bits *b, unsigned v, unsigned n)
{
	for (; n > 0; n--, v >>= 1, b->at++)
		b->p[b->at / 8] |= (uint8_t)((v & 1) << b->at % 8);
}

/* Puts a symbol of the precode: 0 to 12 have four bits, the others five. */
static void
put_pre(struct bits *b, unsigned symbol)
{
	unsigned len = symbol < 13 ? 4 : 5;
	unsigned code = symbol < 13 ? symbol : symbol + 13;

	for (; len > 0; len--)
		put(b, code >> (len - 1), 1);
}

/*
 * Makes a block without data, whose first three symbols have codes of v bits.
 * They are written, or "the same as before", of which there is none.
 */
static void
make_repeated(struct bits *b, unsigned v, bool before)
{
	static const uint8_t order[] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11,
		4, 12, 3, 13, 2, 14, 1, 15 };
	unsigned i = 3, end = v == 0 ? 1 : v;

	memset(b, 0, sizeof(*b));
	put(b, 5, 3);			/* the last block, dynamic codes, */
	put(b, 15 << 10, 14);		/* as few as possible, 19 lengths */
	for (size_t k = 0; k < sizeof(order); k++)
		put(b, order[k] < 13 ? 4 : 5, 3);
	if (before) {
		put_pre(b, 16);
		put(b, 0, 2);
	} else {
		for (unsigned k = 0; k < 3; k++)
			put_pre(b, v);
	}
	/* what completes the code */
	for (unsigned len = 1; len + 2 <= v; len++, i++)
		put_pre(b, len);
	for (; i < 255; i++)
		put_pre(b, 0);
	put_pre(b, v == 0 ? 1 : 0);
	put_pre(b, end);
	put_pre(b, 1);
	/* the end of the block has the last code: all ones */
	put(b, (1u << end) - 1, end);
}

/* A length that repeats the one before the first */
static void
repeats_nothing(void **state)
{
	uint8_t out[16];
	struct bits b;
	struct inflater *f;

	(void)state;
	assert_int_equal(inflater_open(&f), 0);
	for (unsigned v = 0; v < 16; v++)
		for (unsigned before = v == 1; before < 2; before++) {
			struct stream_io io = { .in = b.p, .out = out,
			    .out_len = sizeof(out), .eof = true };
			struct deflate_last last;
			size_t len;

			make_repeated(&b, v, before);
			len = (b.at + 7) / 8;
			assert_int_equal(oracle_walk(b.p, len, &last),
			    before ? ORACLE_BAD : ORACLE_GOOD);
			agrees(b.p, len);
			io.in_len = len;
			inflater_start(f);
			assert_int_equal(inflater_run(f, &io),
			    before ? -EBADMSG : STREAM_END);
		}
	inflater_close(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_streams),
		cmocka_unit_test(damaged_long_streams),
		cmocka_unit_test(random_streams),
		cmocka_unit_test(repeats_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
