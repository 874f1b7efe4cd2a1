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

struct record {
	uint32_t entry;
	uint64_t offset, length;
};

int
toc_trace_decode(const struct layer *l, const struct layer_trace_io *io)
{
	const struct toc *toc = l->state;
	struct toc_parts parts = { .next = io->next, .arg = io->arg,
		.left = toc->trace.length,
		.wrapping = toc_wrapping_of(layer_kind(l)) };
	struct record *records = NULL;
	uint8_t *piece = sys_malloc(PIECE), raw[TRACE_RECORD];
	size_t entries;
	const struct layer_entry *e = layer_entries(l, &entries);
	uint64_t content = 0;
	uint32_t count;
	int rc = -EFBIG, wrong;

	if (parts.left > LAYER_TRACE_MAX)
		goto out;
	rc = toc_parts_open(&parts, TRACE_WINDOW_LOG);
	if (rc == 0 && piece == NULL)
		rc = -ENOMEM;
	if (rc != 0)
		goto out;
	rc = toc_parts_read(&parts, raw, 4);
	if (rc != 0)
		goto out;
	count = load_le32(raw);
	rc = -EBADMSG;
	if (count > TRACE_RECORDS_MAX)
		goto out;
	records = sys_malloc((count + (size_t)1) * sizeof(*records));
	rc = records == NULL ? -ENOMEM : 0;
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		struct record *r = &records[i];

		rc = toc_parts_read(&parts, raw, sizeof(raw));
		if (rc != 0)
			goto out;
		*r = (struct record){ load_le32(raw), load_le64(raw + 4),
			load_le64(raw + 12) };
		/* this part of a file must exist in the index */
		if (r->entry >= entries || e[r->entry].type != TAR_FILE ||
		    r->offset > e[r->entry].size ||
		    r->length > e[r->entry].size - r->offset) {
			rc = -EBADMSG;
			goto out;
		}
		/* lengths are at most INT64_MAX, so this does not overflow */
		content += r->length;
		if (content > LAYER_TRACE_CONTENT_MAX)
			rc = -EFBIG;
	}
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		const struct record *r = &records[i];

		for (uint64_t done = 0; rc == 0 && done < r->length;
		    done += PIECE) {
			size_t n = r->length - done < PIECE ?
			    (size_t)(r->length - done) : PIECE;

			rc = toc_parts_read(&parts, piece, n);
			if (rc == 0)
				rc = io->take(io->arg, r->entry,
				    r->offset + done, piece, n);
		}
	}
	/* -EFBIG is reported only for a trace whose digest is correct */
	if (rc == 0 || rc == -EFBIG) {
		wrong = toc_parts_end(&parts, toc->trace.digest);
		rc = wrong != 0 ? wrong : rc;
	}
out:
	toc_parts_close(&parts);
	sys_free(records);
	sys_free(piece);
	return rc;
}
