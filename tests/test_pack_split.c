/*
 * test_pack_split.c - an archive's headers in tar-split form
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which entries have them, and what is kept of an archive, while calls are
 * refused, too.
 */
#include "suffers.h"

#include "pack_split.h"

enum { LONG = 10000 };		/* more than a buffer has at first */

/* The first second of the year 10000, and of the year 1. */
#define YEAR_10000 INT64_C(253402300800)
#define YEAR_1 INT64_C(-62135596800)

/* What the table of contents cannot say makes all headers useless. */

#define NOT_UTF8 "a\xff"

static void
fits(void **state)
{
	static const struct tar_xattr known[] = { { "user.a", "\xff", 1 },
		{ "user.\xc3\xa4", "b", 1 } };
	static const struct tar_xattr raw[] = { { "user.a", "b", 1 },
		{ "user." NOT_UTF8, "b", 1 } };
	static const struct tar_xattr records[] = { { "mtime", "1", 1 },
		{ "SCHILY.xattr.user.a", "b", 1 }, { "LIBARCHIVE.xattr", "", 0 } };
	static const struct tar_xattr other[] = { { "mtime", "1", 1 },
		{ "LIBARCHIVE.xattr.user.a", "Yg", 2 } };
	const struct tar_entry right = { .type = TAR_FILE,
		.path = "d/\xc3\xa4", .link = "\xe2\x82\xac", .uname = "",
		.gname = "", .mode = 07777, .mtime = YEAR_10000 - 1,
		.mtime_ns = 999999999, .atime = { .seconds = YEAR_10000 - 1 },
		.ctime = { .seconds = YEAR_1 }, .xattrs = known,
		.xattr_count = 2, .records = records, .record_count = 3 };
	struct tar_entry e = right;

	(void)state;
	assert_true(pack_split_fits(&right));
	e.mtime = YEAR_1;
	assert_true(pack_split_fits(&e));
#define WRONG(change)						\
	e = right;						\
	e.change;						\
	if (pack_split_fits(&e))				\
		fail_msg(#change)
	WRONG(path = "d/" NOT_UTF8);
	WRONG(path = NOT_UTF8 "/d");
	WRONG(link = NOT_UTF8);
	WRONG(more_mode = true);
	WRONG(after_global = true);
	WRONG(from_global = true);
	WRONG(mtime = YEAR_10000);
	WRONG(mtime = YEAR_1 - 1);
	WRONG(atime.seconds = YEAR_10000);
	WRONG(atime.seconds = YEAR_1 - 1);
	WRONG(ctime.seconds = YEAR_10000);
	WRONG(ctime.seconds = YEAR_1 - 1);
	WRONG(xattrs = raw);
	WRONG(records = other; e.record_count = 2);
}

/* What is kept */

static int
take_frame(const struct pack_store *s)
{
	static char text[1 << 20];
	struct pack_reader r;
	size_t n = 0;
	int rc = pack_reader_open(&r, s);

	if (rc == 0)
		rc = pack_reader_next(&r, text, sizeof(text), &n);
	if (rc == 0) {
		take_number(s->content);
		take(text, n);
	}
	pack_reader_close(&r);
	return rc;
}

static int
keep(void)
{
	static char bytes[LONG], name[LONG];
	struct pack_split *s;
	int rc = pack_split_open(&s, 3);

	if (rc != 0)
		return rc;
	memset(bytes, 'h', sizeof(bytes));
	memset(name, 'n', sizeof(name) - 1);
	pack_split_bytes(s, "header", 6);
	rc = pack_split_header(s);
	pack_split_data(s, "data", 4);
	if (rc == 0)
		rc = pack_split_file(s, "d/file", 4);
	/* nothing that is new, and no data */
	if (rc == 0)
		rc = pack_split_header(s);
	if (rc == 0)
		rc = pack_split_file(s, NOT_UTF8, 0);
	pack_split_bytes(s, bytes, sizeof(bytes));
	pack_split_bytes(s, "padding", 7);
	pack_split_cut(s, 3);
	if (rc == 0)
		rc = pack_split_header(s);
	pack_split_data(s, bytes, sizeof(bytes));
	if (rc == 0)
		rc = pack_split_file(s, name, sizeof(bytes));
	pack_split_bytes(s, "end", 3);
	if (rc == 0)
		rc = pack_split_end(s);
	if (rc == 0)
		rc = take_frame(&s->store);
	pack_split_close(s);
	return rc;
}

/* Of an archive without files. */
static int
keep_end(void)
{
	struct pack_split *s;
	int rc = pack_split_open(&s, 3);

	if (rc != 0)
		return rc;
	pack_split_bytes(s, "end", 3);
	rc = pack_split_end(s);
	if (rc == 0)
		rc = take_frame(&s->store);
	pack_split_close(s);
	return rc;
}

/* Bytes, names that are no text and the CRC-64 of data are in base64. */
static void
lines(void **state)
{
	static const char want[] = "{\"type\":2,\"payload\":\"aGVhZGVy\","
	    "\"position\":0}\n{\"type\":1,\"name\":\"d/file\",\"size\":4,"
	    "\"payload\":\"";
	static const char then[] = "\",\"position\":1}\n{\"type\":1,"
	    "\"name_raw\":\"Yf8=\",\"size\":0,\"payload\":\"AAAAAAAAAAA=\","
	    "\"position\":2}\n{\"type\":2,\"payload\":\"aGho";
	static const char end[] = "{\"type\":2,\"payload\":\"ZW5k\","
	    "\"position\":5}\n";
	size_t at = sizeof(uint64_t);

	(void)state;
	assert_true(fault_plan(""));
	got.len = 0;
	assert_int_equal(keep(), 0);
	assert_memory_equal(got.p + at, want, strlen(want));
	at += strlen(want) + 12;
	assert_memory_equal(got.p + at, then, strlen(then));
	assert_memory_equal(got.p + got.len - strlen(end), end, strlen(end));
}

static void
refused(void **state)
{
	(void)state;
	suffers_run.first = 100;
	SUFFERS(keep);
	SUFFERS(keep_end);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fits),
		cmocka_unit_test(lines),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
