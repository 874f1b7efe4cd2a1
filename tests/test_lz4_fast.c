/*
 * test_lz4_fast.c - blocks that liblz4 can decode, within their bounds
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Input and output buffers are allocated exactly, so that AddressSanitizer
 * detects overruns.
 */
#include "engine/other/lz4_fast.h"

#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { WINDOW = 65535 };

static uint32_t
random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*seed >> 33);
}

/*
 * Makes bytes with `values` different values, often repeating an earlier
 * stretch.
 */
static void
make(uint8_t *p, size_t len, unsigned values, uint64_t seed)
{
	for (size_t i = 0; i < len;) {
		size_t n = random_next(&seed) % 40;
		size_t back = 1 + random_next(&seed) % (i + 1);
		bool again = i > 0 && random_next(&seed) % 3 != 0;

		for (; n-- > 0 && i < len; i++)
			p[i] = again && back <= i ? p[i - back] :
			    (uint8_t)(random_next(&seed) % values);
	}
}

/*
 * Compresses in, checks that it decodes to the same bytes, and returns the
 * compressed size.
 */
static size_t
round_trip(const uint8_t *in, size_t len)
{
	int bound = LZ4_compressBound((int)len);
	uint8_t *out = malloc((size_t)bound), *back = malloc(len + 1);
	struct lz4_fast *f = malloc(sizeof(*f));
	size_t n;

	memset(f, 0xa5, sizeof(*f));	/* leftovers of an earlier block */
	n = lz4_fast_block(f, in, len, out);
	assert_in_range(n, 1, bound);
	assert_int_equal(LZ4_decompress_safe((char *)out, (char *)back,
	    (int)n, (int)len), len);
	assert_memory_equal(back, in, len);
	free(f);
	free(back);
	free(out);
	return n;
}

static void
every_length(void **state)
{
	static const unsigned values[] = { 1, 2, 4, 256 };

	(void)state;
	for (size_t k = 0; k < 4; k++)
		for (size_t len = 0; len < 600; len++) {
			uint8_t *in = malloc(len + (len == 0));

			make(in, len, values[k], len);
			round_trip(in, len);
			free(in);
		}
}

static void
long_blocks(void **state)
{
	(void)state;
	for (unsigned values = 1; values <= 256; values *= 4)
		for (size_t len = 100000; len < 1000000; len += 299993) {
			uint8_t *in = malloc(len);

			make(in, len, values, values);
			round_trip(in, len);
			free(in);
		}
}

/*
 * Makes 64 bytes recur at the maximum distance of a match, or just beyond it.
 */
static void
farthest_match(void **state)
{
	size_t len = 2 * WINDOW, sizes[3];
	uint8_t *in = malloc(len);

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		uint64_t seed = 7;

		memset(in, 0, len);
		for (size_t i = 100; i < 164; i++)
			in[i] = (uint8_t)random_next(&seed);
		memcpy(in + 100 + WINDOW - 1 + k, in + 100, 64);
		sizes[k] = round_trip(in, len);
	}
	free(in);
	assert_in_range(sizes[1], sizes[0] - 2, sizes[0] + 2);
	assert_in_range(sizes[2], sizes[1] + 55, sizes[1] + 65);
}

static void
runs(void **state)
{
	uint8_t in[1000];

	(void)state;
	memset(in, 'a', sizeof(in));
	/* token, literal, distance, length; token and literals of the end */
	assert_in_range(round_trip(in, sizeof(in)), 10, 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length),
		cmocka_unit_test(long_blocks),
		cmocka_unit_test(farthest_match),
		cmocka_unit_test(runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
