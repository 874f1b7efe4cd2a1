/*
 * test_compact_values.c - compact indexes of which one value is wrong
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The content of an index is written column by column.  With one change it is
 * refused, or has the right entries; nothing in it may lie outside the layer.
 */
#include "lazy/toc/toc_compact.h"

#include "base/bytes.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { LAYER = 100000, END = 90000, STRIDE = 1040, BYTES = 8 };

static char why[LAYER_WHY];

/* A number, or bytes that are none. */
struct number {
	int64_t value;
	uint8_t raw[12];
	size_t raw_len;			/* 0: the value */
};

/* The first entry, a file of two chunks, of which an entry more is the second */
struct spec {
	uint8_t type;
	const char *name, *time;
	struct number size, step, inner, length, attributes, value, shared;
	struct number more_step, more_length;
	size_t cut, longer;		/* a column, from 1 */
	uint32_t entries;		/* said to be */
	uint64_t end, chunks, first, stride;
	size_t digests;			/* bytes of them that are there */
};

static const struct spec good = { .type = COMPACT_REG, .name = "a",
	.time = "2001-09-09T01:46:40Z", .size = { .value = 3000 },
	.step = { .value = 100 }, .length = { .value = 2000 },
	.inner = { .value = 7 }, .attributes = { .value = 1 },
	.value = { .value = 3 }, .more_step = { .value = 5000 },
	.more_length = { .value = 1000 }, .entries = 5, .end = END,
	.chunks = 2, .first = 95000, .stride = STRIDE,
	.digests = LAYER_DIGEST };

static struct strbuf columns[COMPACT_COLUMNS];

static void
put_text(int column, const char *s)
{
	strbuf_add(&columns[column], s, strlen(s) + 1);
}

static void
put_number(enum compact_number which, const struct number *n)
{
	struct strbuf *to = &columns[COMPACT_TEXTS + (size_t)which *
	    COMPACT_PLANES];
	uint64_t value = (uint64_t)n->value;
	size_t len = 0, plane = 0;
	uint8_t raw[12];

	do {
		raw[len++] = (uint8_t)(value & 0x7f) | (value >> 7 != 0 ?
		    0x80 : 0);
		value >>= 7;
	} while (value != 0);
	for (size_t i = 0; i < (n->raw_len > 0 ? n->raw_len : len); i++) {
		strbuf_char(to + plane, (char)(n->raw_len > 0 ? n->raw[i] :
		    raw[i]));
		plane += plane < COMPACT_PLANES - 1;
	}
}

static void
put_value(enum compact_number which, int64_t value)
{
	const struct number n = { .value = value };

	put_number(which, &n);
}

/* An entry without data or attributes. */
static void
put_other(int type, const char *name, int64_t shared)
{
	strbuf_char(&columns[COMPACT_TYPE], (char)type);
	put_text(COMPACT_NAME, name);
	put_value(COMPACT_SHARED, shared);
	put_text(COMPACT_TIME, "=");
	put_text(COMPACT_USER, "");
	put_text(COMPACT_GROUP, "");
	put_value(COMPACT_MODE, 0755);
	put_value(COMPACT_UID, 0);
	put_value(COMPACT_GID, 300);
	put_value(COMPACT_ATTRIBUTES, 0);
}

static void
put_entries(const struct spec *s)
{
	strbuf_char(&columns[COMPACT_TYPE], (char)s->type);
	put_text(COMPACT_NAME, s->name);
	put_number(COMPACT_SHARED, &s->shared);
	put_text(COMPACT_TIME, s->time);
	put_text(COMPACT_USER, "me");
	put_text(COMPACT_GROUP, "us");
	put_value(COMPACT_MODE, 0644);
	put_value(COMPACT_UID, 70000);
	put_value(COMPACT_GID, 0);
	put_number(COMPACT_ATTRIBUTES, &s->attributes);
	put_text(COMPACT_XATTRS, "user.x");
	put_number(COMPACT_VALUE, &s->value);
	strbuf_add(&columns[COMPACT_XATTRS], "one", 4);
	put_number(COMPACT_SIZE, &s->size);
	put_number(COMPACT_STEP, &s->step);
	put_number(COMPACT_INNER, &s->inner);
	put_number(COMPACT_LENGTH, &s->length);
	strbuf_char(&columns[COMPACT_TYPE], COMPACT_CHUNK);
	put_number(COMPACT_STEP, &s->more_step);
	put_value(COMPACT_INNER, 0);
	put_number(COMPACT_LENGTH, &s->more_length);
	put_other(COMPACT_HARDLINK, "b", 0);
	put_text(COMPACT_LINK, "a");
	put_other(COMPACT_SYMLINK, "c", 1);
	put_text(COMPACT_LINK, "../x");
	put_other(COMPACT_CHAR, "d", 0);
	put_value(COMPACT_MAJOR, 1);
	put_value(COMPACT_MINOR, 3);
}

