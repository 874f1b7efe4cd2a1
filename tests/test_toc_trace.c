/*
 * test_toc_trace.c - traces and their sections, and what is wrong with them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/toc/toc.h"
#include "lazy/toc/toc_trace.h"

#include "base/bytes.h"
#include "base/strbuf.h"

#include <errno.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zstd.h>

enum { SIZE = 1000, LAYER = 1 << 20, SECTIONS = 3 };

/* A layer with a directory and two files, and a trace that can be changed. */
struct made {
	struct layer_entry entries[3];
	struct toc toc;
	struct layer layer;
	struct strbuf content;		/* of the trace */
	struct strbuf sections[SECTIONS];	/* as stored */
	const struct strbuf *from;	/* what is decoded */
	size_t at;
	char said[4096];		/* what was decoded */
	bool whole;			/* its sections are not decoded */
};

static void
wrap(struct strbuf *to, const void *data, size_t size)
{
	uint8_t frame[4096], head[8];
	size_t n = ZSTD_compress(frame, sizeof(frame), data, size, 1);

	assert_false(ZSTD_isError(n));
	/* in two parts */
	for (size_t at = 0; at < n; at += n / 2) {
		size_t part = at + n / 2 < n ? n / 2 : n - at;

		store_le32(head, 0x184d2a50);
		store_le32(head + 4, (uint32_t)part);
		strbuf_add(to, head, sizeof(head));
		strbuf_add(to, frame + at, part);
		if (part < n / 2)
			break;
	}
}

static void
put_le32(struct strbuf *b, uint32_t n)
{
	uint8_t raw[4];

	store_le32(raw, n);
	strbuf_add(b, raw, 4);
}

static void
put_le64(struct strbuf *b, uint64_t n)
{
	put_le32(b, (uint32_t)n);
	put_le32(b, (uint32_t)(n >> 32));
}

static void
put_record(struct strbuf *b, uint32_t entry, uint64_t offset, uint64_t length)
{
	put_le32(b, entry);
	put_le64(b, offset);
	put_le64(b, length);
}

/* Offsets in the content of the head's fields */
enum {
	AT_SECTIONS = 4, AT_FIRST = 8, AT_OFFSET = 0, AT_LENGTH = 8,
	AT_DIGEST = 16, AT_COUNT = 48,
	AT_OWN = AT_FIRST + SECTIONS * TRACE_SECTION, AT_RECORDS = AT_OWN + 4
};

/* Makes a trace of one record, and three sections of one, two and one. */
static void
make(struct made *m)
{
	static const char *const data[] = { "1-a", "2-ab2-cde", "3-a" };
	static const uint32_t counts[] = { 1, 2, 1 };
	struct strbuf *b = &m->content;
	uint8_t sum[LAYER_DIGEST];

	memset(m, 0, sizeof(*m));
	m->entries[0].type = TAR_DIR;
	for (size_t i = 1; i < 3; i++)
		m->entries[i] = (struct layer_entry){ .type = TAR_FILE,
			.size = SIZE };
	m->layer = (struct layer){ .state = &m->toc, .size = LAYER,
		.format = &format_zstd_chunked,
		.index = { .entries = m->entries, .entry_count = 3 } };
	put_le32(b, TRACE_SECTIONED);
	put_le32(b, SECTIONS);
	for (size_t i = 0; i < SECTIONS; i++) {
		wrap(&m->sections[i], data[i], strlen(data[i]));
		EVP_Digest(m->sections[i].data, m->sections[i].len, sum, NULL,
		    EVP_sha256(), NULL);
		put_le64(b, 100 * i);
		put_le64(b, m->sections[i].len);
		strbuf_add(b, sum, sizeof(sum));
		put_le32(b, counts[i]);
	}
	assert_int_equal(b->len, AT_OWN);
	put_le32(b, 1);
	put_record(b, 1, 5, 6);
	put_record(b, 1, 0, 3);
	put_record(b, 2, 0, 4);
	put_record(b, 2, 995, 5);
	put_record(b, 1, 900, 3);
	strbuf_str(b, "common");
}

