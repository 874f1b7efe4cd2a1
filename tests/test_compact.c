/*
 * test_compact.c - the compact index agrees with the index, or is rejected
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/pack/pack.h"

#include "base/hex.h"
#include "lazy/layer.h"
#include "pack_made.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { FILES = 120, CHUNK = 4096 };

static char why[LAYER_WHY];

/* An archive of files of many sizes, some of them empty */
static int
make_archive(void)
{
	const struct tar_xattr x = { "user.x", "a\0b\n", 4 };
	int fd = temporary();

	for (unsigned i = 0; i < FILES; i++) {
		char name[32];
		struct tar_entry e = { .path = name, .link = "",
			.uname = i % 7 == 0 ? "me" : "", .gname = "",
			.mode = 0600 + i % 64, .uid = i * 1000, .mtime = i / 4,
			.size = i % 5 == 0 ? 0 : i * 211 };

		if (i % 9 == 0) {
			e.xattrs = &x;
			e.xattr_count = 1;
		}
		snprintf(name, sizeof(name), "dir%u/file%u", i / 10, i);
		write_entry(fd, &e, i);
	}
	write_end(fd);
	return fd;
}

/* A layer in memory, so that its bytes can be changed */
struct made {
	uint8_t *data;
	size_t len;
	struct layer_blobs blobs;
	struct pack_result r;
	struct layer_expect e;		/* of the compact index */
};

static int
read_ranges(void *arg, const struct layer_range *r, size_t count)
{
	const struct made *m = arg;

	for (size_t i = 0; i < count; i++) {
		if (r[i].offset > m->len || r[i].length > m->len - r[i].offset)
			return -ENODATA;
		memcpy(r[i].buf, m->data + r[i].offset, r[i].length);
	}
	return 0;
}

static int
size_of(void *arg, const char *object, uint64_t *size)
{
	const struct made *m = arg;

	assert_null(object);
	*size = m->len;
	return 0;
}

static void
make(struct made *m, enum layer_kind kind, uint64_t min_chunk)
{
	struct pack_options o = { .kind = kind, .threads = 2, .level = -1,
		.chunk = CHUNK, .min_chunk = min_chunk, .tmpdir = "." };
	int in = make_archive(), out = temporary();

	*m = (struct made){ .blobs = { read_ranges, size_of, m } };
	assert_int_equal(pack_layer(&o, in, out, &m->r, why), 0);
	assert_true(m->r.compact_length > 0);
	m->len = m->r.blob_size;
	m->data = malloc(m->len);
	assert_int_equal(pread(out, m->data, m->len, 0), (ssize_t)m->len);
	m->e = (struct layer_expect){ .compact_digest = m->r.compact_digest,
		.compact_offset = m->r.compact_offset,
		.compact_length = m->r.compact_length };
	close(in);
	close(out);
}

/* Decodes a unit, and returns its content, to be freed, or NULL. */
static uint8_t *
decode(const struct layer *l, struct made *m, uint32_t unit)
{
	struct layer_range r[LAYER_RANGES_MAX];
	size_t count, n = layer_ranges(l, unit, r);
	uint64_t stored = 0;
	const struct layer_unit *u = &layer_units(l, &count)[unit];
	uint8_t *content = malloc(u->content + 1);
	struct layer_decoder *d;
	const char *clause;
	int rc;

	assert_int_equal(layer_decoder_open(&d, l), 0);
	for (size_t i = 0; i < n; i++) {
		r[i].buf = malloc(r[i].length);
		stored += r[i].length;
	}
	assert_true(stored == u->stored);
	assert_int_equal(read_ranges(m, r, n), 0);
	rc = layer_decode(d, unit, r, content, &clause);
	for (size_t i = 0; i < n; i++)
		free(r[i].buf);
	layer_decoder_close(d);
	if (rc == 0)
		return content;
	assert_int_equal(rc, -EBADMSG);
	free(content);
	return NULL;
}

static size_t
count_good(struct made *m)
{
	struct layer *l;
	size_t count, good = 0;

	assert_int_equal(layer_open(&l, &m->blobs, &m->e, why), 0);
	layer_units(l, &count);
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *content = decode(l, m, i);

		good += content != NULL;
		free(content);
	}
	layer_close(l);
	return good;
}

/* Both indexes have the same contents; the compact one is much smaller. */
static void
agree(struct made *m)
{
	struct layer_expect toc = { .index_digest = m->r.index_digest };
	struct layer *a, *b;
	size_t count, other;
	const struct layer_entry *e, *f;

	assert_int_equal(layer_open(&a, &m->blobs, &toc, why), 0);
	assert_int_equal(layer_open(&b, &m->blobs, &m->e, why), 0);
	assert_int_equal(layer_check_compact(a, why), 0);
	assert_true(layer_index_bytes(b) == m->r.compact_length);
	assert_true(layer_index_bytes(b) * 2 < layer_index_bytes(a));
	e = layer_entries(a, &count);
	f = layer_entries(b, &other);
	assert_int_equal(count, FILES);
	assert_int_equal(other, FILES);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(e[i].path, f[i].path);
		assert_string_equal(e[i].uname, f[i].uname);
		assert_true(e[i].mtime == f[i].mtime && e[i].uid == f[i].uid);
		assert_int_equal(e[i].mode, f[i].mode);
		assert_int_equal(e[i].run_count, f[i].run_count);
		assert_int_equal(e[i].xattr_count, f[i].xattr_count);
		if (e[i].xattr_count > 0)
			assert_memory_equal(f[i].xattrs[0].value, "a\0b\n", 5);
	}
	layer_units(b, &count);
	assert_int_equal(count_good(m), count);
	layer_close(a);
	layer_close(b);
}

