/*
 * test_arena.c - pieces of any size, distinct and aligned
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
any_sizes(void **state)
{
	enum { COUNT = 5000 };
	static uint8_t *p[COUNT];
	static size_t len[COUNT];
	static uint8_t from[600000];
	struct arena a = { 0 };
	uint32_t any = 1;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		any = any * 69069 + 1;
		len[i] = (any >> 8) % (i % 100 == 0 ? 600000 : 300);
		memset(from, (int)(i & 255), len[i]);
		p[i] = i % 3 == 0 ? (uint8_t *)arena_copy(&a, from, len[i]) :
		    arena_take(&a, len[i]);
		assert_non_null(p[i]);
		if (i % 3 != 0) {
			assert_int_equal((uintptr_t)p[i] % 8, 0);
			memcpy(p[i], from, len[i]);
		}
	}
	for (size_t i = 0; i < COUNT; i++) {
		for (size_t k = 0; k < len[i]; k++)
			if (p[i][k] != (i & 255))
				fail_msg("piece %zu was written over", i);
		if (i % 3 == 0)
			assert_int_equal(p[i][len[i]], 0);
	}
	arena_free(&a);
	assert_non_null(arena_take(&a, 1));
	arena_free(&a);
}

static void
too_much(void **state)
{
	struct arena a = { 0 };

	(void)state;
	assert_null(arena_copy(&a, "", SIZE_MAX));
	assert_null(arena_take(&a, SIZE_MAX));
	assert_null(arena_take(&a, SIZE_MAX - 6));
	assert_null(arena_take(&a, SIZE_MAX / 2 + 1));
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_sizes),
		cmocka_unit_test(too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
