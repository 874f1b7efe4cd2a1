/* SPDX-License-Identifier: BSD-2-Clause */
#include "http_header.h"
#include "http_multipart.h"
#include "http_spans.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void
test_content_range(void **state)
{
	static const char *const bad[] = { "", "bytes", "bytes 1-0/5",
		"bytes 0-5/5", "bytes 0-4/", "bytes -4/5", "bytes 0-/5",
		"items 0-4/5", "bytes 0-4/5 x", "bytes 0-4 /5", "bytes0-4/5",
		"bytes 0-99999999999999999999/*", "bytes=0-4/5" };
	struct http_content_range r;

	(void)state;
	assert_int_equal(http_content_range("bytes 10-19/100", &r), 0);
	assert_int_equal(r.offset, 10);
	assert_int_equal(r.length, 10);
	assert_int_equal(r.total, 100);
	assert_int_equal(http_content_range(" Bytes  0-0/* ", &r), 0);
	assert_int_equal(r.length, 1);
	assert_true(r.total == HTTP_UNKNOWN);
	assert_int_equal(http_content_range("bytes */7", &r), 0);
	assert_int_equal(r.length, 0);
	assert_int_equal(r.total, 7);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(http_content_range(bad[i], &r), -EBADMSG);
}

static void
test_boundary(void **state)
{
	char b[HTTP_BOUNDARY], longest[200];

	(void)state;
	assert_int_equal(http_boundary("multipart/byteranges; boundary=abc",
	    b), 0);
	assert_string_equal(b, "abc");
	assert_int_equal(http_boundary("m/b;a=\"b;boundary=x\"; "
	    "Boundary=\"c \\\"d\"", b), 0);
	assert_string_equal(b, "c \"d");
	assert_int_equal(http_boundary("m/b", b), -EBADMSG);
	assert_int_equal(http_boundary("m/b; boundary=", b), -EBADMSG);
	assert_int_equal(http_boundary("m/b; boundary=\"a", b), -EBADMSG);
	snprintf(longest, sizeof(longest), "m/b; boundary=%071d", 0);
	assert_int_equal(http_boundary(longest, b), -EBADMSG);
	snprintf(longest, sizeof(longest), "m/b; boundary=%070d", 0);
	assert_int_equal(http_boundary(longest, b), 0);
}

static void
test_challenge(void **state)
{
	struct http_challenge c;

	(void)state;
	assert_int_equal(http_challenge("Bearer realm=\"https://a/t\","
	    "service=\"s\",scope=\"repository:x:pull,push\"", &c), 0);
	assert_int_equal(c.scheme, HTTP_BEARER);
	assert_string_equal(c.realm, "https://a/t");
	assert_string_equal(c.service, "s");
	assert_string_equal(c.scope, "repository:x:pull,push");
	assert_int_equal(http_challenge("Negotiate, Basic realm=x, "
	    "bearer realm=y, error=z", &c), 0);
	assert_int_equal(c.scheme, HTTP_BEARER);
	assert_string_equal(c.realm, "y");
	assert_int_equal(http_challenge("basic realm=\"x\"", &c), 0);
	assert_int_equal(c.scheme, HTTP_BASIC);
	assert_int_equal(http_challenge("Bearer", &c), -EBADMSG);
	assert_int_equal(http_challenge("Digest realm=x", &c), -EBADMSG);
	assert_int_equal(http_challenge("Bearer realm=\"x", &c), -EBADMSG);
	assert_int_equal(http_challenge("", &c), -EBADMSG);
}

static void
test_retry_after(void **state)
{
	(void)state;
	assert_int_equal(http_retry_after("7"), 7);
	assert_int_equal(http_retry_after("99999999999999999"), 86400);
	assert_int_equal(http_retry_after("Sat, 01 Jan 2000 00:00:00 GMT"),
	    0);
	assert_int_equal(http_retry_after("Sat, 01 Jan 2000"), 0);
	assert_int_equal(http_retry_after("Friday, 31-Dec-65 23:59:59 GMT"),
	    86400);
	assert_int_equal(http_retry_after("Fri Dec  4 23:59:59 2065"), 86400);
	assert_int_equal(http_retry_after("soon"), 0);
	assert_int_equal(http_retry_after("Fri, 31 Dec 2199 23:59:59 GMT"),
	    86400);
}

struct taken {
	char text[64];			/* by offset */
	size_t calls;
};

static int
take(void *arg, uint64_t offset, const void *data, size_t len)
{
	struct taken *t = arg;

	assert_true(offset + len < sizeof(t->text));
	memcpy(t->text + offset, data, len);
	t->calls++;
	return 0;
}

static const char body[] =
    "preamble\r\n--b c  \r\nContent-Type: x\r\n"
    "content-range: bytes 3-6/20\r\n\r\n--b \r\n"
    "--b c\r\nContent-Range: bytes 10-10/20\n\nz\r\n--b c--\r\nepilogue";

