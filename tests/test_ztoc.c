/*
 * test_ztoc.c - handmade ztocs whose entries share vectors
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/ztoc/ztoc.h"

#include "base/bytes.h"
#include "base/strbuf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LAYER = 1024, ITEMS = 64, ENTRIES = 400, SLOTS = 16 };

static char why[LAYER_WHY];

static int
size_of(void *arg, const char *object, uint64_t *size)
{
	const struct strbuf *z = arg;

	*size = object == NULL ? LAYER : z->len;
	return 0;
}

static int
read_ranges(void *arg, const struct layer_range *r, size_t count)
{
	const struct strbuf *z = arg;

	for (size_t i = 0; i < count; i++) {
		if (r[i].object == NULL)
			memset(r[i].buf, 0, (size_t)r[i].length);
		else
			memcpy(r[i].buf, z->data + r[i].offset,
			    (size_t)r[i].length);
	}
	return 0;
}

/* FlatBuffers: an object precedes everything it refers to */

static void
add32(struct strbuf *b, uint32_t value)
{
	uint8_t raw[4];

	store_le32(raw, value);
	strbuf_add(b, raw, sizeof(raw));
}

/* Makes the offset at `from` refer to the position `to`. */
static void
point(struct strbuf *b, size_t from, size_t to)
{
	store_le32((uint8_t *)b->data + from, (uint32_t)(to - from));
}

/*
 * Adds a table with fields of 8 bytes, which are zero, in the slots of the
 * mask.  Returns where it begins; its first field follows after 4 bytes.
 */
static size_t
table(struct strbuf *b, unsigned mask)
{
	uint8_t vtable[4 + 2 * SLOTS] = { 0 };
	unsigned at = 4;

	for (unsigned i = 0; i < SLOTS; i++)
		if ((mask >> i & 1) != 0) {
			store_le16(vtable + 4 + 2 * i, (uint16_t)at);
			at += 8;
		}
	store_le16(vtable, sizeof(vtable));
	store_le16(vtable + 2, (uint16_t)at);
	strbuf_add(b, vtable, sizeof(vtable));
	add32(b, sizeof(vtable));
	for (unsigned i = 4; i < at; i += 4)
		add32(b, 0);
	return b->len - at;
}

static void
bytes(struct strbuf *b, size_t from, const void *data, size_t len)
{
	point(b, from, b->len);
	add32(b, (uint32_t)len);
	strbuf_add(b, data, len);
	strbuf_char(b, '\0');
}

static void
text(struct strbuf *b, size_t from, const char *s)
{
	bytes(b, from, s, strlen(s));
}

/* Adds a vector of offsets or extents, all zero.  Returns its first item. */
static size_t
vector(struct strbuf *b, size_t count, size_t size)
{
	size_t at = b->len + 4;

	add32(b, (uint32_t)count);
	for (size_t i = 0; i < count * size; i += 4)
		add32(b, 0);
	return at;
}

/* The spans of an uncompressed layer: just one */
static void
add_spans(struct strbuf *b, size_t from)
{
	struct strbuf plain = { .len = 0 };
	size_t at = table(b, 1 << COMPRESSION_KIND | 1 << COMPRESSION_DIGESTS |
	    1 << COMPRESSION_CHECKPOINTS), span;

	point(b, from, at);
	b->data[at + 4] = ZTOC_PLAIN;
	point(b, at + 12, b->len);
	text(b, vector(b, 1, 4), "sha256:0123456789abcdef0123456789abcdef"
	    "0123456789abcdef0123456789abcdef");
	add32(&plain, 0);
	span = table(&plain, 1 << PLAIN_SPAN);
	point(&plain, 0, span);
	store_le64((uint8_t *)plain.data + span + 4, LAYER);
	bytes(b, at + 20, plain.data, plain.len);
	strbuf_free(&plain);
}

/* Adds a vector of items that have no effect to this slot of an entry. */
static size_t
add_items(struct strbuf *b, unsigned slot)
{
	size_t at = vector(b, ITEMS, slot == ENTRY_PAX ? 4 : ZTOC_EXTENT);

	if (slot == ENTRY_PAX) {
		size_t record = table(b, 0);

		for (size_t i = 0; i < ITEMS; i++)
			point(b, at + 4 * i, record);
	}
	return at - 4;
}

/* Adds empty files, which share the vector in a slot. */
static void
add_entries(struct strbuf *b, size_t from, unsigned count, unsigned slot)
{
	size_t toc = table(b, 1 << TOC_ENTRIES), refs, items;
	size_t fields[ENTRIES];

	point(b, from, toc);
	point(b, toc + 4, b->len);
	refs = vector(b, count, 4);
	for (unsigned i = 0; i < count; i++) {
		size_t at = table(b, 1 << ENTRY_NAME | 1 << ENTRY_TYPE |
		    1U << slot);

		point(b, refs + 4 * i, at);
		text(b, at + 4, "name");
		text(b, at + 12, "reg");
		fields[i] = at + 20;
	}
	items = add_items(b, slot);
	for (unsigned i = 0; i < count; i++)
		point(b, fields[i], items);
}

/* Opens a ztoc with such entries.  Returns what layer_open() does. */
static int
opens(unsigned count, unsigned slot)
{
	struct strbuf z = { .len = 0 };
	struct layer_blobs b = { read_ranges, size_of, &z };
	struct layer_expect e = { .kind = "ztoc" };
	struct layer *l;
	size_t root;
	int rc;

	add32(&z, 0);
	root = table(&z, 1 << ZTOC_VERSION | 1 << ZTOC_STORED |
	    1 << ZTOC_CONTENT | 1 << ZTOC_TOC | 1 << ZTOC_COMPRESSION);
	point(&z, 0, root);
	text(&z, root + 4, ZTOC_THE_VERSION);
	store_le64((uint8_t *)z.data + root + 12, LAYER);
	store_le64((uint8_t *)z.data + root + 20, LAYER);
	add_spans(&z, root + 36);
	add_entries(&z, root + 28, count, slot);
	assert_false(z.failed);
	*why = '\0';
	rc = layer_open(&l, &b, &e, why);
	if (rc == 0)
		layer_close(l);
	strbuf_free(&z);
	return rc;
}

/*
 * A shared vector is read once for each entry, so a ztoc could take arbitrarily
 * long to read.
 */
static void
test_shared(void **state)
{
	(void)state;
	assert_int_equal(opens(1, ENTRY_PAX), 0);
	assert_int_equal(opens(1, ENTRY_EXTENTS), 0);
	assert_int_equal(opens(ENTRIES, ENTRY_PAX), -EBADMSG);
	assert_non_null(strstr(why, "an entry"));
	assert_int_equal(opens(ENTRIES, ENTRY_EXTENTS), -EBADMSG);
	assert_non_null(strstr(why, "an entry"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
