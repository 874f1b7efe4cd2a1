/*
 * toc_parts.c - frames stored in parts that decompressors skip
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The trace, whose format is described in toc_trace.h, is decoded before its
 * digest is verified, so every value in it is checked; the digest is verified
 * at the end.
 */
#include "toc_parts.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "lazy/toc/toc.h"
#include "lazy/toc/toc_trace.h"
#include "lazy/toc/toc_wrapping.h"

#include <errno.h>
#include <string.h>

/* The wrapping of a part */

enum {
	GZIP_HEADER = 10, GZIP_TRAILER = 8,
	FEXTRA = 4,			/* flag in the header */
	/* the field's length, its name "CT", and the length of its data */
	BEFORE = GZIP_HEADER + 2 + 4,
	AFTER = 2 + GZIP_TRAILER,
	FRAME_HEADER = 8
};

#define SKIPPABLE UINT32_C(0x184d2a50)

const struct toc_wrapping *
toc_wrapping_of(enum layer_kind kind)
{
	/* an empty final block with fixed codes; CRC and size are 0 */
	static const uint8_t end[AFTER] = { 0x03 };
	static const struct toc_wrapping gzip = { .gzip = true,
		.max = 65535 - 4, .before = BEFORE, .after = AFTER,
		.tail = end };
	static const struct toc_wrapping frame = { .max = 1 << 20,
		.before = FRAME_HEADER, .tail = end };

	if (kind == LAYER_ESTARGZ)
		return &gzip;
	return kind == LAYER_ZSTD_CHUNKED ? &frame : NULL;
}

void
toc_wrapping_head(const struct toc_wrapping *w, uint8_t *to, size_t len)
{
	static const uint8_t header[GZIP_HEADER] = { 0x1f, 0x8b,
		8 /* deflate */, FEXTRA, [9] = 0xff /* OS: unknown */ };

	if (!w->gzip) {
		store_le32(to, SKIPPABLE);
		store_le32(to + 4, (uint32_t)len);
		return;
	}
	memcpy(to, header, sizeof(header));
	store_le16(to + GZIP_HEADER, (uint16_t)(len + 4));
	memcpy(to + GZIP_HEADER + 2, "CT", 2);
	store_le16(to + GZIP_HEADER + 4, (uint16_t)len);
}

/*
 * If the len bytes at p begin with wrapped bytes, sets *data and *n, and
 * returns their length including the wrapping; otherwise returns 0.
 */
static size_t
toc_wrapping_unwrap(const struct toc_wrapping *w, const uint8_t *p, size_t len,
    const uint8_t **data, size_t *n)
{
	size_t around = w->before + w->after;

	if (len < around)
		return 0;
	if (!w->gzip) {
		if (load_le32(p) != SKIPPABLE)
			return 0;
		*n = load_le32(p + 4);
	} else {
		if (p[0] != 0x1f || p[1] != 0x8b || p[3] != FEXTRA ||
		    memcmp(p + GZIP_HEADER + 2, "CT", 2) != 0)
			return 0;
		*n = load_le16(p + GZIP_HEADER + 4);
		if (load_le16(p + GZIP_HEADER) != *n + 4)
			return 0;
	}
	*data = p + w->before;
	return len - around < *n ? 0 : around + *n;
}

/* A frame */

int
toc_parts_open(struct toc_parts *p, int window_log)
{
	int rc = digest_new_sha256(&p->digest);

	if (rc == 0)
		rc = digest_start(p->digest);
	p->decoder = ZSTD_createDCtx();
	if (p->decoder == NULL || ZSTD_isError(ZSTD_DCtx_setParameter(
	    p->decoder, ZSTD_d_windowLogMax, window_log)))
		return -ENOMEM;
	return rc;
}

void
toc_parts_close(struct toc_parts *p)
{
	ZSTD_freeDCtx(p->decoder);
	digest_free(p->digest);
	sys_free(p->bytes);
}

/*
 * Reads some bytes, and points *data at them.  Returns the number read, or
 * -errno.
 */
static ssize_t
read_some(struct toc_parts *p, const uint8_t **data)
{
	ssize_t n = p->left == 0 ? 0 : p->next(p->arg, data);
	int rc = 0;

	if (n <= 0 || (uint64_t)n > p->left)
		return n < 0 ? n : -EBADMSG;
	p->left -= (uint64_t)n;
	rc = digest_add(p->digest, *data, (size_t)n);
	return rc == 0 ? n : rc;
}