/* Appends a block with all entries, and the trailer. */
static void
make(const struct spec *s, struct strbuf *b)
{
	static const char digests[4 * LAYER_DIGEST];
	uint8_t raw[COMPACT_TRAILER] = { 0 };

	put_entries(s);
	if (s->longer > 0)
		strbuf_char(&columns[s->longer - 1], 0);
	if (s->cut > 0 && columns[s->cut - 1].len > 0)
		columns[s->cut - 1].len--;
	store_le32(raw, s->entries);
	strbuf_add(b, raw, 4);
	for (size_t i = 0; i < COMPACT_COLUMNS; i++) {
		store_le32(raw, (uint32_t)columns[i].len);
		strbuf_add(b, raw, 4);
	}
	for (size_t i = 0; i < COMPACT_COLUMNS; i++) {
		strbuf_add(b, columns[i].data, columns[i].len);
		strbuf_free(&columns[i]);
	}
	memset(raw, 0, sizeof(raw));
	strbuf_add(b, raw, 4);
	store_le64(raw, s->end);
	store_le64(raw + 56, s->chunks);
	store_le64(raw + 64, s->first);
	store_le64(raw + 72, s->stride);
	strbuf_add(b, raw, sizeof(raw));
	strbuf_add(b, digests, s->digests);
	assert_false(b->failed);
}

/* Reading it */

struct reader {
	const struct strbuf *b;
	size_t at;
};

static int
read_bytes(void *arg, void *buf, size_t len)
{
	struct reader *r = arg;

	if (len > r->b->len - r->at) {
		strcpy(why, "the end");
		return -EBADMSG;
	}
	if (len > 0)
		memcpy(buf, r->b->data + r->at, len);
	r->at += len;
	return 0;
}

/* What must hold of all that is accepted. */
static void
check(const struct layer *l, const char *what)
{
	size_t units, count;
	const struct layer_unit *u = layer_units(l, &units);
	const struct layer_entry *e = layer_entries(l, &count);

	for (uint32_t i = 0; i < units; i++) {
		struct layer_range r[LAYER_RANGES_MAX];
		size_t n = layer_ranges(l, i, r);

		for (size_t k = 0; k < n; k++)
			if (r[k].offset > LAYER ||
			    r[k].length > LAYER - r[k].offset)
				fail_msg("%s: unit %u", what, i);
		if (u[i].content > LAYER_UNIT_MAX)
			fail_msg("%s: content of unit %u", what, i);
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t end = 0;

		for (size_t k = 0; k < e[i].run_count; k++) {
			const struct layer_run *r = &e[i].runs[k];

			if (r->unit >= units || r->offset < end ||
			    r->inner + r->length > u[r->unit].content ||
			    r->offset + r->length > e[i].size)
				fail_msg("%s: run %zu", what, k);
			end = r->offset + r->length;
		}
	}
}

/* Reads the content.  Text says what is in it. */
static int
read_content(const struct strbuf *b, const char *what, char text[200])
{
	struct reader r = { .b = b };
	const struct toc_compact_source source = { .read = read_bytes,
		.arg = &r };
	struct layer l = { .format = &format_zstd_chunked, .size = LAYER };
	size_t count, at = 0;
	const struct layer_entry *e;
	int rc;

	*why = *text = '\0';
	rc = toc_compact_read(&l, &source, why);
	if (rc == 0) {
		index_finish(&l.index);
		check(&l, what);
		e = layer_entries(&l, &count);
		for (size_t i = 0; i < count && at < 150; i++)
			at += (size_t)snprintf(text + at, 200 - at,
			    "%.9s:%llu+%zu,%zu;", e[i].path,
			    (unsigned long long)e[i].size, e[i].run_count,
			    e[i].xattr_count);
		if (r.at != b->len)
			fail_msg("%s: not all is read", what);
	}
	format_zstd_chunked.close(&l);
	index_free(&l.index);
	return rc;
}

