/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void
expect(const char *text, const char *want)
{
	char got[256], c[UTF8_SAFE];
	size_t n = 0;

	while (*text != '\0') {
		size_t len = utf8_safe(&text, c);

		memcpy(got + n, c, len);
		n += len;
	}
	got[n] = '\0';
	assert_string_equal(got, want);
}

static void
lengths(void **state)
{
	(void)state;
	assert_int_equal(utf8_length("a"), 1);
	assert_int_equal(utf8_length("\xc3\xa9"), 2);
	assert_int_equal(utf8_length("\xe2\x82\xac"), 3);
	assert_int_equal(utf8_length("\xf0\x9f\x98\x80"), 4);
	/* truncated, overlong, a surrogate, and beyond the last code point */
	assert_int_equal(utf8_length("\xe2\x82"), 0);
	assert_int_equal(utf8_length("\xc1\x81"), 0);
	assert_int_equal(utf8_length("\xe0\x82\x9b"), 0);
	assert_int_equal(utf8_length("\xed\xa0\x80"), 0);
	assert_int_equal(utf8_length("\xf4\x90\x80\x80"), 0);
}

static void
no_control_gets_through(void **state)
{
	(void)state;
	expect("", "");
	expect("plain \\ text", "plain \\ text");
	expect("a\033[31m\177\n", "a\\033[31m\\177\\012");
	/*
	 * U+009B is CSI; so is its second byte alone in an 8-bit character set
	 */
	expect("a\xc2\x9b" "31m", "a\\302\\23331m");
	expect("\xc2\x80\xc2\x9f\xc2\xa0", "\\302\\200\\302\\237\xc2\xa0");
	expect("\x9b" "31m", "\\23331m");
	/* an overlong control is not a control, and is shown as bytes */
	expect("\xc1\x9b", "\xc1\\233");
	/* characters whose bytes have the values of controls, and Latin-1 */
	expect("\xc3\x9b \xe2\x82\xac \xf0\x9f\x98\x80",
	    "\xc3\x9b \xe2\x82\xac \xf0\x9f\x98\x80");
	expect("caf\xe9", "caf\xe9");
	expect("cut \xc2", "cut \xc2");
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),
		cmocka_unit_test(no_control_gets_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
