/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/flatjson.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static void
members(void **state)
{
	static const char text[] = " { \"a\" : 1.5e3 , \"b\":\"x\\\"}\", "
	    "\"c\":null,\"d\":-7,\"e\":true,\"f\":false} \n";
	struct flatjson j;

	(void)state;
	assert_int_equal(flatjson_open(&j, text, strlen(text)), 0);
	assert_int_equal(flatjson_next(&j), 1);
	assert_int_equal(j.name_len, 1);
	assert_memory_equal(j.name, "a", 1);
	assert_true(j.is_number && j.number == 1500);
	assert_int_equal(flatjson_next(&j), 1);
	assert_false(j.is_number);
	assert_int_equal(flatjson_next(&j), 1);
	assert_false(j.is_number);
	assert_int_equal(flatjson_next(&j), 1);
	assert_true(j.is_number && j.number == -7);
	assert_int_equal(flatjson_next(&j), 1);
	assert_memory_equal(j.name, "e", 1);
	assert_int_equal(flatjson_next(&j), 1);
	assert_int_equal(flatjson_next(&j), 0);
	assert_int_equal(flatjson_open(&j, "{}", 2), 0);
	assert_int_equal(flatjson_next(&j), 0);
}

/*
 * Returns the end of a text, or -EINVAL if it is invalid anywhere; never reads
 * a byte beyond it.
 */
static int
end_of(const char *text, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct flatjson j;
	char *p;
	int rc;

	p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + page, page, PROT_NONE), 0);
	memcpy(p + page - len, text, len);
	rc = flatjson_open(&j, p + page - len, len);
	while (rc == 0 && (rc = flatjson_next(&j)) == 1)
		rc = 0;
	munmap(p, 2 * page);
	return rc;
}

static void
malformed(void **state)
{
	static const char *const texts[] = { "", "[]", "1", "{", "{\"a\"",
		"{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\" 1}", "{a:1}",
		"{\"a\":{}}", "{\"a\":[1]}", "{\"a\":inf}", "{\"a\":0x10}",
		"{\"a\":nan}", "{\"a\":1 2}", "{\"a\":1}{", "{\"a\":1}x",
		"{,\"a\":1}", "{\"a\":}", "{\"a\":,", "{\"a\":\"\\", "{\"a\":--1}", "{\"a\":+1}",
		"{\"a\":11111111111111111111111111111111111111111111111111}" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (end_of(texts[i], strlen(texts[i])) != -EINVAL)
			fail_msg("%s", texts[i]);
}

/* Any truncation of a valid text is rejected. */
static void
cut_short(void **state)
{
	static const char text[] =
	    "{\"in_B\":12,\"name\":\"a\\\\b\",\"x\":1e9}";

	(void)state;
	for (size_t n = 0; n < strlen(text); n++)
		assert_int_equal(end_of(text, n), -EINVAL);
	assert_int_equal(end_of(text, strlen(text)), 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(members),
		cmocka_unit_test(malformed),
		cmocka_unit_test(cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
