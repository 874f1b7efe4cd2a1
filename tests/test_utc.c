/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static const int64_t SECOND = 1000000000;

static void
dates(void **state)
{
	static const struct {
		int64_t sec;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.007Z" },
		{ 951782399, "2000-02-28T23:59:59.007Z" },
		{ 951782400, "2000-02-29T00:00:00.007Z" },
		{ 951868800, "2000-03-01T00:00:00.007Z" },
		{ 4107542399, "2100-02-28T23:59:59.007Z" },
		{ 4107542400, "2100-03-01T00:00:00.007Z" },
		{ 9223372035, "2262-04-11T23:47:15.007Z" },
	};
	char text[UTC_B];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		utc_text(text, rows[i].sec * SECOND + 7999999);
		assert_string_equal(text, rows[i].text);
	}
	utc_name(text, 951782399 * SECOND);
	assert_string_equal(text, "20000228T235959Z");
	utc_text(text, -1);
	assert_string_equal(text, "1970-01-01T00:00:00.000Z");
}

/* Every day of 292 years matches the C library. */
static void
all_days(void **state)
{
	char text[UTC_B], want[UTC_B];

	(void)state;
	for (int64_t sec = 0; sec < 9223372036; sec += 86400) {
		time_t t = (time_t)sec;
		struct tm tm;

		gmtime_r(&t, &tm);
		strftime(want, sizeof(want), "%Y%m%dT%H%M%SZ", &tm);
		utc_name(text, sec * SECOND);
		assert_string_equal(text, want);
	}
}

static void
parsed(void **state)
{
	static const struct {
		const char *text;
		int64_t sec;
		uint32_t ns;
	} good[] = {
		{ "1970-01-01T00:00:00Z", 0, 0 },
		{ "1970-01-01t00:00:01.5z", 1, 500000000 },
		{ "1970-01-01 01:00:00+01:00", 0, 0 },
		{ "1969-12-31T23:59:59.000000001Z", -1, 1 },
		{ "2000-02-29T23:59:59-00:30", 951870599, 0 },
		{ "2016-12-31T23:59:60Z", 1483228800, 0 },
		{ "0001-01-01T00:00:00Z", -62135596800, 0 },
		{ "9999-12-31T23:59:59Z", 253402300799, 0 },
	};
	static const char *const bad[] = { "", "1970", "1970-01-01",
		"1970-01-01T00:00:00", "1970-01-01T00:00:00Zx",
		"1970-01-01T00:00:00ZZ", "0000-01-01T00:00:00Z",
		"1970-00-01T00:00:00Z", "1970-13-01T00:00:00Z",
		"1970-01-00T00:00:00Z", "1970-01-32T00:00:00Z",
		"1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z",
		"1970-01-01T00:00:61Z", "1970-1-01T00:00:00Z",
		"1970-01-01T00:00:00.Z", "1970-01-01T00:00:00+01",
		"-970-01-01T00:00:00Z", "1970/01/01T00:00:00Z",
		"1970-01-01X00:00:00Z", "1970-01-01T00-00-00Z" };
	int64_t sec;
	uint32_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		if (utc_parse(good[i].text, &sec, &ns) != 0)
			fail_msg("%s", good[i].text);
		assert_int_equal(sec, good[i].sec);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (utc_parse(bad[i], &sec, &ns) != -EINVAL)
			fail_msg("%s", bad[i]);
	for (int day = 1; day <= 31; day++) {
		char text[UTC_B];

		snprintf(text, sizeof(text), "1999-12-%02dT12:00:00Z", day);
		assert_int_equal(utc_parse(text, &sec, &ns), 0);
		assert_int_equal(sec, 944006400 + day * 86400 - 43200);
	}
}

static void
now(void **state)
{
	int64_t before = (int64_t)time(NULL), ns = utc_now_ns();

	(void)state;
	assert_true(ns / SECOND - before < 3600);
	assert_true(before - ns / SECOND < 3600);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates),
		cmocka_unit_test(all_days),
		cmocka_unit_test(parsed),
		cmocka_unit_test(now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
