/* SPDX-License-Identifier: BSD-2-Clause */
#include "lazy/pack/pack.h"

#include "base/strbuf.h"
#include "base/sys.h"
#include "base/utc.h"
#include "engine/crc64.h"
#include "format/tar/tar_header.h"
#include "lazy/layer.h"
#include "pack_made.h"
#include "walk/walk_order.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* The check value of this polynomial: Go's crc64.ISO of "123456789". */
static void
crc64_of_digits(void **state)
{
	struct crc64 *c = malloc(sizeof(*c));
	uint64_t parts;

	(void)state;
	crc64_init(c);
	assert_true(crc64_add(c, 0, "123456789", 9) ==
	    UINT64_C(0xb90956c775a41001));
	parts = crc64_add(c, 0, "1", 1);
	assert_true(crc64_add(c, parts, "23456789", 8) ==
	    UINT64_C(0xb90956c775a41001));
	free(c);
}

/* A reader of bytes in memory. */
struct bytes {
	const char *data;
	size_t len;
};

static ssize_t
read_bytes(void *arg, void *buf, size_t len)
{
	struct bytes *b = arg;
	size_t n = len < b->len ? len : b->len;

	memcpy(buf, b->data, n);
	b->data += n;
	b->len -= n;
	return (ssize_t)n;
}

/* The reader reads what the header writer writes. */
static void
headers(void **state)
{
	char name[300];
	const struct tar_xattr x = { "user.x", "a\0b\n", 4 };
	const struct tar_entry entries[] = {
		{ .path = "short", .link = "", .uname = "", .gname = "",
		    .mode = 0644, .size = 0 },
		{ .path = name, .link = "", .uname = "me", .gname = "us",
		    .mode = 04755, .uid = 3000000, .gid = 7, .mtime = -3,
		    .mtime_ns = 250000000, .size = 0, .xattrs = &x,
		    .xattr_count = 1 },
		{ .path = "big", .link = "", .uname = "", .gname = "",
		    .size = UINT64_C(9) << 30, .mtime = -1, .mtime_ns = 5 },
	};

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		const struct tar_entry *e = &entries[i];
		struct strbuf b = { 0 };
		struct bytes from;
		struct tar_source source = { .read = read_bytes,
			.arg = &from };
		struct tar_entry got;
		struct tar *t;

		tar_header_file(&b, e);
		from = (struct bytes){ b.data, b.len };
		assert_int_equal(b.len % TAR_BLOCK, 0);
		assert_int_equal(tar_open(&t, &source), 0);
		assert_int_equal(tar_next(t, &got), 1);
		assert_string_equal(got.path, e->path);
		assert_string_equal(got.uname, e->uname);
		assert_string_equal(got.gname, e->gname);
		assert_true(got.size == e->size && got.uid == e->uid);
		assert_true(got.gid == e->gid && got.mode == e->mode);
		assert_true(got.mtime == e->mtime);
		assert_int_equal(got.mtime_ns, e->mtime_ns);
		assert_int_equal(got.xattr_count, e->xattr_count);
		if (e->xattr_count > 0)
			assert_memory_equal(got.xattrs[0].value, x.value, 4);
		tar_close(t);
		strbuf_free(&b);
	}
}

static void
times(void **state)
{
	static const struct {
		int64_t s;
		uint32_t ns;
		const char *text;
	} rows[] = {
		{ 0, 0, "1970-01-01T00:00:00Z" },
		{ -1, 500000000, "1969-12-31T23:59:59.5Z" },
		{ 951868799, 1, "2000-02-29T23:59:59.000000001Z" },
		{ INT64_C(-62135596800), 0, "0001-01-01T00:00:00Z" },
		{ INT64_C(253402300799), 0, "9999-12-31T23:59:59Z" },
	};
	char text[UTC_B];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int64_t s;
		uint32_t ns;

		assert_true(utc_rfc3339(text, rows[i].s, rows[i].ns));
		assert_string_equal(text, rows[i].text);
		assert_int_equal(utc_parse(text, &s, &ns), 0);
		assert_true(s == rows[i].s && ns == rows[i].ns);
	}
	assert_false(utc_rfc3339(text, INT64_C(253402300800), 0));
	assert_false(utc_rfc3339(text, INT64_C(-62135596801), 0));
}

/* Layers */

enum { FILES = 40, SIZE = 30000 };

static int
make_archive(void)
{
	int fd = temporary();

	for (unsigned i = 0; i < FILES; i++) {
		char name[16];
		struct tar_entry e = { .path = name, .link = "", .uname = "",
			.gname = "", .mode = 0644, .size = SIZE };

		snprintf(name, sizeof(name), "file%u", i);
		write_entry(fd, &e, i);
	}
	write_end(fd);
	return fd;
}

static int
read_ranges(void *arg, const struct layer_range *r, size_t count)
{
	const int *fd = arg;

	for (size_t i = 0; i < count; i++)
		if (pread(*fd, r[i].buf, r[i].length, (off_t)r[i].offset) !=
		    (ssize_t)r[i].length)
			return -ENODATA;
	return 0;
}

