/*
 * test_ztoc_values.c - ztocs of which one value is wrong
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A ztoc of each kind is written from a description.  With one change it is
 * refused, for the right reason, or has the right entries.
 */
#include "lazy/ztoc/ztoc.h"

#include "base/bytes.h"
#include "base/strbuf.h"
#include "lazy/ztoc/flatbuf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <cmocka.h>

enum { LAYER = 5000, CONTENT = 9000, SPANS = 3, WINDOW = 300 };

#define DIGEST "sha256:0123456789abcdef0123456789abcdef" \
    "0123456789abcdef0123456789abcdef"

enum kind { RAW, PACKED, PLAIN, KINDS };

struct point {
	uint64_t in, out;
	uint8_t bits;
	uint32_t window;
};

struct item {
	const char *name, *type, *link, *uname, *gname, *mtime;
	const char *key;	/* of a record, or NULL */
	uint64_t at, stored, size, mode, major, minor;
	uint64_t extents[4];
	size_t extent_bytes;
};

/* What a ztoc says. */
struct spec {
	enum kind kind;
	const char *version;
	uint64_t stored, content, span;
	uint8_t how;			/* COMPRESSION_KIND */
	uint32_t last, said;		/* said: number of checkpoints */
	const char *digest;
	uint32_t digests;
	struct point p[SPANS];
	size_t first;			/* first point written */
	int more;			/* bytes after the points, or fewer */
	struct item e[2];
	/* the footer */
	uint64_t index, index_len, index_content, magic;
	uint32_t frame;
	uint64_t windows;		/* bytes before the index */
};

static const struct spec good[KINDS] = {
#define ENTRIES .e = { { .name = "a", .type = "reg", .link = "", \
	    .uname = "me", .gname = "us", .key = "SCHILY.xattr.user.a", \
	    .mtime = "2001-09-09T01:46:40Z", .at = 512, .stored = 4000, \
	    .mode = 0644 }, { .name = "b", .type = "reg", .link = "", \
	    .uname = "", .gname = "", .mtime = "", .at = 5000, \
	    .stored = 600, .size = 10000, .extents = { 1000, 100, 2000, 500 }, \
	    .extent_bytes = 32 } }
	[RAW] = { .kind = RAW, .version = "0.9", .stored = LAYER,
	    .content = CONTENT, .how = ZTOC_GZIP, .last = 2, .said = SPANS,
	    .digest = DIGEST, .digests = SPANS, .p = { { 10, 0, 0, 0 },
	    { 2000, 3000, 3, 0 }, { 4000, 7000, 7, 0 } }, ENTRIES },
	[PACKED] = { .kind = PACKED, .version = "0.9", .stored = LAYER,
	    .content = CONTENT, .how = ZTOC_GZIP, .last = 2,
	    .digest = DIGEST, .digests = SPANS, .p = { { 10, 0, 0, 0 },
	    { 2000, 3000, 3, WINDOW }, { 4000, 7000, 0, WINDOW } },
	    .windows = 2 * WINDOW, .frame = ZTOC_FOOTER_MAGIC,
	    .magic = ZTOC_MAGIC, ENTRIES },
	[PLAIN] = { .kind = PLAIN, .version = "0.9", .stored = CONTENT,
	    .content = CONTENT, .how = ZTOC_PLAIN, .last = 2, .span = 3000,
	    .digest = DIGEST, .digests = SPANS, ENTRIES },
};

/* The file */

static int
add_bytes(void *arg, const void *data, size_t len)
{
	struct strbuf *b = arg;

	strbuf_add(b, data, len);
	return b->failed ? -ENOMEM : 0;
}

static uint32_t
put_text(struct flatbuf_writer *w, const char *s)
{
	return flatbuf_put_string(w, s, strlen(s));
}

