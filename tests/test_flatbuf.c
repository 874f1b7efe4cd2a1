/* SPDX-License-Identifier: BSD-2-Clause */
#include "lazy/ztoc/flatbuf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ROOM = 8 << 20 };

struct result {
	size_t len;
	uint8_t data[ROOM];
};

static int
put(void *arg, const void *data, size_t len)
{
	struct result *r = arg;

	assert_in_range(r->len + len, 0, ROOM);
	memcpy(r->data + r->len, data, len);
	r->len += len;
	return 0;
}

static struct result *
new_result(void)
{
	struct result *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	return r;
}

/*
 * A table with a byte in slot 0, a string in 1, a number in 3, and a field in 2
 * with its default value; laid out by hand, following "FlatBuffer Internals".
 */
static const uint8_t small[] = {
	20, 0, 0, 0,		/* the root table is at byte 20 */
	0, 0, 0, 0,
	12, 0, 20, 0,		/* sizes of the vtable and of the table */
	7, 0, 8, 0, 0, 0, 12, 0,	/* slots 0 to 3 */
	12, 0, 0, 0,		/* the vtable is 12 bytes before this */
	0, 0, 0, 9,
	12, 0, 0, 0,		/* the string is 12 bytes after this */
	8, 7, 6, 5, 4, 3, 2, 1,
	3, 0, 0, 0, 'a', 'b', 'c', 0,
};

enum { AT_VTABLE = 8, AT_SLOTS = 12, AT_TABLE = 20, AT_REF = 28,
	AT_STRING = 40 };

/* Reads the whole buffer.  Returns 0 or -EBADMSG. */
static int
read_small(const uint8_t *data, size_t len, uint8_t *byte,
    struct flatbuf_bytes *text, uint64_t *number)
{
	struct flatbuf b = { data, len };
	struct flatbuf_table t;
	int rc = flatbuf_root(&b, &t);

	*byte = 1;
	*number = 0;
	if (rc == 0)
		rc = flatbuf_u8(&t, 0, byte);
	if (rc == 0)
		rc = flatbuf_string(&t, 1, text);
	if (rc == 0)
		rc = flatbuf_u64(&t, 3, number);
	return rc;
}

static void
layout(void **state)
{
	struct result *r = new_result();
	struct flatbuf_writer *w;
	uint32_t text;

	(void)state;
	assert_int_equal(flatbuf_writer_open(&w, "."), 0);
	text = flatbuf_put_string(w, "abc", 3);
	flatbuf_table_begin(w);
	flatbuf_put_u64(w, 3, UINT64_C(0x0102030405060708));
	flatbuf_put_ref(w, 1, text);
	flatbuf_put_u8(w, 0, 9, 1);
	flatbuf_put_u8(w, 2, 1, 1);
	assert_int_equal(flatbuf_finish(w, flatbuf_table_end(w), put, r), 0);
	flatbuf_writer_close(w);
	assert_int_equal(r->len, sizeof(small));
	assert_memory_equal(r->data, small, sizeof(small));
	free(r);
}

static void
reading(void **state)
{
	struct flatbuf b = { small, sizeof(small) };
	struct flatbuf_bytes text;
	struct flatbuf_table t;
	uint64_t number, absent = 77;
	uint8_t byte;

	(void)state;
	assert_int_equal(read_small(small, sizeof(small), &byte, &text,
	    &number), 0);
	assert_int_equal(byte, 9);
	assert_int_equal(number, UINT64_C(0x0102030405060708));
	assert_int_equal(text.len, 3);
	assert_string_equal((const char *)text.data, "abc");
	assert_int_equal(flatbuf_root(&b, &t), 0);
	assert_int_equal(flatbuf_u64(&t, 2, &absent), 0);
	assert_int_equal(flatbuf_u64(&t, 200, &absent), 0);
	assert_int_equal(absent, 77);
	assert_int_equal(flatbuf_string(&t, 2, &text), 0);
	assert_int_equal(text.len, 0);
	assert_int_equal(flatbuf_table(&t, 2, &t), -EBADMSG);
}