/* Unwraps the next part and passes it to the decoder. */
static int
unwrap(struct toc_parts *p)
{
	for (;;) {
		size_t rest = p->end - p->at, used, n;
		const uint8_t *data;
		ssize_t more;

		used = rest == 0 ? 0 : toc_wrapping_unwrap(p->wrapping,
		    p->bytes + p->at, rest, &data, &n);
		if (used > 0) {
			p->at += used;
			p->in = (ZSTD_inBuffer){ data, n, 0 };
			return 0;
		}
		if (rest > p->wrapping->max + 2 * TOC_WRAPPING_AROUND)
			return -EBADMSG;
		more = read_some(p, &data);
		if (more < 0)
			return (int)more;
		if (rest > 0)
			memmove(p->bytes, p->bytes + p->at, rest);
		if (p->cap < rest + (size_t)more) {
			uint8_t *bytes = sys_realloc(p->bytes, rest +
			    (size_t)more);

			if (bytes == NULL)
				return -ENOMEM;
			p->bytes = bytes;
			p->cap = rest + (size_t)more;
		}
		memcpy(p->bytes + rest, data, (size_t)more);
		p->at = 0;
		p->end = rest + (size_t)more;
	}
}

int
toc_parts_read(struct toc_parts *p, void *buf, size_t len)
{
	ZSTD_outBuffer out = { buf, len, 0 };
	int rc = 0;

	while (rc == 0 && out.pos < len) {
		size_t before = out.pos;

		if (ZSTD_isError(ZSTD_decompressStream(p->decoder, &out,
		    &p->in)))
			return -EBADMSG;
		if (out.pos == before && p->in.pos == p->in.size)
			rc = unwrap(p);
	}
	return rc;
}

int
toc_parts_end(struct toc_parts *p, const uint8_t digest[LAYER_DIGEST])
{
	uint8_t sum[DIGEST_MAX];
	const uint8_t *data;
	ssize_t n = 0;
	int rc;

	while (p->left > 0 && n >= 0)
		n = read_some(p, &data);
	if (n < 0)
		return (int)n;
	rc = digest_end(p->digest, sum);
	return rc == 0 && memcmp(sum, digest, LAYER_DIGEST) != 0 ? -EBADMSG :
	    rc;
}

/* The trace */

enum { PIECE = 128 << 10 };

/* What the beginning of a trace says. */
struct trace_head {
	struct layer_piece *pieces;	/* of the trace, then of each section */
	size_t count;			/* of the trace alone */
	struct layer_section sections[TRACE_SECTIONS_MAX];
	size_t section_count, all;	/* all: pieces */
};

/* Reads a count of records, and adds it to h->all.  Returns 0 or -errno. */
static int
add_count(struct trace_head *h, const uint8_t *raw, size_t *count)
{
	*count = load_le32(raw);
	if (*count > TRACE_RECORDS_MAX - h->all)
		return -EBADMSG;
	h->all += *count;
	return 0;
}

/* Reads the list of sections, which are not empty and inside the layer. */
static int
read_sections(struct toc_parts *p, const struct layer *l, struct trace_head *h)
{
	uint8_t raw[TRACE_SECTION];
	int rc = toc_parts_read(p, raw, 4);

	if (rc != 0)
		return rc;
	h->section_count = load_le32(raw);
	if (h->section_count == 0 || h->section_count > TRACE_SECTIONS_MAX)
		return -EBADMSG;
	for (size_t i = 0; rc == 0 && i < h->section_count; i++) {
		struct layer_section *s = &h->sections[i];
		struct layer_range *r = &s->stored;

		rc = toc_parts_read(p, raw, sizeof(raw));
		if (rc != 0)
			break;
		*r = (struct layer_range){ .offset = load_le64(raw),
			.length = load_le64(raw + 8) };
		memcpy(s->digest, raw + 16, LAYER_DIGEST);
		rc = add_count(h, raw + 16 + LAYER_DIGEST, &s->count);
		if (s->count == 0 || r->length == 0 || r->length > l->size ||
		    r->offset > l->size - r->length)
			rc = -EBADMSG;
	}
	return rc;
}

/*
 * Reads all records.  Returns 0, -EFBIG if they are more data than readers
 * accept, or -errno.
 */