static uint32_t
put_item(struct flatbuf_writer *w, const struct item *e)
{
	uint32_t name = put_text(w, e->name), type = put_text(w, e->type);
	uint32_t link = put_text(w, e->link), uname = put_text(w, e->uname);
	uint32_t gname = put_text(w, e->gname), mtime = put_text(w, e->mtime);
	uint32_t record = 0, pax = 0, extents = 0;

	if (e->key != NULL) {
		uint32_t key = put_text(w, e->key);
		uint32_t value = put_text(w, "one");

		flatbuf_table_begin(w);
		flatbuf_put_ref(w, PAX_KEY, key);
		flatbuf_put_ref(w, PAX_VALUE, value);
		record = flatbuf_table_end(w);
		pax = flatbuf_put_refs(w, &record, 1);
	}
	if (e->extent_bytes > 0) {
		uint8_t raw[32];

		for (int i = 0; i < 4; i++)
			store_le64(raw + 8 * i, e->extents[i]);
		/* a vector is counted in items */
		flatbuf_bytes_begin(w, e->extent_bytes);
		flatbuf_bytes_piece(w, raw, e->extent_bytes);
		extents = flatbuf_bytes_end(w, e->extent_bytes / ZTOC_EXTENT);
	}
	flatbuf_table_begin(w);
	flatbuf_put_ref(w, ENTRY_NAME, name);
	flatbuf_put_ref(w, ENTRY_TYPE, type);
	flatbuf_put_ref(w, ENTRY_LINK, link);
	flatbuf_put_ref(w, ENTRY_UNAME, uname);
	flatbuf_put_ref(w, ENTRY_GNAME, gname);
	flatbuf_put_ref(w, ENTRY_MTIME, mtime);
	flatbuf_put_u64(w, ENTRY_OFFSET, e->at);
	flatbuf_put_u64(w, ENTRY_STORED, e->stored);
	flatbuf_put_u64(w, ENTRY_MODE, e->mode);
	flatbuf_put_u32(w, ENTRY_UID, 7);
	flatbuf_put_u32(w, ENTRY_GID, 8);
	flatbuf_put_u64(w, ENTRY_MAJOR, e->major);
	flatbuf_put_u64(w, ENTRY_MINOR, e->minor);
	flatbuf_put_u64(w, ENTRY_SIZE, e->size);
	if (pax != 0)
		flatbuf_put_ref(w, ENTRY_PAX, pax);
	if (extents != 0)
		flatbuf_put_ref(w, ENTRY_EXTENTS, extents);
	return flatbuf_table_end(w);
}

/* The points, as bytes. */
static void
points(const struct spec *s, struct strbuf *b)
{
	static const uint8_t window[ZTOC_WINDOW], digest[LAYER_DIGEST];
	uint8_t raw[21];

	if (s->kind == RAW) {
		store_le32(raw, s->said);
		store_le64(raw + 4, 1 << 20);
		strbuf_add(b, raw, ZTOC_CHECKPOINTS_HEAD);
	}
	for (size_t i = s->first; i < SPANS; i++) {
		store_le64(raw, s->p[i].in);
		store_le64(raw + 8, s->p[i].out);
		raw[16] = s->p[i].bits;
		store_le32(raw + 17, s->p[i].window);
		strbuf_add(b, raw, s->kind == RAW ? 17 : 21);
		if (s->kind == RAW)
			strbuf_add(b, window, sizeof(window));
		else
			strbuf_add(b, digest, sizeof(digest));
	}
	for (int i = 0; i < s->more; i++)
		strbuf_char(b, 0);
	if (s->more < 0)
		b->len -= (size_t)-s->more;
}

static void
plain_spans(const struct spec *s, struct strbuf *b)
{
	struct flatbuf_writer *w;

	assert_int_equal(flatbuf_writer_open(&w, "."), 0);
	flatbuf_table_begin(w);
	flatbuf_put_u32(w, PLAIN_VERSION, ZTOC_PLAIN_VERSION);
	flatbuf_put_u64(w, PLAIN_SPAN, s->span);
	assert_int_equal(flatbuf_finish(w, flatbuf_table_end(w), add_bytes, b),
	    0);
	flatbuf_writer_close(w);
}