/* Changes one byte; the error is found when that part is read. */
static void
damage(void **state)
{
	static const struct { size_t at; uint8_t value; } bad[] = {
		{ 0, 3 },			/* root: inside its own
						 * offset */
		{ 0, 45 }, { 3, 0x80 },		/* past the end */
		{ AT_TABLE, 21 }, { AT_TABLE + 3, 0x80 },	/* vtable */
		{ AT_VTABLE, 3 }, { AT_VTABLE, 13 }, { AT_VTABLE, 200 },
		{ AT_VTABLE + 2, 3 }, { AT_VTABLE + 2, 200 },
		{ AT_SLOTS, 20 }, { AT_SLOTS, 3 }, { AT_SLOTS + 2, 17 },
		{ AT_SLOTS + 6, 13 },
		{ AT_REF, 3 }, { AT_REF, 17 }, { AT_REF + 3, 1 },
		{ AT_STRING, 2 }, { AT_STRING, 4 }, { AT_STRING + 3, 0xff },
	};
	uint8_t copy[sizeof(small)], byte;
	struct flatbuf_bytes text;
	uint64_t number;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(copy, small, sizeof(small));
		copy[bad[i].at] = bad[i].value;
		assert_int_equal(read_small(copy, sizeof(copy), &byte, &text,
		    &number), -EBADMSG);
	}
	for (size_t len = 0; len < sizeof(small); len++)
		assert_int_equal(read_small(small, len, &byte, &text,
		    &number), -EBADMSG);
}

/* Tests more data than is kept in memory, and tables that share a vtable. */
static void
large(void **state)
{
	enum { PIECES = 50, PIECE = 100000, TABLES = 1000 };
	struct result *r = new_result();
	uint32_t tables[TABLES], all, bytes;
	struct flatbuf b = { r->data, 0 };
	struct flatbuf_refs refs;
	struct flatbuf_bytes v;
	struct flatbuf_table root, t;
	struct flatbuf_writer *w;
	uint8_t *piece = malloc(PIECE);

	(void)state;
	assert_non_null(piece);
	assert_int_equal(flatbuf_writer_open(&w, "."), 0);
	for (uint32_t i = 0; i < TABLES; i++) {
		flatbuf_table_begin(w);
		flatbuf_put_u32(w, 1, i + 1);
		tables[i] = flatbuf_table_end(w);
	}
	all = flatbuf_put_refs(w, tables, TABLES);
	flatbuf_bytes_begin(w, (uint64_t)PIECES * PIECE);
	for (int i = PIECES; i > 0; i--) {
		memset(piece, i, PIECE);
		flatbuf_bytes_piece(w, piece, PIECE);
	}
	bytes = flatbuf_bytes_end(w, (uint64_t)PIECES * PIECE);
	flatbuf_table_begin(w);
	flatbuf_put_ref(w, 0, all);
	flatbuf_put_ref(w, 1, bytes);
	assert_int_equal(flatbuf_finish(w, flatbuf_table_end(w), put, r), 0);
	flatbuf_writer_close(w);
	b.len = r->len;
	/* 8 bytes per table, 4 per reference, and little more */
	assert_in_range(r->len, PIECES * PIECE + 12 * TABLES,
	    PIECES * PIECE + 12 * TABLES + 100);
	assert_int_equal(flatbuf_root(&b, &root), 0);
	assert_int_equal(flatbuf_vector(&root, 1, 1, &v), 0);
	assert_int_equal(v.len, PIECES * PIECE);
	for (uint32_t i = 0; i < v.len; i++)
		assert_int_equal(v.data[i], i / PIECE + 1);
	assert_int_equal(flatbuf_refs(&root, 0, &refs), 0);
	assert_int_equal(refs.count, TABLES);
	for (uint32_t i = 0; i < TABLES; i++) {
		uint32_t value = 0;

		assert_int_equal(flatbuf_ref_table(&refs, i, &t), 0);
		assert_int_equal(flatbuf_u32(&t, 1, &value), 0);
		assert_int_equal(value, i + 1);
	}
	free(piece);
	free(r);
}

static void
no_room(void **state)
{
	static uint8_t piece[1 << 20];
	struct flatbuf_writer *w;
	struct result *r = new_result();

	(void)state;
	assert_int_equal(flatbuf_writer_open(&w, "./no such folder"), 0);
	flatbuf_put_bytes(w, piece, sizeof(piece));
	flatbuf_table_begin(w);
	assert_int_equal(flatbuf_finish(w, flatbuf_table_end(w), put, r),
	    -ENOENT);
	flatbuf_writer_close(w);
	assert_int_equal(r->len, 0);
	free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),
		cmocka_unit_test(reading),
		cmocka_unit_test(damage),
		cmocka_unit_test(large),
		cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
