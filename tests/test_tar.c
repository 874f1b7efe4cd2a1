/*
 * test_tar.c - reading tar archives: headers and data
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tar_made.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct archive archive;

static void
data_is_read_or_skipped(void **state)
{
	char text[1500], got[1500];
	struct tar_entry e;
	struct tar *t;
	size_t have = 0;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t step = 1; step <= 2000; step += 499) {
		begin(&archive);
		archive.step = step;
		sum(add(&archive, '0', "a", text, sizeof(text)));
		sum(add(&archive, '0', "b", text, 10));
		archive.len += 1024;
		t = opened(&archive);
		assert_int_equal(tar_next(t, &e), 1);
		assert_string_equal(e.path, "a");
		assert_int_equal(e.data_offset, 512);
		for (have = 0; have < sizeof(text);) {
			ssize_t n = tar_read(t, got + have,
			    sizeof(got) - have);

			assert_true(n > 0);
			have += (size_t)n;
		}
		assert_memory_equal(got, text, sizeof(text));
		assert_int_equal(tar_read(t, got, 1), 0);
		assert_int_equal(tar_next(t, &e), 1);
		assert_string_equal(e.path, "b");
		assert_int_equal(e.header_offset, 512 + 1536);
		assert_int_equal(tar_next(t, &e), 0);
		assert_int_equal(tar_next(t, &e), 0);
		assert_int_equal(tar_drain(t), 0);
		assert_int_equal(tar_offset(t), archive.len);
		tar_close(t);
	}
}

/* Every length of an archive with one file of 700 bytes */
static void
the_end_may_be_missing(void **state)
{
	char text[700];
	struct tar_entry e;
	struct tar *t;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t len = 512; len <= 512 + 1024 + 512; len++) {
		bool data = len >= 512 + sizeof(text);
		bool header = len <= 512 + 1024 || len == 512 + 1024 + 512;

		begin(&archive);
		archive.step = 100;
		sum(add(&archive, '0', "a", text, sizeof(text)));
		archive.len = len;
		t = opened(&archive);
		assert_int_equal(tar_next(t, &e), 1);
		assert_int_equal(tar_next(t, &e), data && header ? 0 :
		    -ENODATA);
		if (data && header)
			assert_int_equal(tar_flaw(t) != NULL,
			    len <= 512 + 1024);
		if (data && header)
			assert_int_equal(tar_next(t, &e), 0);
		tar_close(t);
	}
}

static void
damaged_headers(void **state)
{
	struct tar_entry e;
	uint8_t *h;

	(void)state;
	begin(&archive);
	h = add(&archive, '0', "a", "", 0);
	sum(h);
	h[5] ^= 1;
	assert_int_equal(first(&archive, &e), -EBADMSG);
	begin(&archive);
	sum(add(&archive, '0', "", "", 0));
	assert_int_equal(first(&archive, &e), -EBADMSG);
	begin(&archive);
	h = add(&archive, '0', "a", "", 0);
	memcpy(h + 124, "0000000001x", 11);
	sum(h);
	assert_int_equal(first(&archive, &e), -EBADMSG);
	/* a negative owner */
	begin(&archive);
	h = add(&archive, '0', "a", "", 0);
	memset(h + 108, 0xff, 8);
	sum(h);
	assert_int_equal(first(&archive, &e), -EBADMSG);
	/* a negative size, and one that exceeds 64 bits */
	begin(&archive);
	h = add(&archive, '0', "a", "", 0);
	memset(h + 124, 0xff, 12);
	sum(h);
	assert_int_equal(first(&archive, &e), -EBADMSG);
	begin(&archive);
	h = add(&archive, '0', "a", "", 0);
	h[124] = 0x80;
	h[125] = 1;
	sum(h);
	assert_int_equal(first(&archive, &e), -EBADMSG);
	/* a device number of 32 bits, and one of more */
	for (uint8_t high = 0; high < 2; high++) {
		begin(&archive);
		h = add(&archive, '3', "a", "", 0);
		memset(h + 329, 0xff, 8);
		h[329] = 0x80;
		memset(h + 330, 0, 3);
		h[332] = high;
		sum(h);
		assert_int_equal(first(&archive, &e), high == 0 ? 1 : -EBADMSG);
	}
	/* a name longer than the cap is not allocated */
	begin(&archive);
	h = add(&archive, 'L', "a", "", 0);
	set_size(h, 1 << 30);
	sum(h);
	assert_int_equal(first(&archive, &e), -EFBIG);
}

