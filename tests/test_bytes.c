/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const uint8_t b[] = { 0, 0xf1, 2, 3, 4, 5, 6, 7, 8 };

static void
loads_at_any_address(void **state)
{
	(void)state;
	assert_true(load_le16(b + 1) == 0x02f1);
	assert_true(load_be16(b + 1) == 0xf102);
	assert_true(load_le32(b + 1) == 0x040302f1);
	assert_true(load_be32(b + 1) == 0xf1020304);
	assert_true(load_le64(b + 1) == 0x08070605040302f1);
	assert_true(load_be64(b + 1) == 0xf102030405060708);
}

static void
stores_what_it_loads(void **state)
{
	uint8_t c[9] = { 0 };

	(void)state;
	store_le16(c + 1, load_le16(b + 1));
	assert_memory_equal(c, b, 3);
	store_be16(c + 3, load_be16(b + 3));
	assert_memory_equal(c, b, 5);
	store_le32(c + 5, load_le32(b + 5));
	assert_memory_equal(c, b, 9);
	store_be32(c + 1, load_be32(b + 5));
	assert_memory_equal(c + 1, b + 5, 4);
	store_le64(c + 1, load_le64(b + 1));
	assert_memory_equal(c, b, 9);
	store_be64(c + 1, load_le64(b + 1));
	assert_true(c[1] == 8 && c[8] == 0xf1);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_at_any_address),
		cmocka_unit_test(stores_what_it_loads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
