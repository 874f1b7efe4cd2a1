/*
 * pack_trace.c - storing a second copy of the data touched at startup
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_impl.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "pack_order.h"
#include "lazy/toc/toc_trace.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum {
	PIECE = 256 << 10,
	SMALL = 8 << 20,		/* up to this size, the highest level is
					 * used */
	SMALL_LEVEL = 19, LARGE_LEVEL = 9,
	/* limits the encoder to less than 40 MiB of memory */
	HASH_LOG = 20, CHAIN_LOG = 21
};

struct trace {
	struct pack *p;
	ZSTD_CCtx *encoder;
	uint8_t *in, *out;
	size_t out_len;			/* bytes not wrapped yet */
	uint64_t from;			/* where the frame begins */
	/* what the trace says about its other sections */
	uint8_t sections[TRACE_SECTIONS_MAX * TRACE_SECTION];
};

/* Touches of the same section. */
struct span {
	const struct pack_touch *touches;
	size_t count;
};

static int
encode_trace(struct trace *t, const void *data, size_t len, bool last)
{
	ZSTD_inBuffer in = { data, len, 0 };
	size_t max = t->p->wrapping->max, left;
	int rc = 0;

	do {
		ZSTD_outBuffer out = { t->out, max, t->out_len };

		left = ZSTD_compressStream2(t->encoder, &out, &in,
		    last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return -ENOMEM;
		t->out_len = out.pos;
		if (out.pos == max || (last && left == 0)) {
			rc = out.pos == 0 ? 0 :
			    pack_out_wrapped(t->p, t->out, out.pos);
			t->out_len = 0;
		}
	} while (rc == 0 && (in.pos < in.size || (last && left > 0)));
	return rc;
}

static int
encode_le32(struct trace *t, uint32_t n)
{
	uint8_t raw[4];

	store_le32(raw, n);
	return encode_trace(t, raw, sizeof(raw), false);
}

/* Starts a frame of this many bytes of content. */
static int
begin_stored(struct trace *t, uint64_t content)
{
	int rc;

	ZSTD_freeCCtx(t->encoder);
	t->encoder = pack_store_encoder(content <= SMALL ? SMALL_LEVEL :
	    LARGE_LEVEL, TRACE_WINDOW_LOG, HASH_LOG, CHAIN_LOG);
	rc = t->encoder == NULL ? -ENOMEM : digest_start(t->p->out.also);
	if (rc == 0)
		ZSTD_CCtx_setPledgedSrcSize(t->encoder, content);
	t->from = t->p->out.at;
	return rc;
}

static int
end_stored(struct trace *t, uint8_t digest[LAYER_DIGEST])
{
	uint8_t whole[DIGEST_MAX];
	int rc = encode_trace(t, NULL, 0, true);

	if (rc == 0)
		rc = digest_end(t->p->out.also, whole);
	if (rc == 0)
		memcpy(digest, whole, LAYER_DIGEST);
	return rc;
}

static int
encode_records(struct trace *t, const struct span *s)
{
	uint8_t record[TRACE_RECORD];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->count; i++) {
		store_le32(record, s->touches[i].entry);
		store_le64(record + 4, s->touches[i].offset);
		store_le64(record + 12, s->touches[i].length);
		rc = encode_trace(t, record, sizeof(record), false);
	}
	return rc;
}

static int
encode_data(struct trace *t, const struct span *s)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->count; i++) {
		uint64_t at = s->touches[i].at, left = s->touches[i].length;

		while (rc == 0 && left > 0) {
			size_t n = left < PIECE ? (size_t)left : PIECE;

			rc = pack_order_read(t->p->order, at, t->in, n);
			if (rc == 0)
				rc = encode_trace(t, t->in, n, false);
			at += n;
			left -= n;
		}
	}
	return rc;
}

/* Returns the size of the data of touches. */
static uint64_t
size_of(const struct span *s)
{
	uint64_t size = 0;

	for (size_t i = 0; i < s->count; i++)
		size += s->touches[i].length;
	return size;
}

/* Writes a section, and what the trace says about it to record. */
static int
write_section(struct trace *t, const struct span *s, uint8_t *record)
{
	struct pack_result *r = t->p->r;
	uint64_t content = size_of(s), length;
	int rc = begin_stored(t, content);

	if (rc == 0)
		rc = encode_data(t, s);
	if (rc == 0)
		rc = end_stored(t, record + 16);
	if (rc != 0)
		return rc;
	length = t->p->out.at - t->from;
	store_le64(record, t->from);
	store_le64(record + 8, length);
	store_le32(record + 16 + LAYER_DIGEST, (uint32_t)s->count);
	r->sections++;
	r->sections_length += length;
	r->sections_content += content;
	if (length > r->section_longest)
		r->section_longest = length;
	return 0;
}

/* Writes the trace itself: section 0, and the records of the others. */
static int
write_trace(struct trace *t, const struct span *first,
    const struct span *others, uint8_t digest[LAYER_DIGEST])
{
	struct pack_result *r = t->p->r;
	size_t head = (size_t)r->sections * TRACE_SECTION;
	uint64_t content = 4 + size_of(first) + (head > 0 ? 8 + head : 0) +
	    TRACE_RECORD * (uint64_t)(first->count + others->count);
	int rc = begin_stored(t, content);

	if (rc == 0 && head > 0) {
		rc = encode_le32(t, TRACE_SECTIONED);
		if (rc == 0)
			rc = encode_le32(t, (uint32_t)r->sections);
		if (rc == 0)
			rc = encode_trace(t, t->sections, head, false);
	}
	if (rc == 0)
		rc = encode_le32(t, (uint32_t)first->count);
	if (rc == 0)
		rc = encode_records(t, first);
	if (rc == 0)
		rc = encode_records(t, others);
	if (rc == 0)
		rc = encode_data(t, first);
	if (rc == 0)
		rc = end_stored(t, digest);
	r->trace_offset = t->from;
	r->trace_length = t->p->out.at - t->from;
	r->trace_content = content;
	return rc;
}

int
pack_trace_write(struct pack *p, uint8_t digest[LAYER_DIGEST])
{
	struct trace t = { .p = p };
	size_t count;
	const struct pack_touch *touches = pack_order_touches(p->order,
	    &count);
	struct span first = { touches, 0 }, others, s;
	int rc;

	if (count == 0)
		return 0;
	if (count > TRACE_RECORDS_MAX)
		return -EFBIG;
	while (first.count < count && touches[first.count].section == 0)
		first.count++;
	others = (struct span){ touches + first.count, count - first.count };
	t.out = sys_malloc(p->wrapping->max);
	t.in = sys_malloc(PIECE);
	rc = t.in == NULL || t.out == NULL ? -ENOMEM :
	    digest_new_sha256(&p->out.also);
	for (s = others; rc == 0 && s.touches < touches + count;
	    s.touches += s.count) {
		s.count = 1;
		while (s.touches + s.count < touches + count &&
		    s.touches[s.count].section == s.touches->section)
			s.count++;
		rc = write_section(&t, &s, t.sections + p->r->sections *
		    TRACE_SECTION);
	}
	if (rc == 0)
		rc = write_trace(&t, &first, &others, digest);
	ZSTD_freeCCtx(t.encoder);
	digest_free(p->out.also);
	p->out.also = NULL;
	sys_free(t.in);
	sys_free(t.out);
	return rc;
}
