/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/args.h"

#include "base/sys.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void
integers(void **state)
{
	int64_t v = 7;

	(void)state;
	assert_int_equal(args_int("12", 1, 12, &v), 0);
	assert_int_equal(v, 12);
	assert_int_equal(args_int("-3", -3, 3, &v), 0);
	assert_int_equal(v, -3);
	assert_int_equal(args_int("13", 1, 12, &v), -ERANGE);
	assert_int_equal(args_int("99999999999999999999", 0, INT64_MAX, &v),
	    -ERANGE);
	assert_int_equal(args_int("", 0, 9, &v), -EINVAL);
	assert_int_equal(args_int(" 1", 0, 9, &v), -EINVAL);
	assert_int_equal(args_int("1x", 0, 9, &v), -EINVAL);
	assert_int_equal(args_int("0x1", 0, 9, &v), -EINVAL);
	assert_int_equal(v, -3);
}

static void
sizes(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t bytes;
	} rows[] = {
		{ "0", 0, 0 }, { "77", 0, 77 }, { "4k", 0, 4096 },
		{ "64M", 0, 64 << 20 }, { "2GiB", 0, (uint64_t)2 << 30 },
		{ "1TB", 0, (uint64_t)1 << 40 }, { "M", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 }, { "1Q", -EINVAL, 0 },
		{ "1MM", -EINVAL, 0 }, { "8388608T", -ERANGE, 0 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t v = 0;

		assert_int_equal(args_size(rows[i].text, &v), rows[i].rc);
		assert_int_equal(v, rows[i].bytes);
	}
}

static void
reals(void **state)
{
	double v = 0;

	(void)state;
	assert_int_equal(args_real("0.25", 0, 1, &v), 0);
	assert_true(v == 0.25);
	assert_int_equal(args_real("2", 0, 1, &v), -ERANGE);
	assert_int_equal(args_real("-0.1", 0, 1, &v), -ERANGE);
	assert_int_equal(args_real("1e999", 0, 1, &v), -EINVAL);
	assert_int_equal(args_real("0-1", 0, 1, &v), -EINVAL);
	assert_int_equal(args_real("nan", 0, 1, &v), -EINVAL);
	assert_int_equal(args_real("1s", 0, 1, &v), -EINVAL);
	assert_int_equal(args_real("0x1", 0, 1, &v), -EINVAL);
	assert_int_equal(args_real(" 1", 0, 1, &v), -EINVAL);
	assert_int_equal(args_real("", 0, 1, &v), -EINVAL);
	assert_true(v == 0.25);
	assert_int_equal(args_real("+2.5e-1", 0, 1, &v), 0);
	assert_true(v == 0.25);
	assert_int_equal(args_real("0", 0, 1, &v), 0);
	assert_true(v == 0);
	assert_int_equal(args_real("1", 0, 1, &v), 0);
	assert_true(v == 1);
}

static void
splice(void **state)
{
	static char prog[] = "pzc", file[] = "file";
	char *argv[] = { prog, file, NULL };
	char **out;
	int argc = 2;

	(void)state;
	assert_int_equal(args_splice("  -9\t-p2\n", &argc, argv, &out), 0);
	assert_int_equal(argc, 4);
	assert_string_equal(out[0], "pzc");
	assert_string_equal(out[1], "-9");
	assert_string_equal(out[2], "-p2");
	assert_string_equal(out[3], "file");
	assert_null(out[4]);
	sys_free(out);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),
		cmocka_unit_test(sizes),
		cmocka_unit_test(reals),
		cmocka_unit_test(splice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