static void
done(struct made *m)
{
	strbuf_free(&m->content);
	for (size_t i = 0; i < SECTIONS; i++)
		strbuf_free(&m->sections[i]);
}

static ssize_t
next(void *arg, const uint8_t **data)
{
	struct made *m = arg;
	size_t left = m->from->len - m->at, n = left < 7 ? left : 7;

	*data = (const uint8_t *)m->from->data + m->at;
	m->at += n;
	return (ssize_t)n;
}

static int
take(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct made *m = arg;
	size_t used = strlen(m->said);

	snprintf(m->said + used, sizeof(m->said) - used, "%zu+%d=%.*s ", entry,
	    (int)offset, (int)length, (const char *)data);
	return 0;
}

static struct layer_trace_io io_of(struct made *m);

/* Decodes a section at once. */
static int
take_section(void *arg, const struct layer_section *s)
{
	struct made *m = arg;
	const struct strbuf *from = m->from;
	size_t at = m->at, used = strlen(m->said);
	const struct layer_trace_io io = io_of(m);
	int rc;

	assert_true(s->stored.offset % 100 == 0);
	m->from = &m->sections[s->stored.offset / 100];
	m->at = 0;
	snprintf(m->said + used, sizeof(m->said) - used, "[%zu ", s->count);
	rc = layer_section_decode(&m->layer, s, &io);
	m->from = from;
	m->at = at;
	return rc;
}

static struct layer_trace_io
io_of(struct made *m)
{
	return (struct layer_trace_io){ .next = next, .take = take,
		.section = m->whole ? NULL : take_section, .arg = m };
}

/* Decodes the trace; its digest is right. */
static int
decode(struct made *m)
{
	struct strbuf b = { .len = 0 };
	const struct layer_trace_io io = io_of(m);
	int rc;

	wrap(&b, m->content.data, m->content.len);
	EVP_Digest(b.data, b.len, m->toc.trace.digest, NULL, EVP_sha256(),
	    NULL);
	m->toc.trace.length = b.len;
	m->from = &b;
	m->at = 0;
	*m->said = '\0';
	rc = layer_trace_decode(&m->layer, &io);
	strbuf_free(&b);
	return rc;
}

static void
sections(void **state)
{
	struct made m;

	(void)state;
	make(&m);
	assert_int_equal(decode(&m), 0);
	assert_string_equal(m.said, "[1 1+0=1-a [2 2+0=2-ab 2+995=2-cde "
	    "[1 1+900=3-a 1+5=common ");
	/* a reader that wants none */
	m.whole = true;
	assert_int_equal(decode(&m), 0);
	assert_string_equal(m.said, "1+5=common ");
	done(&m);
}

