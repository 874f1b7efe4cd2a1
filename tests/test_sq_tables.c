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

/* A name has no NUL in it, nor is it empty or of another kind. */
static void
names(void **state)
{
	static const struct {
		unsigned at;
		uint8_t is;
		int rc;
	} rows[] = { { 4, 'a', 0 }, { 4, 'b', 0 }, { 4, 0, -EBADMSG },
		{ 2, 0, -EBADMSG }, { 2, 200, -EBADMSG }, { 0, 3, -EBADMSG },
		{ 0, 1, 0 }, { 0, 2, 0 }, { 1, 1, -EBADMSG },
		{ 5, 2, -EBADMSG }, { 5, 0, 0 }, { 8, 1, -EBADMSG } };
	struct sq_tables q = { .xattrs_known = true, .super = { .fd = fd,
	    .length = END, .there = END, .xattr_count = SETS } };
	uint64_t parsed = 0;

	(void)state;
	read_table(&q.xattr_values, &q.super, VALUES_AT, SETS_AT);
	read_table(&q.xattr_sets, &q.super, SETS_AT, END);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t *p = q.xattr_values.data + rows[i].at, was = *p;

		*p = rows[i].is;
		if (sq_xattrs_parse(&q, 1, NULL, NULL, &parsed) != rows[i].rc)
			fail_msg("row %zu", i);
		*p = was;
	}
	sq_meta_free(&q.xattr_values, &q.super);
	sq_meta_free(&q.xattr_sets, &q.super);
}

/* A superblock that is good enough to be found. */
static void
put_super(uint8_t *p)
{
	memset(p, 0, SQUASHFS_SUPER_B);
	store_le32(p, SQUASHFS_MAGIC);
	store_le32(p + SQUASHFS_S_INODES, 1);
	store_le32(p + SQUASHFS_S_BLOCK, 4096);
	store_le16(p + SQUASHFS_S_COMPRESSOR, SQUASHFS_GZIP);
	store_le16(p + SQUASHFS_S_BLOCK_LOG, 12);
	store_le16(p + SQUASHFS_S_IDS, 1);
	store_le16(p + SQUASHFS_S_MAJOR, 4);
	store_le64(p + SQUASHFS_S_USED, 300);
	for (size_t at = SQUASHFS_S_ID_TABLE; at < SQUASHFS_SUPER_B; at += 8)
		store_le64(p + at, SQUASHFS_NO_TABLE);
	store_le64(p + SQUASHFS_S_ID_TABLE, 200);
	store_le64(p + SQUASHFS_S_INODE_TABLE, 96);
	store_le64(p + SQUASHFS_S_DIR_TABLE, 150);
}

/* An image behind the section headers of a program. */
static void
appended(void **state)
{
	enum { AT = 1000 + 64 * 3 };
	static uint8_t p[4096];
	uint64_t offset = 1;
	int elf = memfd_create("elf", MFD_CLOEXEC);

	(void)state;
	memcpy(p, "\177ELF\2\1", 6);
	store_le64(p + 40, 1000);
	store_le16(p + 58, 64);
	store_le16(p + 60, 3);
	put_super(p + AT);
	assert_int_equal(write(elf, p, sizeof(p)), sizeof(p));
	assert_int_equal(sq_find(elf, &offset), 1);
	assert_int_equal(offset, AT);
	/* each byte of the magic counts, and those that say where it is */
	for (off_t at = 0; at < 62; at++) {
		uint8_t b = p[at] ^ 1;
		bool counts = at < 5 || (at >= 40 && at < 48) || at >= 58;

		assert_int_equal(pwrite(elf, &b, 1, at), 1);
		/* any order of bytes but big-endian is little-endian */
		if (sq_find(elf, &offset) != !counts)
			fail_msg("byte %lld", (long long)at);
		assert_int_equal(pwrite(elf, p + at, 1, at), 1);
	}
	close(elf);
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
		cmocka_unit_test(names),
		cmocka_unit_test(appended),
		cmocka_unit_test(empty_block),
	};

	make_file();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