static void
make_index(const struct spec *s, struct strbuf *to)
{
	struct strbuf p = { 0 };
	uint32_t items[2], digests[SPANS + 1], version, at, refs, toc, spans;
	struct flatbuf_writer *w;

	if (s->kind == PLAIN)
		plain_spans(s, &p);
	else
		points(s, &p);
	assert_int_equal(flatbuf_writer_open(&w, "."), 0);
	for (int i = 0; i < 2; i++)
		items[i] = put_item(w, &s->e[i]);
	refs = flatbuf_put_refs(w, items, 2);
	flatbuf_table_begin(w);
	flatbuf_put_ref(w, TOC_ENTRIES, refs);
	toc = flatbuf_table_end(w);
	for (uint32_t i = 0; i < s->digests; i++)
		digests[i] = put_text(w, s->digest);
	refs = flatbuf_put_refs(w, digests, s->digests);
	at = flatbuf_put_bytes(w, p.data, p.len);
	flatbuf_table_begin(w);
	flatbuf_put_u8(w, COMPRESSION_KIND, s->how, 99);
	flatbuf_put_u32(w, COMPRESSION_LAST, s->last);
	flatbuf_put_ref(w, COMPRESSION_DIGESTS, refs);
	flatbuf_put_ref(w, s->kind == PACKED ? COMPRESSION_POINTS :
	    COMPRESSION_CHECKPOINTS, at);
	spans = flatbuf_table_end(w);
	version = put_text(w, s->version);
	flatbuf_table_begin(w);
	flatbuf_put_ref(w, ZTOC_VERSION, version);
	flatbuf_put_u64(w, ZTOC_STORED, s->stored);
	flatbuf_put_u64(w, ZTOC_CONTENT, s->content);
	flatbuf_put_ref(w, ZTOC_TOC, toc);
	flatbuf_put_ref(w, ZTOC_COMPRESSION, spans);
	assert_int_equal(flatbuf_finish(w, flatbuf_table_end(w), add_bytes,
	    to), 0);
	flatbuf_writer_close(w);
	strbuf_free(&p);
}

/* Wraps the index; members of the footer are added to what is right. */
static void
wrap(const struct spec *s, struct strbuf *b)
{
	uint8_t footer[ZTOC_FOOTER];
	size_t bound = ZSTD_compressBound(b->len), len;
	char *frame = malloc(bound);

	if (s->kind == PACKED) {
		len = ZSTD_compress(frame, bound, b->data, b->len, 1);
		store_le32(footer, s->frame);
		store_le32(footer + 4, 32);
		store_le64(footer + 8, s->index + s->windows);
		store_le64(footer + 16, s->index_len + len);
		store_le64(footer + 24, s->index_content + b->len);
		store_le64(footer + 32, s->magic);
		strbuf_clear(b);
		for (uint64_t i = 0; i < s->windows; i++)
			strbuf_char(b, 0);
		strbuf_add(b, frame, len);
		strbuf_add(b, footer, sizeof(footer));
	}
	assert_false(b->failed);
	free(frame);
}

/* Opening */

struct source {
	const struct strbuf *ztoc;
	uint64_t size;			/* of the layer */
};

static int
size_of(void *arg, const char *object, uint64_t *size)
{
	const struct source *s = arg;

	*size = object == NULL ? s->size : s->ztoc->len;
	return 0;
}

static int
read_ranges(void *arg, const struct layer_range *r, size_t count)
{
	const struct source *s = arg;

	for (size_t i = 0; i < count; i++) {
		uint64_t size = r[i].object == NULL ? s->size : s->ztoc->len;

		if (r[i].offset > size || r[i].length > size - r[i].offset)
			return -ENODATA;
		if (r[i].object == NULL)
			memset(r[i].buf, 0, (size_t)r[i].length);
		else
			memcpy(r[i].buf, s->ztoc->data + r[i].offset,
			    (size_t)r[i].length);
	}
	return 0;
}

/* What must hold of any layer that is opened. */
static void
check(const struct layer *l, const struct source *s, const char *what)
{
	size_t units, count;
	const struct layer_unit *u = layer_units(l, &units);
	const struct layer_entry *e = layer_entries(l, &count);

	for (uint32_t i = 0; i < units; i++) {
		struct layer_range r[LAYER_RANGES_MAX];
		size_t n = layer_ranges(l, i, r);
		uint64_t stored = 0;

		for (size_t k = 0; k < n; k++) {
			uint64_t size = r[k].object == NULL ? s->size :
			    s->ztoc->len;

			stored += r[k].length;
			if (r[k].offset > size ||
			    r[k].length > size - r[k].offset)
				fail_msg("%s: unit %u is outside", what, i);
		}
		if (stored != u[i].stored || u[i].content > LAYER_UNIT_MAX)
			fail_msg("%s: size of unit %u", what, i);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < e[i].run_count; k++) {
			const struct layer_run *r = &e[i].runs[k];

			if (r->unit >= units || r->length == 0 ||
			    r->inner + r->length > u[r->unit].content ||
			    r->offset + r->length > e[i].size ||
			    (k > 0 && r->offset < r[-1].offset +
			    r[-1].length))
				fail_msg("%s: run %zu of entry %zu", what, k,
				    i);
		}
}

