/*
 * test_sq_tables.c - bounds of an image's tables, and of the image itself
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../src/image/squashfs/read/squashfs.h"
#include "base/bytes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { STORED = 0x8000, SET = 16, SETS = SQUASHFS_META_B / SET };

/* A table of one value, and one of the sets that have it. */
enum { VALUES_AT = 100, SETS_AT = 200, END = SETS_AT + 2 + SQUASHFS_META_B };

static uint8_t file[END + 1000];
static int fd;

static void
make_file(void)
{
	static const uint8_t value[] = { 0, 0, 1, 0, 'a', 1, 0, 0, 0, 'v' };

	memset(file, 'x', sizeof(file));
	store_le16(file + VALUES_AT, STORED | sizeof(value));
	memcpy(file + VALUES_AT + 2, value, sizeof(value));
	store_le16(file + SETS_AT, STORED | SQUASHFS_META_B);
	for (size_t i = 0; i < SETS; i++) {
		uint8_t *p = file + SETS_AT + 2 + i * SET;

		store_le64(p, 0);
		store_le32(p + 8, 1);
		store_le32(p + 12, sizeof(value));
	}
	fd = memfd_create("tables", MFD_CLOEXEC);
	assert_int_equal(write(fd, file, sizeof(file)), sizeof(file));
}

static void
read_table(struct sq_meta *m, const struct sq_super *s, uint64_t start,
    uint64_t end)
{
	assert_int_equal(sq_meta_read(m, s, start, end, 1), 0);
	assert_int_equal(m->count, 1);
	/* they are stored as they are */
	sq_meta_unpack(m, 0, NULL);
}

static int
take(void *arg, const char *name, const void *value, size_t len)
{
	unsigned *n = arg;

	assert_string_equal(name, "user.a");
	assert_int_equal(len, 1);
	assert_memory_equal(value, "v", 1);
	++*n;
	return 0;
}

/* A set that is not in the table is not read, whatever the header counts. */
static void
sets(void **state)
{
	struct sq_tables q = { .xattrs_known = true, .super = { .fd = fd,
	    .length = END, .there = END, .xattr_count = SETS + 2 } };
	uint64_t parsed = 0;
	unsigned n = 0;

	(void)state;
	read_table(&q.xattr_values, &q.super, VALUES_AT, SETS_AT);
	read_table(&q.xattr_sets, &q.super, SETS_AT, END);
	for (uint32_t i = 0; i < SETS + 4; i++)
		assert_int_equal(sq_xattrs_parse(&q, i, take, &n, &parsed),
		    i < SETS ? 0 : -EBADMSG);
	assert_int_equal(n, SETS);
	assert_int_equal(sq_xattrs_parse(&q, UINT32_MAX, take, &n, &parsed),
	    -EBADMSG);
	/* all of a set must be there */
	for (unsigned cut = 1; cut <= SET; cut++) {
		q.xattr_sets.len[0] = (uint16_t)(SQUASHFS_META_B - cut);
		assert_int_equal(sq_xattrs_parse(&q, SETS - 2, take, &n,
		    &parsed), 0);
		assert_int_equal(sq_xattrs_parse(&q, SETS - 1, take, &n,
		    &parsed), -EBADMSG);
	}
	q.super.xattr_count = 1;
	assert_int_equal(sq_xattrs_parse(&q, 1, take, &n, &parsed), -EBADMSG);
	/* nor what was not read as a whole */
	q.xattrs_known = false;
	assert_int_equal(sq_xattrs_parse(&q, 0, take, &n, &parsed), -EBADMSG);
	sq_meta_free(&q.xattr_values, &q.super);
	sq_meta_free(&q.xattr_sets, &q.super);
}

static void
places(void **state)
{
	struct sq_super s = { .fd = fd, .length = END, .there = END };
	static const struct {
		uint64_t start, end;
		int rc;
	} rows[] = {
		{ VALUES_AT, SETS_AT, 0 }, { VALUES_AT, VALUES_AT, 0 },
		{ VALUES_AT + 1, VALUES_AT, -EBADMSG },
		{ UINT64_MAX, 0, -EBADMSG }, { END - 1, UINT64_MAX, 0 },
		{ END, END, -ENODATA }, { END, END + 1, -ENODATA },
		{ END + 1, END + 1, -ENODATA },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct sq_meta m = { .count = 0 };

		assert_int_equal(sq_meta_read(&m, &s, rows[i].start,
		    rows[i].end, 1), rows[i].rc);
		sq_meta_free(&m, &s);
	}
	/* a single block, and what is not one */
	for (uint64_t at = SETS_AT; at < END + 2; at++) {
		struct sq_meta m = { .count = 0 };

		assert_int_equal(sq_meta_one(&m, &s, NULL, at), at == SETS_AT ?
		    0 : at == END ? -ENODATA : -EBADMSG);
		sq_meta_free(&m, &s);
		at += at == SETS_AT ? END - 3 - SETS_AT : 0;
	}
}

/* Nothing is read beyond an image, although the file goes on. */
static void
image_bounds(void **state)
{
	const struct image m = { .fd = fd, .offset = 10, .length = 100 };
	uint8_t got[101];

	(void)state;
	for (uint64_t pos = 0; pos < 110; pos++)
		for (size_t n = 0; n <= 101; n++)
			assert_int_equal(image_read(&m, pos, got, n),
			    pos + n <= 100 ? 0 : -ENODATA);
	assert_int_equal(image_read(&m, 90, got, 10), 0);
	assert_memory_equal(got, file + 100, 10);
	assert_int_equal(image_read(&m, UINT64_MAX, got, 1), -ENODATA);
	assert_int_equal(image_read(&m, UINT64_MAX - 4, got, 10), -ENODATA);
}

/* A block of no bytes, by LZ4: a token without literals, and what is none */
static void
empty_block(void **state)
{
	static const uint8_t in[] = { 0, 0x10, 'a' };
	struct sq_codec *c;
	uint8_t out[4];

	(void)state;
	assert_int_equal(sq_codec_open(&c, SQUASHFS_LZ4), 0);
	assert_int_equal(sq_codec_unpack(c, in, 1, out, sizeof(out)), 0);
	assert_int_equal(sq_codec_unpack(c, in + 1, 2, out, sizeof(out)), 1);
	assert_int_equal(sq_codec_unpack(c, in + 1, 1, out, sizeof(out)),
	    -EBADMSG);
	assert_int_equal(sq_codec_unpack(c, in + 1, 2, out, 0), -EBADMSG);
	sq_codec_close(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets),
		cmocka_unit_test(places),
		cmocka_unit_test(image_bounds),
		cmocka_unit_test(empty_block),
	};

	make_file();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
