/*
 * zstd_chunked.c - zstd:chunked: frames, a table of contents, a footer
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: pkg/chunked/internal/minimal/compression.go in containers/storage,
 * "ZstdChunkedFooterData"; the package estargz/zstdchunked in
 * containerd/stargz-snapshotter, which writes the shorter footer.
 *
 *	frames		of the entries' headers and data
 *	a skippable frame	the table of contents, a zstd frame
 *	a skippable frame	the archive's headers (tar-split), not needed
 *	a skippable frame	the footer, in 64-bit little-endian integers
 *
 * The footer has 40 bytes: offset, length and uncompressed length of the table,
 * 1, and a mark.  The longer footer, of 64 bytes, has three additional integers
 * for the headers before the mark.
 */
#include "lazy/toc/toc.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum {
	FOOTER = 40, FOOTER_LONG = 64,
	MARK = 8,
	TYPE_CRFS = 1,
	WINDOW_LOG_MAX = 27
};

/* The location of the table. */
struct place {
	uint64_t offset, length, content;
};

/* The footer */

static bool
is_footer(const uint8_t *p, size_t len, struct place *place)
{
	const uint8_t *mark = p + len - MARK;

	/* the magic numbers of two writers */
	if (load_le64(p + 24) != TYPE_CRFS ||
	    (memcmp(mark, "GNUlInUx", MARK) != 0 &&
	    memcmp(mark, "GnUlInUx", MARK) != 0))
		return false;
	*place = (struct place){ .offset = load_le64(p),
		.length = load_le64(p + 8), .content = load_le64(p + 16) };
	return true;
}

/* Finds the footer.  Returns the footer's length, or 0. */
static size_t
find_footer(const struct layer *l, struct place *place)
{
	const uint8_t *end = l->tail + l->tail_len;

	if (l->tail_len < FOOTER)
		return 0;
	if (is_footer(end - FOOTER, FOOTER, place))
		return FOOTER;
	return l->tail_len >= FOOTER_LONG &&
	    is_footer(end - FOOTER_LONG, FOOTER_LONG, place) ? FOOTER_LONG : 0;
}

static bool
has_zstd_footer(const struct layer *l)
{
	struct place place;

	return find_footer(l, &place) > 0;
}

/* The table of contents */

struct unpack {
	struct toc_input in;
	ZSTD_DStream *stream;
	ZSTD_inBuffer buffer;
	uint64_t left;			/* bytes of the document left */
};

static ssize_t
read_table_text(void *arg, void *buf, size_t len, char why[LAYER_WHY])
{
	struct unpack *u = arg;
	ZSTD_outBuffer out = { .dst = buf,
		.size = len < u->left ? len : (size_t)u->left };

	while (out.pos < out.size) {
		const uint8_t *data = NULL;
		ssize_t n;

		if (u->buffer.pos == u->buffer.size) {
			n = toc_input_next(&u->in, &data, why);
			if (n < 0)
				return n;
			if (n == 0)
				return layer_refuse(why, -EBADMSG, "the index "
				    "is shorter than the footer says");
			u->buffer = (ZSTD_inBuffer){ .src = data,
				.size = (size_t)n };
		}
		if (ZSTD_isError(ZSTD_decompressStream(u->stream, &out,
		    &u->buffer)))
			return layer_refuse(why, -EBADMSG, "the index is "
			    "damaged: it does not decompress");
	}
	u->left -= out.pos;
	return (ssize_t)out.pos;
}

static int
open_zstd_chunked(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	struct place p = { e->index_offset, e->index_length,
		e->index_content };
	struct unpack u = { .in = { .l = l } };
	const struct toc_source source = { .read = read_table_text,
		.arg = &u };
	uint8_t text[LAYER_DIGEST], stored[DIGEST_MAX];
	const uint8_t *data;
	ssize_t n;
	int rc;

	if (p.length == 0 && find_footer(l, &p) == 0)
		return layer_refuse(why, -EINVAL,
		    "no zstd:chunked footer");
	if (p.length == 0 || p.offset > l->size ||
	    p.length > l->size - p.offset)
		return layer_refuse(why, -EBADMSG, "the footer places the "
		    "index past the end of the layer");
	if (p.content > LAYER_INDEX_MAX)
		return layer_refuse(why, -EFBIG, "the index is larger than "
		    "256 MiB");
	u.in.at = p.offset;
	u.in.left = p.length;
	u.left = p.content;
	u.stream = ZSTD_createDStream();
	rc = digest_new_sha256(&u.in.digest);
	if (rc == 0 && (u.stream == NULL ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(u.stream,
	    ZSTD_d_windowLogMax, WINDOW_LOG_MAX))))
		rc = -ENOMEM;
	if (rc == 0)
		rc = digest_start(u.in.digest);
	if (rc == 0)
		rc = toc_load(l, &source, u.in.at, text, why);
	if (rc != 0)
		goto out;
	/* the digest covers the whole frame of the document */
	do
		n = toc_input_next(&u.in, &data, why);
	while (n > 0);
	rc = n < 0 ? (int)n : digest_end(u.in.digest, stored);
	/*
	 * in the stargz library's annotation, the digest is the document's own
	 */
	if (rc == 0 && e->index_digest != NULL &&
	    memcmp(stored, e->index_digest, LAYER_DIGEST) != 0 &&
	    memcmp(text, e->index_digest, LAYER_DIGEST) != 0)
		rc = layer_refuse(why, -EBADMSG, "the index does not match "
		    "the expected digest");
out:
	ZSTD_freeDStream(u.stream);
	toc_input_close(&u.in);
	digest_free(u.in.digest);
	return rc;
}

/* Units: frames */

static int
open_zstd(struct layer_decoder *d)
{
	d->state = ZSTD_createDCtx();
	return d->state == NULL ? -ENOMEM : 0;
}

static void
close_zstd(struct layer_decoder *d)
{
	ZSTD_freeDCtx(d->state);
}

/* Decodes the content from one or more frames. */
static int
decode_frames(struct layer_decoder *d, uint32_t unit,
    const struct layer_range *r, void *content, const char **why)
{
	ZSTD_outBuffer out = { .dst = content,
		.size = (size_t)d->l->index.units[unit].content };
	ZSTD_inBuffer in = { .src = r->buf, .size = (size_t)r->length };

	*why = "a unit's data does not decompress";
	if (ZSTD_isError(ZSTD_DCtx_reset(d->state, ZSTD_reset_session_only)))
		return -EBADMSG;
	while (out.pos < out.size) {
		size_t before = out.pos + in.pos;

		if (ZSTD_isError(ZSTD_decompressStream(d->state, &out, &in)) ||
		    out.pos + in.pos == before)
			return -EBADMSG;
	}
	return d->known ? 0 : toc_verify(d->l, unit, d->digest, r, content,
	    why);
}

const struct layer_format format_zstd_chunked = {
	.kind = LAYER_ZSTD_CHUNKED,
	.probe = has_zstd_footer,
	.open = open_zstd_chunked,
	.close = toc_close,
	.ranges = toc_ranges,
	.decoder_open = open_zstd,
	.decoder_close = close_zstd,
	.decode = decode_frames,
	.file_digest = toc_file_digest,
	.trace = toc_trace,
	.trace_decode = toc_trace_decode,
	.section_decode = toc_section_decode,
	.prefetch = toc_prefetch,
};