static int
open_ztoc(const struct spec *s, const struct strbuf *z, const char *what,
    char why[LAYER_WHY], char text[200])
{
	struct source from = { z, s->kind == PLAIN ? CONTENT : LAYER };
	struct layer_blobs b = { read_ranges, size_of, &from };
	struct layer_expect expect = { .kind = "ztoc" };
	const struct layer_entry *e;
	struct layer *l;
	size_t count, at = 0;
	int rc;

	*why = *text = '\0';
	rc = layer_open(&l, &b, &expect, why);
	if (rc != 0)
		return rc;
	check(l, &from, what);
	e = layer_entries(l, &count);
	for (size_t i = 0; i < count; i++)
		at += (size_t)snprintf(text + at, 200 - at, "%s:%llu,%zu,%zu;",
		    e[i].path, (unsigned long long)e[i].size, e[i].run_count,
		    e[i].xattr_count);
	layer_close(l);
	return 0;
}

/* The changes: name, what is changed, and the reason; "=": the entries */

#define LIKE_BEFORE "=a:4000,2,1;b:10000,2,0;"

#define OF_ALL(X) \
	X(nothing, (void)s, 0, LIKE_BEFORE) \
	X(version, s->version = "0.8", -EBADMSG, "version") \
	X(longer_version, s->version = "0.9a", -EBADMSG, "version") \
	X(less_stored, s->stored--, -EBADMSG, "describes a layer") \
	X(more_stored, s->stored++, -EBADMSG, "describes a layer") \
	X(low_kind, s->how = 0, -EBADMSG, "the compression") \
	X(high_kind, s->how = 3, -EBADMSG, "the compression") \
	X(few_digests, s->digests--, -EBADMSG, "the spans") \
	X(many_digests, s->digests++, -EBADMSG, "the spans") \
	X(no_digest, s->digest = "sha256:0123", -EBADMSG, "the spans") \
	X(many_spans, s->last = 1 << 20, -EBADMSG, "the number of spans") \
	X(all_spans, s->last = UINT32_MAX, -EBADMSG, "the spans") \
	X(less_content, s->content = 8500, 0, LIKE_BEFORE) \
	X(no_content, s->content = 100, -EBADMSG, "outside the archive") \
	X(least_content, s->content = 5600, 0, LIKE_BEFORE) \
	X(lesser_content, s->content = 5599, -EBADMSG, "outside the archive") \
	X(no_name, s->e[0].name = "", -EBADMSG, "an entry") \
	X(bad_name, s->e[0].name = "../a", -EBADMSG, "leads out") \
	X(type, s->e[0].type = "rag", -EBADMSG, "an entry") \
	X(directory, s->e[0].type = "dir", 0, "=a:0,0,1;b:10000,2,0;") \
	X(date, s->e[0].mtime = "yesterday", -EBADMSG, "an entry") \
	X(no_date, s->e[0].mtime = "", 0, LIKE_BEFORE) \
	X(major, s->e[0].major = UINT32_MAX, 0, LIKE_BEFORE) \
	X(large_major, s->e[0].major = 1ULL << 32, -EBADMSG, "an entry") \
	X(minor, s->e[0].minor = UINT32_MAX, 0, LIKE_BEFORE) \
	X(large_minor, s->e[0].minor = 1ULL << 32, -EBADMSG, "an entry") \
	X(other_key, s->e[0].key = "path", 0, "=a:4000,2,0;b:10000,2,0;") \
	X(overlap, s->e[1].at = 4511, -EBADMSG, "overlaps") \
	X(adjacent, s->e[1].at = 4512, 0, LIKE_BEFORE) \
	X(beyond, s->e[1].at = 9001, -EBADMSG, "outside the archive") \
	X(at_end, (s->e[1].at = 8400), 0, LIKE_BEFORE) \
	X(past_end, (s->e[1].at = 8401), -EBADMSG, "outside the archive") \
	X(huge, s->e[1].stored = UINT64_MAX, -EBADMSG, "outside the archive") \
	X(many_extents, s->e[1].extents[3] = 501, -EBADMSG, "extents") \
	X(few_extents, s->e[1].extents[3] = 499, -EBADMSG, "extents") \
	X(back, s->e[1].extents[2] = 1099, -EBADMSG, "overlaps") \
	X(touching, s->e[1].extents[2] = 1100, 0, LIKE_BEFORE) \
	X(end_extent, s->e[1].extents[2] = 9500, 0, LIKE_BEFORE) \
	X(past_extent, s->e[1].extents[2] = 9501, -EBADMSG, "beyond the end") \
	X(one_extent, (s->e[1].extent_bytes = 16, s->e[1].stored = 100), 0, \
	    "=a:4000,2,1;b:10000,1,0;")

