/*
 * test_wire.c - messages of Protocol Buffers, and containerd's filters
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "filter.h"
#include "wire.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The examples in "Encoding", and other values, byte by byte */
static void
test_write(void **state)
{
	static const char want[] = "\x08\x96\x01" "\x12\x07testing"
	    "\x1a\x03\x08\x96\x01" "\x22\x00"
	    "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	struct strbuf b = { .len = 0 };
	size_t begun;

	(void)state;
	wire_put_number(&b, 1, 150);
	wire_put_number(&b, 2, 0);
	wire_put_text(&b, 2, "testing", false);
	wire_put_text(&b, 3, "", false);
	begun = wire_begin(&b, 3);
	wire_put_number(&b, 1, 150);
	wire_end(&b, begun);
	wire_put_text(&b, 4, "", true);
	wire_put_number(&b, 5, UINT64_MAX);
	assert_int_equal(b.len, sizeof(want) - 1);
	assert_memory_equal(b.data, want, b.len);
	strbuf_free(&b);
}

/* A message within a message, whose length takes several bytes */
static void
test_long(void **state)
{
	struct strbuf b = { .len = 0 };
	struct arena a = { .chunks = NULL };
	struct wire_field f;
	char text[70001];
	const char *got;
	struct wire w, part;
	size_t outer, inner;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	outer = wire_begin(&b, 1000000);
	inner = wire_begin(&b, 1);
	wire_put_text(&b, 2, text, false);
	wire_end(&b, inner);
	wire_put_number(&b, 3, 1);
	wire_end(&b, outer);

	w = wire_message(b.data, b.len);
	assert_int_equal(wire_next(&w, &f), 1);
	assert_int_equal(f.number, 1000000);
	assert_int_equal(wire_next(&w, &f), 0);
	w = f.bytes;
	assert_int_equal(wire_next(&w, &f), 1);
	part = f.bytes;
	assert_int_equal(wire_next(&part, &f), 1);
	assert_int_equal(f.number, 2);
	assert_int_equal(wire_text(&f, &a, &got), 0);
	assert_string_equal(got, text);
	assert_int_equal(wire_next(&w, &f), 1);
	assert_int_equal(f.value, 1);
	assert_int_equal(wire_next(&w, &f), 0);
	arena_free(&a);
	strbuf_free(&b);
}

static int
read_all(const char *data, size_t length, uint64_t *last)
{
	struct wire w = wire_message(data, length);
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&w, &f)) == 1)
		*last = f.value;
	return rc;
}

#define READ(text, last) read_all(text, sizeof(text) - 1, last)