/* A compact index is rejected if any byte of it has changed. */
static void
refuse_changes(struct made *m)
{
	struct layer_expect toc = { .index_digest = m->r.index_digest };
	uint8_t *at = m->data + m->r.compact_offset;
	struct layer *l;

	assert_int_equal(layer_open(&l, &m->blobs, &toc, why), 0);
	for (uint64_t i = 0; i < m->r.compact_length; i++) {
		struct layer *c = NULL;
		int rc;

		at[i] ^= (uint8_t)(1 << i % 8);
		rc = layer_open(&c, &m->blobs, &m->e, why);
		if (rc != -EBADMSG && rc != -EFBIG && rc != -ENOMEM)
			fail_msg("byte %" PRIu64 ": %d, %s", i, rc, why);
		assert_int_equal(layer_check_compact(l, why), rc);
		assert_true(*why != '\0');
		at[i] ^= (uint8_t)(1 << i % 8);
	}
	layer_close(l);
}

/* With a changed digest, the units of its block are not decoded. */
static void
refuse_digests(struct made *m)
{
	struct layer_expect toc = { .index_digest = m->r.index_digest };
	uint8_t *at = m->data + m->r.compact_offset - m->r.digests_length;
	struct layer *l;
	size_t units, good;

	assert_int_equal(layer_open(&l, &m->blobs, &toc, why), 0);
	layer_units(l, &units);
	at[100] ^= 4;
	assert_int_equal(layer_check_compact(l, why), -EBADMSG);
	assert_string_equal(why, "the digests from chunk 0 do not match the "
	    "compact index");
	good = count_good(m);
	assert_true(good < units && good + 32 >= units);
	at[100] ^= 4;
	layer_close(l);
}

static void
check(enum layer_kind kind, uint64_t min_chunk)
{
	struct made m;

	make(&m, kind, min_chunk);
	agree(&m);
	refuse_changes(&m);
	refuse_digests(&m);
	free(m.data);
}

static void
estargz(void **state)
{
	(void)state;
	check(LAYER_ESTARGZ, 0);
}

static void
zstd_chunked(void **state)
{
	(void)state;
	check(LAYER_ZSTD_CHUNKED, 0);
}

/* Chunks that share units, whose digests may be in two blocks */
static void
shared_units(void **state)
{
	(void)state;
	check(LAYER_ESTARGZ, CHUNK);
	check(LAYER_ZSTD_CHUNKED, CHUNK);
}

/* An index of another layer of the same length is rejected. */
static void
expectations(void **state)
{
	struct layer_expect wrong;
	struct layer *l;
	struct made m;
	uint8_t digest[LAYER_DIGEST] = { 1 };

	(void)state;
	make(&m, LAYER_ESTARGZ, 0);
	wrong = m.e;
	wrong.compact_digest = digest;
	assert_int_equal(layer_open(&l, &m.blobs, &wrong, why), -EBADMSG);
	assert_string_equal(why, "the compact index does not match the "
	    "expected digest");
	wrong = m.e;
	wrong.kind = "zstd-chunked";
	assert_int_equal(layer_open(&l, &m.blobs, &wrong, why), -EINVAL);
	wrong = m.e;
	wrong.compact_length = 0;
	assert_int_equal(layer_open(&l, &m.blobs, &wrong, why), -EBADMSG);
	wrong.compact_length = UINT64_MAX / 2;
	assert_int_equal(layer_open(&l, &m.blobs, &wrong, why), -ENODATA);
	wrong = m.e;
	wrong.compact_offset = m.len;
	assert_int_equal(layer_open(&l, &m.blobs, &wrong, why), -ENODATA);
	wrong = m.e;
	wrong.compact_length -= 20;
	assert_int_equal(layer_open(&l, &m.blobs, &wrong, why), -EBADMSG);
	free(m.data);
}

static void
annotations(void **state)
{
	static const char *const bad[] = { "", "sha256:", ":1:2", ":1", "::",
		":1:2:3", ":1:2x", ":-1:2", ":1:", ":9999999999999999999:2" };
	char text[HEX_SHA256 + 64];
	struct layer_expect e = { 0 };
	uint8_t sum[LAYER_DIGEST] = { 7 }, digest[LAYER_DIGEST];

	(void)state;
	hex_write_sha256(text, sum);
	strcat(text, ":123:456");
	assert_int_equal(layer_expect_compact(&e, digest, text), 0);
	assert_true(e.compact_digest == digest);
	assert_memory_equal(digest, sum, LAYER_DIGEST);
	assert_true(e.compact_offset == 123 && e.compact_length == 456);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		e = (struct layer_expect){ 0 };
		hex_write_sha256(text, sum);
		if (i != 2)
			strcat(text, bad[i]);
		else
			strcpy(text, bad[i]);
		if (layer_expect_compact(&e, digest, text) != -EINVAL ||
		    e.compact_digest != NULL)
			fail_msg("%s", text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estargz),
		cmocka_unit_test(zstd_chunked),
		cmocka_unit_test(shared_units),
		cmocka_unit_test(expectations),
		cmocka_unit_test(annotations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
