/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/path.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void
clean_paths(void **state)
{
	static const struct {
		const char *from, *to;	/* NULL: rejected */
	} cases[] = {
		{ "a", "a" }, { "/a//b/", "a/b" }, { "./a/./b", "a/b" },
		{ ".", "" }, { "/", "" }, { "", "" }, { "./", "" },
		{ "..", NULL }, { "a/../b", NULL }, { "a/..", NULL },
		{ "...", "..." }, { "..a/.b", "..a/.b" }, { "//", "" },
		{ "a./b./", "a./b." }, { ".a/.b", ".a/.b" }
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].from);
		assert_int_equal(path_has_parent(text), cases[i].to == NULL);
		assert_int_equal(path_clean(text),
		    cases[i].to == NULL ? -EINVAL : 0);
		if (cases[i].to != NULL)
			assert_string_equal(text, cases[i].to);
	}
}

static void
names(void **state)
{
	(void)state;
	assert_string_equal(path_name("a"), "a");
	assert_string_equal(path_name("/a/b.c"), "b.c");
	assert_string_equal(path_name("a/"), "");
	assert_string_equal(path_name(""), "");
	assert_true(path_is_dots("."));
	assert_true(path_is_dots(".."));
	assert_false(path_is_dots(""));
	assert_false(path_is_dots(".a"));
	assert_false(path_is_dots("..."));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_paths),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
