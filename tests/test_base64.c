/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hex.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* RFC 4648, section 10 */
static void
vectors(void **state)
{
	static const char *const pairs[][2] = { { "", "" }, { "f", "Zg==" },
		{ "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
		{ "\xff\xfe\xfd\xfb", "//79+w==" } };
	char text[16], data[16];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		size_t n = strlen(pairs[i][0]);

		base64_write(text, pairs[i][0], n);
		assert_string_equal(text, pairs[i][1]);
		assert_int_equal(base64_len(n), strlen(text));
		assert_int_equal(base64_read(data, text, strlen(text)), n);
		assert_memory_equal(data, pairs[i][0], n);
		/* in place */
		assert_int_equal(base64_read(text, text, strlen(text)), n);
		assert_memory_equal(text, pairs[i][0], n);
	}
}

static void
damage(void **state)
{
	static const char *const bad[] = { "Zg", "Zg=", "Z===", "====",
		"Zg==Zg==", "Zm9v\n", " Zm9", "Zm=v", "Zm9v-_==", "Zm9\xe9" };
	char data[16];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(base64_read(data, bad[i], strlen(bad[i])),
		    -EINVAL);
	/* the text goes on, but the length ends within a group */
	for (size_t n = 1; n < 8; n++)
		assert_int_equal(base64_read(data, "Zm9vYmFy", n),
		    n == 4 ? 3 : -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