static void
test_read(void **state)
{
	static const char whole[] = "\x0d\x01\x02\x03\x04"
	    "\x11\x01\x00\x00\x00\x00\x00\x00\x80" "\x1a\x02hi" "\x20\x01";
	uint64_t v = 0;

	(void)state;
	assert_int_equal(READ("", &v), 0);
	assert_int_equal(READ("\x0d\x01\x02\x03\x04", &v), 0);
	assert_int_equal(v, 0x04030201);
	assert_int_equal(READ("\x11\x01\x00\x00\x00\x00\x00\x00\x80", &v), 0);
	assert_true(v == UINT64_C(0x8000000000000001));
	/* cut anywhere but between fields */
	for (size_t i = 0; i < sizeof(whole); i++)
		assert_int_equal(read_all(whole, i, &v), i == 0 || i == 5 ||
		    i == 14 || i == 18 || i == sizeof(whole) - 1 ? 0 :
		    -EBADMSG);
	/* numbers beyond 64 bits */
	assert_int_equal(READ("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
	    &v), -EBADMSG);
	assert_int_equal(READ("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81"
	    "\x00", &v), -EBADMSG);
	/* a length beyond the end; the field 0; groups; unknown types */
	assert_int_equal(READ("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	    &v), -EBADMSG);
	assert_int_equal(READ("\x00\x01", &v), -EBADMSG);
	assert_int_equal(READ("\x0b", &v), -EBADMSG);
	assert_int_equal(READ("\x0c", &v), -EBADMSG);
	assert_int_equal(READ("\x0e", &v), -EBADMSG);
	/* a number of a field beyond 29 bits */
	assert_int_equal(READ("\x80\x80\x80\x80\x10\x00", &v), -EBADMSG);
}

static int
text_of(const char *data, size_t length)
{
	struct arena a = { .chunks = NULL };
	struct wire w = wire_message(data, length);
	struct wire_field f;
	const char *text = "?";
	int rc;

	assert_int_equal(wire_next(&w, &f), 1);
	rc = wire_text(&f, &a, &text);
	assert_true(rc != 0 || strlen(text) + 2 == length);
	arena_free(&a);
	return rc;
}

static void
test_text(void **state)
{
	(void)state;
	assert_int_equal(text_of("\x0a\x00", 2), 0);
	assert_int_equal(text_of("\x0a\x03" "a\xc3\xa9", 5), 0);
	assert_int_equal(text_of("\x0a\x02" "a\x00", 4), -EBADMSG);
	assert_int_equal(text_of("\x0a\x02" "a\xc3", 4), -EBADMSG);
	assert_int_equal(text_of("\x0a\x02\xc0\x80", 4), -EBADMSG);
	assert_int_equal(text_of("\x08\x02", 2), -EBADMSG);
}

/* Filters */

static const char *
value_of(void *arg, const char *field, const char *rest)
{
	(void)arg;
	if (strcmp(field, "name") == 0)
		return "one/2/x";
	if (strcmp(field, "parent") == 0)
		return "";
	if (strcmp(field, "labels") != 0)
		return NULL;
	return strcmp(rest, "a") == 0 ? "b, \"c\"" :
	    strcmp(rest, "containerd.io/snapshot.ref") == 0 ? "sha256:12" :
	    NULL;
}

/* Returns 1 if the filter matches, 0, or -EINVAL. */
static int
match(const char *text)
{
	struct arena a = { .chunks = NULL };
	const char *why = NULL;
	struct filter *f;
	int rc = filter_parse(&f, text, &a, &why);

	if (rc == 0)
		rc = filter_match(f, value_of, NULL);
	else
		assert_non_null(why);
	arena_free(&a);
	return rc;
}

static void
test_filters(void **state)
{
	static const char *const yes[] = { "", "name", "name==one/2/x",
		"name==\"one/2/x\"", "name!=y", "parent==\"\"",
		"labels.a", "labels.\"a\"==\"b, \\\"c\\\"\"",
		"labels.\"containerd.io/snapshot.ref\"==sha256:12",
		"labels.containerd.\"io/snapshot\".ref==sha256:12",
		"labels.\"containerd.io/snapshot.ref\"==sha256:12,parent==\"\"",
		" name == one/2/x , labels . a", "labels.b!=x",
		"name==\"\\u006fne\\x2f\\062/x\"", "other!=x" };
	static const char *const no[] = { "other", "name==y", "name!=one/2/x",
		"labels.b", "labels.b==\"\"", "parent==x", "name,other",
		"name==one/2/x,parent==x", "labels.b!=\"\"" };
	static const char *const bad[] = { "=", "name=", "name==", "name=x",
		"name~=x", ",", "name,", "name==\"x", "name==\"\\q\"",
		"name==\"\\x0\"", "name==\"\\u0000\"", "name==\"\\ud800\"",
		"name==\"\\U00110000\"", "name==\"\\477\"", "name..a",
		"name x", "name==x y", "name==/x/", "a/b", ".a", " ",
		"name==\"\\" };

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		if (match(yes[i]) != 1)
			fail_msg("%s: %d", yes[i], match(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (match(no[i]) != 0)
			fail_msg("%s: %d", no[i], match(no[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (match(bad[i]) != -EINVAL)
			fail_msg("%s: %d", bad[i], match(bad[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