#define OF_POINTS(X) \
	X(seven_bits, s->p[1].bits = 7, 0, LIKE_BEFORE) \
	X(eight_bits, s->p[1].bits = 8, -EBADMSG, "out of order") \
	X(no_byte_before, (s->p[0].in = 0, s->p[0].bits = 1), -EBADMSG, \
	    "out of order") \
	X(first_byte, (s->p[0].in = 1, s->p[0].bits = 1), 0, LIKE_BEFORE) \
	X(in_order, s->p[1].in = 4000, 0, LIKE_BEFORE) \
	X(in_disorder, s->p[1].in = 4001, -EBADMSG, "out of order") \
	X(last_in, s->p[2].in = 5000, 0, LIKE_BEFORE) \
	X(past_in, s->p[2].in = 5001, -EBADMSG, "out of order") \
	X(out_order, s->p[1].out = 7001, -EBADMSG, "out of order") \
	X(out_late, s->p[0].out = 513, -EBADMSG, "not in any span") \
	X(out_least, s->p[0].out = 512, 0, LIKE_BEFORE) \
	X(out_past, s->p[2].out = 10000, 0, LIKE_BEFORE) \
	X(short_points, s->more = -1, -EBADMSG, "the spans") \
	X(long_points, s->more = 1, -EBADMSG, "the spans") \
	X(no_points, s->first = SPANS, -EBADMSG, "the spans") \
	X(two_first, s->first = 2, -EBADMSG, "the spans")

#define OF_RAW(X) \
	X(few_said, s->said--, -EBADMSG, "the spans") \
	X(many_said, s->said++, -EBADMSG, "the spans") \
	X(first_omitted, s->first = 1, 0, LIKE_BEFORE) \
	X(no_head, s->more = -(SPANS * ZTOC_CHECKPOINT + 1), -EBADMSG, \
	    "the spans")

#define OF_PACKED(X) \
	X(one_omitted, s->first = 1, -EBADMSG, "the spans") \
	X(long_window, s->p[1].window = 2 * ZTOC_WINDOW + 1, -EBADMSG, \
	    "the spans") \
	X(largest_window, (s->p[1].window = 2 * ZTOC_WINDOW, \
	    s->windows = 2 * ZTOC_WINDOW + WINDOW), 0, LIKE_BEFORE) \
	X(larger_window, (s->p[1].window = 2 * ZTOC_WINDOW + 1, \
	    s->windows = 2 * ZTOC_WINDOW + WINDOW + 1), -EBADMSG, \
	    "the spans") \
	X(past_windows, s->p[2].window++, -EBADMSG, "the spans") \
	X(index_later, s->index = 1, -EBADMSG, "the ztoc's footer") \
	X(index_far, s->index = 1ULL << 40, -EBADMSG, "the ztoc's footer") \
	X(index_longer, s->index_len = 1, -EBADMSG, "the ztoc's footer") \
	X(more_content, s->index_content = 1, -EBADMSG, "the index") \
	X(too_little_content, s->index_content = (uint64_t)-1, -EBADMSG, \
	    "the index") \
	X(too_much_content, s->index_content = LAYER_INDEX_MAX, -EFBIG, \
	    "256 MiB") \
	X(other_frame, s->frame++, -EBADMSG, "the ztoc is damaged") \
	X(other_magic, s->magic++, -EBADMSG, "the ztoc is damaged")

#define OF_PLAIN(X) \
	X(no_span, s->span = 0, -EBADMSG, "the spans") \
	X(short_span, s->span = 2999, 0, LIKE_BEFORE) \
	X(wide_span, s->span = 4501, -EBADMSG, "out of order") \
	X(large_span, s->span = LAYER_UNIT_MAX + 1ULL, -EBADMSG, "the spans") \
	X(long_archive, s->content = CONTENT + 1, -EBADMSG, "too short")

#define CHANGE(name, how, rc, text) \
	static void change_##name(struct spec *s) { how; }