static void
hard_links(void **state)
{
	struct tar_entry e;
	uint8_t *h;

	(void)state;
	/* old archives state the target's size and store nothing */
	begin(&archive);
	h = add(&archive, '1', "link", "", 0);
	set_size(h, 5);
	snprintf((char *)h + 157, 100, "target");
	sum(h);
	sum(add(&archive, '0', "b", "12345", 5));
	assert_int_equal(first(&archive, &e), 1);
	assert_int_equal(e.type, TAR_HARDLINK);
	assert_int_equal(e.stored, 0);
	/* pax archives may store the data */
	begin(&archive);
	add_records(&archive, 'x', (const char *const[]){ "uname=ab", NULL });
	sum(add(&archive, '1', "link", "12345", 5));
	assert_int_equal(first(&archive, &e), 1);
	assert_int_equal(e.stored, 5);
}

static void
blocks_are_peeked_at(void **state)
{
	uint8_t *h;

	(void)state;
	begin(&archive);
	h = add(&archive, '0', "a", "12345", 5);
	sum(h);
	assert_int_equal(tar_peek(h), 5);
	/* whatever differs from a header by one bit is none */
	for (size_t i = 0; i < 512 * 8; i++) {
		h[i / 8] ^= (uint8_t)(1 << i % 8);
		/* but for what a number may be followed by */
		assert_true(tar_peek(h) == -1 || (i / 8 >= 148 && i / 8 < 156));
		h[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	assert_int_equal(tar_peek(h + 512), -1);
	/* data of its own kind, or of none */
	for (size_t i = 0; i < 2; i++) {
		h[156] = i == 0 ? '7' : '\0';
		sum(h);
		assert_int_equal(tar_peek(h), 5);
	}
	for (const char *type = "12345xgLK"; *type != '\0'; type++) {
		h[156] = (uint8_t)*type;
		sum(h);
		assert_int_equal(tar_peek(h), 0);
	}
	/* no magic, but a right checksum */
	h[257] = 'x';
	sum(h);
	assert_int_equal(tar_peek(h), -1);
	h[257] = 'u';
	/* a negative size */
	memset(h + 124, 0xff, 12);
	sum(h);
	assert_int_equal(tar_peek(h), -1);
}

/* Nothing at all is an archive, unless it must not be. */
static void
empty_input(void **state)
{
	struct tar_entry e;
	struct tar *t;

	(void)state;
	begin(&archive);
	t = opened(&archive);
	assert_int_equal(tar_next(t, &e), 0);
	assert_non_null(tar_flaw(t));
	tar_close(t);
}

/* A header without a magic has no names of owners. */
static void
names_of_owners(void **state)
{
	static const struct { const char *magic, *name; } rows[] = {
		{ "ustar\00000", "me" }, { "ustar  ", "me" },
		{ "\0\0\0\0\0\0\0", "" },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct tar_entry e;
		struct tar *t;
		uint8_t *h;

		begin(&archive);
		h = add(&archive, '0', "a", "", 0);
		memcpy(h + 257, rows[i].magic, 8);
		memcpy(h + 265, "me", 3);
		sum(h);
		t = opened(&archive);
		assert_int_equal(tar_next(t, &e), 1);
		assert_string_equal(e.uname, rows[i].name);
		tar_close(t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_is_read_or_skipped),
		cmocka_unit_test(the_end_may_be_missing),
		cmocka_unit_test(damaged_headers),
		cmocka_unit_test(hard_links),
		cmocka_unit_test(blocks_are_peeked_at),
		cmocka_unit_test(empty_input),
		cmocka_unit_test(names_of_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