#define USUAL "=a:3000+2,1;b:0+0,0;bc:0+0,0;d:0+0,0;"

#define RAW(...) (struct number){ .raw = { __VA_ARGS__ }, \
	.raw_len = sizeof((uint8_t[]){ __VA_ARGS__ }) }
#define MAX (struct number){ .value = INT64_MAX }
#define IS(n) (struct number){ .value = (n) }

#define CHANGES(X) \
	X(nothing, (void)s, 0, USUAL) \
	X(type, s->type = COMPACT_TYPES, -EBADMSG, "damaged") \
	X(chunk_first, s->type = COMPACT_CHUNK, -EBADMSG, "does not follow") \
	X(shares, s->shared = IS(1), -EBADMSG, "damaged") \
	X(leads_out, s->name = "../a", -EBADMSG, "leads out") \
	X(date, s->time = "now", -EBADMSG, "expected a date") \
	X(long_date, s->time = "2001-09-09T01:46:40.000000000Z0000000000" \
	    "0000000000000000000000000000000000", -EBADMSG, "damaged") \
	X(eight_bytes, s->length = RAW(0x80 + 80, 0x80 + 15, 0x80, 0x80, \
	    0x80, 0x80, 0x80, 0), 0, USUAL) \
	X(nine_bytes, s->length = RAW(0x80 + 80, 0x80 + 15, 0x80, 0x80, 0x80, \
	    0x80, 0x80, 0x80, 0), 0, USUAL) \
	X(ten_bytes, s->length = RAW(0x80 + 80, 0x80 + 15, 0x80, 0x80, 0x80, \
	    0x80, 0x80, 0x80, 0x80, 0), -EBADMSG, "damaged") \
	X(many_attributes, s->attributes = IS(TAR_EXTENSION_MAX / 2 + 1), \
	    -EBADMSG, "damaged") \
	X(two_attributes, s->attributes = IS(2), -EBADMSG, "damaged") \
	X(no_attributes, s->attributes = IS(0), -EBADMSG, "damaged") \
	X(short_value, s->value = IS(2), -EBADMSG, "damaged") \
	X(long_value, s->value = IS(4), -EBADMSG, "damaged") \
	X(huge_value, s->value = MAX, -EBADMSG, "damaged") \
	X(far_step, s->step = MAX, -EBADMSG, "damaged") \
	X(far_steps, s->more_step = MAX, -EBADMSG, "damaged") \
	X(to_the_end, s->more_step = IS(END - 101), 0, USUAL) \
	X(past_the_end, s->more_step = IS(END - 100), -EBADMSG, "past") \
	X(same_unit, s->more_step = IS(0), 0, USUAL) \
	X(long_chunk, s->more_length = MAX, -EBADMSG, "damaged") \
	X(large_chunk, s->more_length = IS(INT64_MAX - 2000), -EFBIG, "") \
	X(too_long, s->more_length = IS(1001), -EBADMSG, "beyond the end") \
	X(shorter, s->more_length = IS(900), 0, USUAL) \
	X(no_length, s->more_length = IS(0), 0, USUAL) \
	X(inner, s->inner = IS(LAYER_UNIT_MAX - 2000), 0, USUAL) \
	X(far_inner, s->inner = IS(LAYER_UNIT_MAX - 1999), -EFBIG, "64 MiB") \
	X(huge_inner, s->inner = MAX, -EFBIG, "64 MiB") \
	X(smaller, s->size = IS(2999), -EBADMSG, "beyond the end") \
	X(larger, s->size = IS(3001), 0, "=a:3001+2,1;b:0+0,0;bc:0+0,0;" \
	    "d:0+0,0;") \
	X(few_entries, s->entries = 4, -EBADMSG, "damaged") \
	X(many_entries, s->entries = 6, -EBADMSG, "damaged") \
	X(few_chunks, s->chunks = 1, -EBADMSG, "damaged") \
	X(many_chunks, s->chunks = 3, -EBADMSG, "damaged") \
	X(end_of_layer, s->end = LAYER, 0, USUAL) \
	X(end_past_it, s->end = LAYER + 1, -EBADMSG, "damaged") \
	X(least_stride, s->stride = 1024, 0, USUAL) \
	X(lesser_stride, s->stride = 1023, -EBADMSG, "damaged") \
	X(most_stride, s->stride = 1088, 0, USUAL) \
	X(more_stride, s->stride = 1089, -EBADMSG, "damaged") \
	X(last_digests, s->first = LAYER - 64, 0, USUAL) \
	X(late_digests, s->first = LAYER - 63, -EBADMSG, "damaged") \
	X(no_digests, s->digests = 31, -EBADMSG, "the end")