OF_ALL(CHANGE)
OF_POINTS(CHANGE)
OF_RAW(CHANGE)
OF_PACKED(CHANGE)
OF_PLAIN(CHANGE)

struct change {
	const char *name;
	void (*apply)(struct spec *s);
	int rc;
	const char *text;
};

#define ROW(name, how, rc, text) { #name, change_##name, rc, text },
static const struct change of_all[] = { OF_ALL(ROW) };
static const struct change of_points[] = { OF_POINTS(ROW) };
static const struct change of_raw[] = { OF_RAW(ROW) };
static const struct change of_packed[] = { OF_PACKED(ROW) };
static const struct change of_plain[] = { OF_PLAIN(ROW) };

static void
apply(enum kind kind, const struct change *c, size_t count)
{
	for (; count > 0; c++, count--) {
		struct spec s = good[kind];
		struct strbuf z = { 0 };
		char why[LAYER_WHY], text[200];
		int rc;

		c->apply(&s);
		make_index(&s, &z);
		wrap(&s, &z);
		rc = open_ztoc(&s, &z, c->name, why, text);
		if (rc != c->rc || (rc != 0 ? strstr(why, c->text) == NULL :
		    strcmp(text, c->text + 1) != 0))
			fail_msg("%s, %d: %d, %s%s", c->name, kind, rc, why,
			    text);
		strbuf_free(&z);
	}
}

#define APPLY(kind, list) apply(kind, list, sizeof(list) / sizeof((list)[0]))

static void
values(void **state)
{
	(void)state;
	APPLY(RAW, of_all);
	APPLY(PACKED, of_all);
	APPLY(PLAIN, of_all);
	APPLY(RAW, of_points);
	APPLY(PACKED, of_points);
	APPLY(RAW, of_raw);
	APPLY(PACKED, of_packed);
	APPLY(PLAIN, of_plain);
}

/* Fields outside their tables */

/* Moves each field of a table to its end; the ztoc is then refused. */
static void
misplace(enum kind kind, struct strbuf *index, const struct flatbuf_table *t)
{
	uint8_t *vtable = (uint8_t *)index->data +
	    (t->vtable - (const uint8_t *)index->data);

	for (unsigned at = 4; at < t->vtable_len; at += 2) {
		uint16_t before = load_le16(vtable + at);
		char why[LAYER_WHY], text[200];
		struct strbuf z = { 0 };
		int rc;

		if (before == 0)
			continue;
		store_le16(vtable + at, t->len);
		strbuf_add(&z, index->data, index->len);
		wrap(&good[kind], &z);
		rc = open_ztoc(&good[kind], &z, "misplaced", why, text);
		if (rc != -EBADMSG || strstr(why, "damaged") == NULL)
			fail_msg("%d, slot at %u: %d, %s", kind, at, rc, why);
		store_le16(vtable + at, before);
		strbuf_free(&z);
	}
}

static void
fields(void **state)
{
	(void)state;
	for (int kind = 0; kind < KINDS; kind++) {
		struct strbuf index = { 0 };
		struct flatbuf_table root, toc, spans, entry, record;
		struct flatbuf_refs refs, pax;
		struct flatbuf b;

		make_index(&good[kind], &index);
		b = (struct flatbuf){ (const uint8_t *)index.data, index.len };
		assert_int_equal(flatbuf_root(&b, &root), 0);
		assert_int_equal(flatbuf_table(&root, ZTOC_TOC, &toc), 0);
		assert_int_equal(flatbuf_table(&root, ZTOC_COMPRESSION,
		    &spans), 0);
		assert_int_equal(flatbuf_refs(&toc, TOC_ENTRIES, &refs), 0);
		assert_int_equal(refs.count, 2);
		misplace((enum kind)kind, &index, &root);
		misplace((enum kind)kind, &index, &toc);
		misplace((enum kind)kind, &index, &spans);
		for (uint32_t i = 0; i < 2; i++) {
			assert_int_equal(flatbuf_ref_table(&refs, i, &entry),
			    0);
			misplace((enum kind)kind, &index, &entry);
		}
		assert_int_equal(flatbuf_ref_table(&refs, 0, &entry), 0);
		assert_int_equal(flatbuf_refs(&entry, ENTRY_PAX, &pax), 0);
		assert_int_equal(flatbuf_ref_table(&pax, 0, &record), 0);
		misplace((enum kind)kind, &index, &record);
		strbuf_free(&index);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