static int
size_of(void *arg, const char *object, uint64_t *size)
{
	const int *fd = arg;

	assert_null(object);
	*size = (uint64_t)lseek(*fd, 0, SEEK_END);
	return 0;
}

struct seen {
	const struct layer_entry *entries;
	uint64_t bytes;
	char paths[256];
	struct layer_range stored;	/* what is left of the trace */
};

/* Returns pieces that end anywhere. */
static ssize_t
next(void *arg, const uint8_t **data)
{
	struct seen *s = arg;
	size_t n = s->stored.length < 777 ? s->stored.length : 777;

	*data = s->stored.buf;
	s->stored.buf = (uint8_t *)s->stored.buf + n;
	s->stored.length -= n;
	return (ssize_t)n;
}

/* Accepts any piece, even a changed one. */
static int
ignore(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	(void)arg;
	(void)entry;
	(void)offset;
	(void)data;
	(void)length;
	return 0;
}

static int
see(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct seen *s = arg;
	const char *path = s->entries[entry].path;
	unsigned file = (unsigned)strtoul(path + 4, NULL, 10);
	const uint8_t *p = data;

	for (size_t i = 0; i < length; i++)
		assert_int_equal(p[i], byte_of(file, offset + i));
	s->bytes += length;
	strcat(strcat(s->paths, path), " ");
	return 0;
}

static struct walk_order *
list_of(const char *text)
{
	char *copy = sys_malloc(strlen(text) + 1);
	struct walk_order *o;
	size_t line;

	memcpy(copy, text, strlen(text) + 1);
	assert_int_equal(walk_order_read(&o, copy, strlen(text), false, &line),
	    0);
	return o;
}

static struct walk_order *
touches(void)
{
	return list_of("1\tfile7\t0\t4096\n1\tfile7\t8192\t100\n"
	    "3\tfile2\t29000\t999999\n2\tfile39\t0\t30000\n"
	    "4\tno\t0\t1\n");
}

/* The trace holds what the list names, in list order, and nothing else. */
static void
check_trace(enum layer_kind kind)
{
	struct walk_order *list = touches();
	struct pack_options o = { .kind = kind, .threads = 3, .level = -1,
		.orders = &list, .order_count = 1,
		.trace = true, .tmpdir = "." };
	int in = make_archive(), out = temporary();
	struct layer_blobs blobs = { read_ranges, size_of, &out };
	struct layer_expect e = { 0 };
	struct pack_result r;
	struct layer_range range;
	struct seen s = { 0 };
	struct layer_trace_io io = { .next = next, .take = see, .arg = &s };
	struct layer *l;
	char why[LAYER_WHY];
	size_t count;

	assert_int_equal(pack_layer(&o, in, out, &r, why), 0);
	assert_int_equal(r.entries, FILES);
	e.index_digest = r.index_digest;
	assert_int_equal(layer_open(&l, &blobs, &e, why), 0);
	s.entries = layer_entries(l, &count);
	assert_int_equal(count, FILES);
	assert_string_equal(s.entries[0].path, "file7");
	assert_true(layer_trace(l, &range));
	assert_true(range.offset == r.trace_offset);
	range.buf = malloc(range.length);
	assert_int_equal(read_ranges(&out, &range, 1), 0);
	s.stored = range;
	assert_int_equal(layer_trace_decode(l, &io), 0);
	assert_string_equal(s.paths, "file7 file7 file39 file2 ");
	assert_int_equal(s.bytes, 4096 + 100 + 30000 + 1000);
	/* a changed byte, anywhere */
	io.take = ignore;
	for (uint64_t i = 0; i < range.length; i++) {
		((uint8_t *)range.buf)[i] ^= (uint8_t)(1 << i % 8);
		s.stored = range;
		assert_int_equal(layer_trace_decode(l, &io), -EBADMSG);
		((uint8_t *)range.buf)[i] ^= (uint8_t)(1 << i % 8);
	}
	free(range.buf);
	layer_close(l);
	walk_order_free(list);
	close(in);
	close(out);
}

/* A layer of several lists */

struct several {
	struct seen seen;
	struct layer *l;
	const int *fd;
	char how[256];			/* sections, by number of pieces */
};

static int
see_section(void *arg, const struct layer_section *section)
{
	struct several *v = arg;
	struct layer_range stored = v->seen.stored, range = section->stored;
	const struct layer_trace_io ignoring = { .next = next, .take = ignore,
		.arg = &v->seen }, seeing = { .next = next, .take = see,
		.arg = &v->seen };
	size_t used = strlen(v->how);

	snprintf(v->how + used, sizeof(v->how) - used, "%zu: ",
	    section->count);
	range.buf = malloc(range.length);
	assert_int_equal(read_ranges((void *)(uintptr_t)v->fd, &range, 1), 0);
	v->seen.stored = range;
	assert_int_equal(layer_section_decode(v->l, section, &seeing), 0);
	strcat(v->seen.paths, "| ");
	for (uint64_t i = 0; i < range.length; i++) {
		((uint8_t *)range.buf)[i] ^= (uint8_t)(1 << i % 8);
		v->seen.stored = range;
		assert_int_equal(layer_section_decode(v->l, section,
		    &ignoring), -EBADMSG);
		((uint8_t *)range.buf)[i] ^= (uint8_t)(1 << i % 8);
	}
	free(range.buf);
	v->seen.stored = stored;
	return 0;
}

