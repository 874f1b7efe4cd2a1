/* SPDX-License-Identifier: BSD-2-Clause */
#include "../src/format/gzip/deflate_scan.h"
#include "format/cutter.h"
#include "format/gzip/gzip.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCK = 1536 << 10, STORED = 7680, ROOM = 8 << 20 };

/*
 * A marked file: how much of it has been written, and how far it has been read.
 */
struct file {
	uint8_t bytes[ROOM];
	size_t len, at;
};

static ssize_t
take(void *arg, void *buf, size_t len)
{
	struct file *f = arg;
	size_t n = f->len - f->at < len ? f->len - f->at : len;

	memcpy(buf, f->bytes + f->at, n);
	f->at += n;
	return (ssize_t)n;
}

static void
begin(struct file *f)
{
	struct gzip_fields fields = { .mtime = 0 };

	f->at = 0;
	f->len = gzip_header_write(&fields, f->bytes);
	f->len += gzip_mark_write(GZIP_EQUAL, BLOCK, f->bytes + f->len);
}

/* Adds n stored blocks of len bytes each, all with the value `fill`. */
static void
add_stored(struct file *f, size_t n, size_t len, int fill)
{
	while (n-- > 0) {
		uint8_t *p = f->bytes + f->len;

		p[0] = 0;
		store_le16(p + 1, (uint16_t)len);
		store_le16(p + 3, (uint16_t)~len);
		memset(p + 5, fill, len);
		f->len += 5 + len;
	}
}

/* Adds a sync point, which ends a piece. */
static void
add_sync(struct file *f)
{
	add_stored(f, 1, 0, 0);
}

/*
 * Cuts all of f into pieces; records their lengths, and how many there are of
 * each kind.
 */
static size_t
cut(struct file *f, size_t *ends, size_t room, unsigned kinds[3])
{
	static struct input in;
	struct deflate_reader r = { .block_max = GZIP_BLOCK_MAX,
	    .member_max = MEMBER_MAX, .plain = PLAIN_LEN };
	size_t n = 0, end = 0;
	bool last = false;

	assert_int_equal(input_open_from(&in, take, f), 0);
	memset(kinds, 0, 3 * sizeof(*kinds));
	while (!last && n < room) {
		struct slot s = { 0 };

		assert_int_equal(deflate_scan(&r, &in, &s), 0);
		ends[n++] = end += s.in.len;
		kinds[inflate_notes(&s)->kind]++;
		last = s.last;
		sys_free(s.in.data);
	}
	assert_true(last);
	assert_int_equal(end, f->len);
	carry_close(&r.carry);
	input_close(&in);
	return n;
}

/*
 * 00 00 ff ff 00 00 occurs within a run of stored blocks of 65,535 bytes that
 * end in zeros, and a sync point before a stored block of 7,680 bytes.
 */
static void
stored_behind_a_sync_point(void **state)
{
	static struct file f;
	size_t ends[8], sync;
	unsigned kinds[3];

	(void)state;
	begin(&f);
	add_stored(&f, 3, 65535, 0);
	add_sync(&f);
	sync = f.len;
	add_stored(&f, 1, STORED, 'x');
	add_stored(&f, 3, 65535, 0);
	assert_int_equal(cut(&f, ends, 8, kinds), 2);
	assert_int_equal(ends[0], sync);
	assert_int_equal(kinds[PIECE_SYNC], 2);
}

/* A seemingly endless block is no reason to continue serially. */
static void
one_without_an_end(void **state)
{
	static struct file f;
	size_t ends[64], n, found = 0, sync;
	unsigned kinds[3];

	(void)state;
	begin(&f);
	add_stored(&f, 40, 65535, 'x');
	add_sync(&f);
	sync = f.len;
	add_stored(&f, 10, 65535, 'y');
	add_sync(&f);
	add_stored(&f, 10, 65535, 'z');
	n = cut(&f, ends, 64, kinds);
	for (size_t i = 0; i < n; i++)
		found += ends[i] == sync;
	assert_int_equal(found, 1);
	assert_int_equal(kinds[PIECE_PLAIN], 1);
	assert_true(kinds[PIECE_SYNC] >= 3);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_behind_a_sync_point),
		cmocka_unit_test(one_without_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