static void
test_multipart(void **state)
{
	(void)state;
	/* in pieces of every length */
	for (size_t step = 1; step < sizeof(body); step++) {
		struct taken t = { .calls = 0 };
		struct multipart m;

		memset(t.text, '.', sizeof(t.text));
		multipart_start(&m, "b c", take, &t);
		for (size_t at = 0; at < sizeof(body) - 1; at += step) {
			size_t n = sizeof(body) - 1 - at;

			assert_int_equal(multipart_feed(&m, body + at,
			    n < step ? n : step), 0);
		}
		assert_memory_equal(t.text, "...--b ...z....", 15);
	}
}

static void
test_multipart_bad(void **state)
{
	static const char *const bad[] = {
		"--b\r\nContent-Type: x\r\n\r\nabc",
		"--b\r\nContent-Range: bytes */9\r\n\r\nabc",
		("--b\r\nContent-Range: bytes 1-1/9\r\nContent-Range: bytes "
		    "2-2/9\r\n\r\na"),
		"--b\r\nContent-Range: bytes 1-1/9\r\n\r\nabc\r\n--b--",
		"--b\r\nContent-Range: nonsense\r\n\r\na",
		"--b\r\nContent-Range: bytes 1-1/9\r\n\r\na\r\n--bc\r\n",
	};
	/* before the first part */
	static const char ignored[] = "--bc\r\nx\r\n--b\r\nContent-Range: "
	    "bytes 0-0/1\r\n\r\na\r\n--b--";
	struct taken t = { .calls = 0 };
	struct multipart m;
	char *line = malloc(MULTIPART_LINE);

	(void)state;
	assert_non_null(line);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		multipart_start(&m, "b", take, &t);
		if (multipart_feed(&m, bad[i], strlen(bad[i])) != -EBADMSG)
			fail_msg("%s", bad[i]);
	}
	multipart_start(&m, "b", take, &t);
	assert_int_equal(multipart_feed(&m, ignored, strlen(ignored)), 0);
	memset(line, 'x', MULTIPART_LINE);
	multipart_start(&m, "b", take, &t);
	assert_int_equal(multipart_feed(&m, line, MULTIPART_LINE), -EBADMSG);
	multipart_start(&m, "b", take, &t);
	assert_int_equal(multipart_feed(&m, "--b\n", 4), 0);
	for (int i = 0; i < MULTIPART_FIELDS; i++)
		assert_int_equal(multipart_feed(&m, "a:b\n", 4), 0);
	assert_int_equal(multipart_feed(&m, "a:b\n", 4), -EBADMSG);
	free(line);
}

static void
test_spans(void **state)
{
	char a[10] = "", b[5] = "", c[4] = "";
	const struct layer_range r[] = {
		{ .offset = 100, .length = 4, .buf = c },
		{ .offset = 0, .length = 10, .buf = a },
		{ .offset = 12, .length = 5, .buf = b },
		{ .offset = 50, .length = 0 },
	};
	struct http_spans s;

	(void)state;
	assert_int_equal(http_spans_plan(&s, r, 4, 2, 1000), 0);
	assert_int_equal(s.count, 3);
	http_spans_free(&s);
	assert_int_equal(http_spans_plan(&s, r, 4, 3, 16), 0);
	assert_int_equal(s.count, 3);
	http_spans_free(&s);
	assert_int_equal(http_spans_plan(&s, r, 4, 3, 1000), 0);
	assert_int_equal(s.count, 2);
	assert_int_equal(s.wanted, 19);
	assert_int_equal(http_spans_left(&s), 21);
	/* not the next bytes of the span */
	assert_int_equal(http_spans_take(&s, 5, "56789", 5), 0);
	assert_int_equal(http_spans_take(&s, 0, "01234567", 8), 8);
	/* these overlap what has arrived */
	assert_int_equal(http_spans_take(&s, 4, "456789..BCDEFG", 14), 9);
	assert_int_equal(http_spans_take(&s, 99, "-wxyz-", 6), 4);
	assert_int_equal(http_spans_left(&s), 0);
	assert_memory_equal(a, "0123456789", 10);
	assert_memory_equal(b, "BCDEF", 5);
	assert_memory_equal(c, "wxyz", 4);
	http_spans_free(&s);
}

/* Ranges that end beyond the largest offset */
static void
test_far_spans(void **state)
{
	static const struct {
		uint64_t offset, length;
		int rc;
	} rows[] = {
		{ INT64_MAX - 1, 1, 0 }, { INT64_MAX, 0, 0 },
		{ INT64_MAX, 1, -EINVAL }, { 1, INT64_MAX, -EINVAL },
		{ 0, INT64_MAX, 0 }, { (uint64_t)INT64_MAX + 1, 0, -EINVAL },
		{ (uint64_t)INT64_MAX + 1, 1, -EINVAL },
		{ UINT64_MAX, 1, -EINVAL }, { 0, UINT64_MAX, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct layer_range r = { .offset = rows[i].offset,
			.length = rows[i].length };
		struct http_spans s;

		assert_int_equal(http_spans_plan(&s, &r, 1, 1, 1), rows[i].rc);
		if (rows[i].rc == 0)
			http_spans_free(&s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_content_range),
		cmocka_unit_test(test_boundary),
		cmocka_unit_test(test_challenge),
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_multipart),
		cmocka_unit_test(test_multipart_bad),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_far_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