static int
see_own(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct several *v = arg;

	return see(&v->seen, entry, offset, data, length);
}

static ssize_t
next_own(void *arg, const uint8_t **data)
{
	struct several *v = arg;

	return next(&v->seen, data);
}

/* Packs with these lists.  paths becomes the trace's, after its sections'. */
static void
pack_lists(enum layer_kind kind, const char *const *lists, size_t count,
    struct several *v, struct pack_result *r)
{
	struct walk_order *orders[PACK_LISTS_MAX];
	struct pack_options o = { .kind = kind, .threads = 2, .level = -1,
		.orders = orders, .order_count = count, .trace = true,
		.tmpdir = "." };
	int in = make_archive(), out = temporary();
	struct layer_blobs blobs = { read_ranges, size_of, &out };
	const struct layer_trace_io io = { .next = next_own, .take = see_own,
		.section = see_section, .arg = v };
	struct layer_expect e = { 0 };
	char why[LAYER_WHY];
	size_t all;

	*v = (struct several){ .fd = &out };
	for (size_t i = 0; i < count; i++)
		orders[i] = list_of(lists[i]);
	assert_int_equal(pack_layer(&o, in, out, r, why), 0);
	assert_int_equal(layer_open(&v->l, &blobs, &e, why), 0);
	v->seen.entries = layer_entries(v->l, &all);
	assert_int_equal(layer_trace(v->l, &v->seen.stored),
	    r->trace_length > 0);
	if (r->trace_length > 0) {
		struct layer_range range = v->seen.stored;

		range.buf = malloc(range.length);
		assert_int_equal(read_ranges(&out, &range, 1), 0);
		v->seen.stored = range;
		assert_int_equal(layer_trace_decode(v->l, &io), 0);
		free(range.buf);
	}
	layer_close(v->l);
	for (size_t i = 0; i < count; i++)
		walk_order_free(orders[i]);
	close(in);
	close(out);
}

static void
check_several(enum layer_kind kind)
{
	static const char first[] = "1\tfile7\t0\t4096\n2\tfile2\t0\t100\n"
	    "3\tfile39\t0\t30000\n";
	static const char second[] = "1\tfile5\t0\t500\n"
	    "2\tfile7\t4000\t1000\n3\tno\t0\t1\n";
	static const char third[] = "1\tfile39\t29000\t99999\n"
	    "2\tfile7\t4090\t3\n";
	const char *const lists[] = { first, second, third };
	const char *const same[] = { first, first };
	const char *const none[] = { first, "# nothing\n" };
	const char *const unknown[] = { "no\n", "neither\n" };
	struct pack_result r;
	struct several v;

	pack_lists(kind, lists, 3, &v, &r);
	/* {0}, {0, 1}, {0, 2} and {1}, in the order of what is first in them */
	assert_string_equal(v.how, "3: 2: 1: 2: ");
	assert_string_equal(v.seen.paths, "file7 file2 file39 | "
	    "file7 file7 | file39 | file5 file7 | file7 ");
	assert_int_equal(v.seen.bytes, 4096 + 100 + 30000 + 500 + 904);
	assert_int_equal(r.sections, 4);
	assert_true(r.sections_content == v.seen.bytes - 3);
	assert_true(r.section_longest < r.sections_length);
	assert_true(r.sections_length < r.trace_offset);
	pack_lists(kind, same, 2, &v, &r);
	assert_string_equal(v.how, "");
	assert_string_equal(v.seen.paths, "file7 file2 file39 ");
	assert_int_equal(r.sections, 0);
	/* nothing is common with a command that touches nothing */
	pack_lists(kind, none, 2, &v, &r);
	assert_string_equal(v.how, "3: ");
	assert_string_equal(v.seen.paths, "file7 file2 file39 | ");
	pack_lists(kind, unknown, 2, &v, &r);
	assert_int_equal(r.trace_length, 0);
}

static void
several_lists(void **state)
{
	(void)state;
	check_several(LAYER_ESTARGZ);
	check_several(LAYER_ZSTD_CHUNKED);
}

static void
trace_estargz(void **state)
{
	(void)state;
	check_trace(LAYER_ESTARGZ);
}

static void
trace_zstd_chunked(void **state)
{
	(void)state;
	check_trace(LAYER_ZSTD_CHUNKED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc64_of_digits),
		cmocka_unit_test(headers),
		cmocka_unit_test(times),
		cmocka_unit_test(trace_estargz),
		cmocka_unit_test(trace_zstd_chunked),
		cmocka_unit_test(several_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
