/*
 * test_huffman.c - code lengths: least cost, and never above the limit
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/huffman.h"

#include "rnd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/*
 * Returns the minimum cost of n weights, in descending order, with codewords of
 * len to most bits that use up `room` of the 1 << most codewords.
 */
static uint64_t
least_cost(const uint32_t *w, unsigned n, unsigned len, unsigned most,
    uint32_t room)
{
	uint64_t best = UINT64_MAX;

	if (n == 0)
		return room == 0 ? 0 : best;
	for (; len <= most; len++) {
		uint32_t one = 1U << (most - len);
		uint64_t rest;

		if (one * n < room || one > room)
			continue;
		rest = least_cost(w + 1, n - 1, len, most, room - one);
		if (rest != UINT64_MAX && rest + (uint64_t)*w * len < best)
			best = rest + (uint64_t)*w * len;
	}
	return best;
}

static void
best_codes(void **state)
{
	uint32_t seed = 4242;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		unsigned n = 2 + rnd(&seed) % 8, most;
		uint32_t w[10], room = 0;
		uint64_t cost = 0;
		uint8_t lens[10];

		for (unsigned i = 0; i < n; i++) {
			uint32_t v = 1 + (rnd(&seed) & 0xffff) %
			    (2U << rnd(&seed) % 12);
			unsigned k = i;

			for (; k > 0 && w[k - 1] < v; k--)
				w[k] = w[k - 1];
			w[k] = v;
		}
		most = 4 + rnd(&seed) % 4;
		huffman_lengths(lens, w, n, most);
		for (unsigned i = 0; i < n; i++) {
			assert_in_range(lens[i], 1, most);
			room += 1U << (most - lens[i]);
			cost += (uint64_t)w[i] * lens[i];
		}
		assert_int_equal(room, 1U << most);
		assert_int_equal(cost, least_cost(w, n, 1, most, 1U << most));
	}
}

/*
 * Tests all symbols, the rarest of them very rare, for the widest limited code.
 */
static void
widest_code(void **state)
{
	uint32_t freq[HUFFMAN_SYMBOLS], room = 0;
	uint8_t lens[HUFFMAN_SYMBOLS];

	(void)state;
	for (unsigned i = 0; i < HUFFMAN_SYMBOLS; i++)
		freq[i] = i < 40 ? 1 + i : UINT32_C(1) << 22;
	freq[0] = UINT32_C(1) << 31;
	freq[1] = UINT32_C(1) << 29;
	huffman_lengths(lens, freq, HUFFMAN_SYMBOLS, 14);
	for (unsigned i = 0; i < HUFFMAN_SYMBOLS; i++) {
		assert_in_range(lens[i], 1, 14);
		room += 1U << (14 - lens[i]);
	}
	assert_int_equal(room, 1U << 14);
	memset(freq, 0, sizeof(freq));
	huffman_lengths(lens, freq, HUFFMAN_SYMBOLS, 14);
	assert_int_equal(lens[7], 0);
	freq[7] = 9;
	huffman_lengths(lens, freq, HUFFMAN_SYMBOLS, 14);
	assert_int_equal(lens[7], 1);
	assert_int_equal(lens[8], 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_codes),
		cmocka_unit_test(widest_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
