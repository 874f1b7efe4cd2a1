/*
 * test_codec.c - the settings that a format has of its own
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/codec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void
set_and_replaced(void **state)
{
	struct codec_options o = { .level = 1 };

	(void)state;
	assert_int_equal(codec_number(&o, "window-log"), 0);
	assert_null(codec_text(&o, "check"));
	assert_int_equal(codec_set(&o, "window-log", 25, NULL), 0);
	assert_int_equal(codec_set(&o, "check", 0, "crc32"), 0);
	assert_int_equal(codec_set(&o, "window-log", 27, NULL), 0);
	assert_int_equal(codec_number(&o, "window-log"), 27);
	assert_string_equal(codec_text(&o, "check"), "crc32");
	assert_null(o.settings[2].key);
}

static void
unknown_key(void **state)
{
	struct codec_options o = { .level = 1 };

	(void)state;
	assert_int_equal(codec_set(&o, "windowlog", 25, NULL), -EINVAL);
	assert_int_equal(codec_set(&o, "", 25, NULL), -EINVAL);
	assert_null(o.settings[0].key);
}

/* There is room for all settings of all formats at once, and no more. */
static void
room(void **state)
{
	struct codec_options o = { .level = 1 };

	(void)state;
	for (size_t i = 0; codecs[i] != NULL; i++)
		for (const char *const *k = codecs[i]->settings;
		    k != NULL && *k != NULL; k++)
			assert_int_equal(codec_set(&o, *k, i + 1, *k), 0);
	for (size_t i = 0; codecs[i] != NULL; i++)
		for (const char *const *k = codecs[i]->settings;
		    k != NULL && *k != NULL; k++)
			assert_string_equal(codec_text(&o, *k), *k);
	for (int i = 0; i < CODEC_SETTINGS_MAX; i++)
		o.settings[i].key = "other";
	assert_int_equal(codec_set(&o, "check", 0, "crc32"), -ENOSPC);
	assert_null(codec_text(&o, "check"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_and_replaced),
		cmocka_unit_test(unknown_key),
		cmocka_unit_test(room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