/* With other numbers in the head, none of it is used. */
static void
heads(void **state)
{
	static const struct {
		size_t at, bytes;
		uint64_t value;
		int rc;
	} rows[] = {
		{ 0, 4, TRACE_RECORDS_MAX + 1, -EBADMSG },
		{ 0, 4, UINT32_MAX - 1, -EBADMSG },
		{ AT_SECTIONS, 4, 0, -EBADMSG },
		{ AT_SECTIONS, 4, TRACE_SECTIONS_MAX, -EBADMSG },
		{ AT_SECTIONS, 4, TRACE_SECTIONS_MAX + 1, -EBADMSG },
		{ AT_SECTIONS, 4, UINT32_MAX, -EBADMSG },
		{ AT_FIRST + AT_OFFSET, 8, LAYER, -EBADMSG },
		{ AT_FIRST + AT_OFFSET, 8, UINT64_MAX, -EBADMSG },
		{ AT_FIRST + AT_LENGTH, 8, 0, -EBADMSG },
		{ AT_FIRST + AT_LENGTH, 8, LAYER + 1, -EBADMSG },
		{ AT_FIRST + AT_LENGTH, 8, UINT64_MAX, -EBADMSG },
		{ AT_FIRST + AT_COUNT, 4, 0, -EBADMSG },
		{ AT_FIRST + AT_COUNT, 4, TRACE_RECORDS_MAX, -EBADMSG },
		{ AT_FIRST + AT_COUNT, 4, UINT32_MAX, -EBADMSG },
		{ AT_FIRST + TRACE_SECTION + AT_COUNT, 4, 3, -EBADMSG },
		{ AT_OWN, 4, TRACE_RECORDS_MAX - 3, -EBADMSG },
		{ AT_OWN, 4, UINT32_MAX, -EBADMSG },
		/* the records, of the trace and of sections */
		{ AT_RECORDS, 4, 0, -EBADMSG },
		{ AT_RECORDS + 20, 4, 0, -EBADMSG },
		{ AT_RECORDS + 20, 4, 3, -EBADMSG },
		{ AT_RECORDS + 80, 4, UINT32_MAX, -EBADMSG },
		{ AT_RECORDS + 24, 8, SIZE - 2, -EBADMSG },
		{ AT_RECORDS + 24, 8, UINT64_MAX, -EBADMSG },
		{ AT_RECORDS + 32, 8, SIZE + 1, -EBADMSG },
		{ AT_RECORDS + 92, 8, UINT64_MAX, -EBADMSG },
	};
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t *at;

		make(&m);
		m.whole = true;
		at = (uint8_t *)m.content.data + rows[i].at;
		if (rows[i].bytes == 4)
			store_le32(at, (uint32_t)rows[i].value);
		else
			store_le64(at, rows[i].value);
		assert_int_equal(decode(&m), rows[i].rc);
		assert_string_equal(m.said, "");
		done(&m);
	}
	/* it ends anywhere */
	make(&m);
	m.whole = true;
	while (m.content.len > 1) {
		m.content.len--;
		assert_int_equal(decode(&m), -EBADMSG);
	}
	done(&m);
}

/* All sections together are limited. */
static void
limits(void **state)
{
	struct made m;
	uint64_t size = (uint64_t)LAYER_TRACE_CONTENT_MAX;

	(void)state;
	make(&m);
	m.whole = true;
	m.entries[1].size = m.entries[2].size = size;
	store_le64((uint8_t *)m.content.data + AT_RECORDS + 20 + 12,
	    size - 6 - 4 - 5 - 3);
	assert_int_equal(decode(&m), 0);
	store_le64((uint8_t *)m.content.data + AT_RECORDS + 20 + 12,
	    size - 6 - 4 - 5 - 3 + 1);
	assert_int_equal(decode(&m), -EFBIG);
	assert_string_equal(m.said, "");
	done(&m);
}

/* A section's bytes are those that the trace says. */
static void
damaged(void **state)
{
	struct made m;

	(void)state;
	make(&m);
	for (size_t i = 0; i < m.sections[1].len; i++) {
		m.sections[1].data[i] ^= (char)(1 << i % 8);
		assert_int_equal(decode(&m), -EBADMSG);
		m.sections[1].data[i] ^= (char)(1 << i % 8);
	}
	assert_int_equal(decode(&m), 0);
	m.content.data[AT_FIRST + AT_DIGEST] ^= 1;
	assert_int_equal(decode(&m), -EBADMSG);
	m.content.data[AT_FIRST + AT_DIGEST] ^= 1;
	/* one that is too short, and one with less data than its records */
	m.sections[0].len--;
	assert_int_equal(decode(&m), -EBADMSG);
	m.sections[0].len++;
	store_le64((uint8_t *)m.content.data + AT_RECORDS + 20 + 12, 4);
	assert_int_equal(decode(&m), -EBADMSG);
	done(&m);
}

/* One longer than readers accept is not read. */
static void
long_section(void **state)
{
	const struct layer_piece piece = { .entry = 1, .length = 1 };
	const struct layer_section s = { .pieces = &piece, .count = 1,
		.stored = { .length = LAYER_TRACE_MAX + 1 } };
	struct made m;
	const struct layer_trace_io io = { .next = NULL, .take = take,
		.arg = &m };

	(void)state;
	make(&m);
	assert_int_equal(layer_section_decode(&m.layer, &s, &io), -EFBIG);
	done(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections),
		cmocka_unit_test(heads),
		cmocka_unit_test(limits),
		cmocka_unit_test(damaged),
		cmocka_unit_test(long_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