static int
read_records(struct toc_parts *p, const struct layer *l, struct trace_head *h)
{
	size_t entries;
	const struct layer_entry *e = layer_entries(l, &entries);
	uint8_t raw[TRACE_RECORD];
	uint64_t content = 0;

	h->pieces = sys_malloc((h->all + 1) * sizeof(*h->pieces));
	if (h->pieces == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < h->all; i++) {
		struct layer_piece *r = &h->pieces[i];
		int rc = toc_parts_read(p, raw, sizeof(raw));

		if (rc != 0)
			return rc;
		*r = (struct layer_piece){ load_le32(raw), load_le64(raw + 4),
			load_le64(raw + 12) };
		/* this part of a file must exist in the index */
		if (r->entry >= entries || e[r->entry].type != TAR_FILE ||
		    r->offset > e[r->entry].size ||
		    r->length > e[r->entry].size - r->offset)
			return -EBADMSG;
		/* lengths are at most INT64_MAX, so this does not overflow */
		content += r->length;
		if (content > LAYER_TRACE_CONTENT_MAX)
			return -EFBIG;
	}
	return 0;
}

/* Reads everything before the data.  Returns as read_records(). */
static int
read_head(struct toc_parts *p, const struct layer *l, struct trace_head *h)
{
	const struct layer_piece *next;
	uint8_t raw[4];
	int rc = toc_parts_read(p, raw, 4);

	if (rc == 0 && load_le32(raw) == TRACE_SECTIONED) {
		rc = read_sections(p, l, h);
		if (rc == 0)
			rc = toc_parts_read(p, raw, 4);
	}
	if (rc == 0)
		rc = add_count(h, raw, &h->count);
	if (rc == 0)
		rc = read_records(p, l, h);
	if (rc != 0)
		return rc;
	next = h->pieces + h->count;
	for (size_t i = 0; i < h->section_count; i++) {
		h->sections[i].pieces = next;
		next += h->sections[i].count;
	}
	return 0;
}

/* Decodes the data of pieces, and passes it on. */
static int
take_pieces(struct toc_parts *p, const struct layer_piece *pieces,
    size_t count, const struct layer_trace_io *io)
{
	uint8_t *buf = sys_malloc(PIECE);
	int rc = buf == NULL ? -ENOMEM : 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct layer_piece *r = &pieces[i];

		for (uint64_t done = 0; rc == 0 && done < r->length;
		    done += PIECE) {
			size_t n = r->length - done < PIECE ?
			    (size_t)(r->length - done) : PIECE;

			rc = toc_parts_read(p, buf, n);
			if (rc == 0)
				rc = io->take(io->arg, r->entry,
				    r->offset + done, buf, n);
		}
	}
	sys_free(buf);
	return rc;
}

int
toc_trace_decode(const struct layer *l, const struct layer_trace_io *io)
{
	const struct toc *toc = l->state;
	struct toc_parts parts = { .next = io->next, .arg = io->arg,
		.left = toc->trace.length,
		.wrapping = toc_wrapping_of(layer_kind(l)) };
	struct trace_head *h = NULL;
	int rc = -EFBIG, wrong;

	if (parts.left > LAYER_TRACE_MAX)
		return rc;
	rc = toc_parts_open(&parts, TRACE_WINDOW_LOG);
	h = sys_calloc(1, sizeof(*h));
	if (rc == 0 && h == NULL)
		rc = -ENOMEM;
	if (rc != 0)
		goto out;
	rc = read_head(&parts, l, h);
	for (size_t i = 0; rc == 0 && io->section != NULL &&
	    i < h->section_count; i++)
		rc = io->section(io->arg, &h->sections[i]);
	if (rc == 0)
		rc = take_pieces(&parts, h->pieces, h->count, io);
	/* -EFBIG is reported only for a trace whose digest is correct */
	if (rc == 0 || rc == -EFBIG) {
		wrong = toc_parts_end(&parts, toc->trace.digest);
		rc = wrong != 0 ? wrong : rc;
	}
out:
	toc_parts_close(&parts);
	if (h != NULL)
		sys_free(h->pieces);
	sys_free(h);
	return rc;
}

int
toc_section_decode(const struct layer *l, const struct layer_section *s,
    const struct layer_trace_io *io)
{
	struct toc_parts parts = { .next = io->next, .arg = io->arg,
		.left = s->stored.length,
		.wrapping = toc_wrapping_of(layer_kind(l)) };
	int rc;

	if (parts.left > LAYER_TRACE_MAX)
		return -EFBIG;
	rc = toc_parts_open(&parts, TRACE_WINDOW_LOG);
	if (rc == 0)
		rc = take_pieces(&parts, s->pieces, s->count, io);
	if (rc == 0)
		rc = toc_parts_end(&parts, s->digest);
	toc_parts_close(&parts);
	return rc;
}
