/*
 * test_deflate_walk_damage.c - damaged and random streams, judged as by zlib
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/deflate/deflate_walk.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_streams),
		cmocka_unit_test(damaged_long_streams),
		cmocka_unit_test(random_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