#define CHANGE(name, how, rc, text) \
	static void change_##name(struct spec *s) { how; }
CHANGES(CHANGE)
#define ROW(name, how, rc, text) { #name, change_##name, rc, text },

static void
values(void **state)
{
	static const struct {
		const char *name;
		void (*apply)(struct spec *s);
		int rc;
		const char *text;
	} rows[] = { CHANGES(ROW) };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct spec s = good;
		struct strbuf b = { 0 };
		char text[200];
		int rc;

		rows[i].apply(&s);
		make(&s, &b);
		rc = read_content(&b, rows[i].name, text);
		if (rc != rows[i].rc || (rc != 0 ? strstr(why,
		    rows[i].text) == NULL : strcmp(text, rows[i].text + 1) !=
		    0))
			fail_msg("%s: %d, %s%s", rows[i].name, rc, why, text);
		strbuf_free(&b);
	}
}

/* A column with a byte too many, or too few, is damaged. */
static void
lengths(void **state)
{
	(void)state;
	for (size_t i = 1; i <= COMPACT_COLUMNS; i++)
		for (int k = 0; k < 2; k++) {
			struct spec s = good;
			struct strbuf b = { 0 }, before = { 0 };
			char text[200];

			make(&s, &before);
			s.cut = k == 0 ? i : 0;
			s.longer = k == 0 ? 0 : i;
			make(&s, &b);
			if (b.len != before.len && read_content(&b, "length",
			    text) != -EBADMSG)
				fail_msg("column %zu, %d", i, k);
			strbuf_free(&before);
			strbuf_free(&b);
		}
}

/* Whatever changes, nothing lies outside the layer. */
static void
bytes(void **state)
{
	static const uint8_t to[BYTES] = { 1, 2, 4, 8, 16, 64, 128, 255 };
	struct strbuf b = { 0 };
	unsigned accepted = 0;

	(void)state;
	make(&good, &b);
	for (size_t i = 0; i < b.len; i++)
		for (size_t k = 0; k < BYTES; k++) {
			char text[200];
			int rc;

			b.data[i] ^= (char)to[k];
			rc = read_content(&b, "byte", text);
			if (rc > 0 || (rc != 0 && rc != -ENOMEM &&
			    *why == '\0'))
				fail_msg("byte %zu: %d, %s", i, rc, why);
			accepted += rc == 0;
			b.data[i] ^= (char)to[k];
		}
	assert_in_range(accepted, 100, b.len * BYTES - 100);
	/* nor is an index that ends */
	for (size_t len = b.len; len-- > 0;) {
		struct strbuf part = { .data = b.data, .len = len };
		char text[200];

		assert_int_equal(read_content(&part, "end", text), -EBADMSG);
	}
	strbuf_free(&b);
}

/* Nothing beyond an annotation that is too short is read. */
static void
annotation(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS, -1, 0);
	uint8_t digest[LAYER_DIGEST];

	(void)state;
	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + page, page, PROT_NONE), 0);
	for (size_t len = 0; len < 80; len++) {
		struct layer_expect e = { .kind = NULL };
		char *text = p + page - len - 1;

		memset(text, '1', len);
		memcpy(text, "sha256:", len < 7 ? len : 7);
		text[len] = '\0';
		assert_int_equal(layer_expect_compact(&e, digest, text),
		    -EINVAL);
	}
	munmap(p, 2 * page);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(lengths),
		cmocka_unit_test(bytes),
		cmocka_unit_test(annotation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
