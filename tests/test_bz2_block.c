/*
 * test_bz2_block.c - bzip2 block by block, both ways, compared with libbz2
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "bz2_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/*
 * Compresses with our coder, then with libbz2, and decompresses with both; the
 * data must be the same.
 */
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
	/* at most 1 % and a few bytes larger */
	if (n > lib + lib / 100 + 16)
		fail_msg("%zu bytes, libbz2 %u, of %zu", n, lib, len);
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

/* Makes deep repeats from pieces of earlier data, of any length. */
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
	/* an exactly full block, and its neighbours */
	make(s, NOISE, 900100);
	for (size_t len = bz2_rle_cap(9) - 6; len < bz2_rle_cap(9) + 3; len++)
		assert_round_trip(s, 9, len);
}

/* How the input is split into pieces must not affect where a block is cut. */
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

/* Tests every run length, at every distance from a block's end. */
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

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_run_lengths),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
