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
 *	a skippable frame	the archive's headers (tar-split), not needed here
 *	a skippable frame	the footer, in 64-bit little-endian integers
 *
 * The footer has 40 bytes: offset, length and uncompressed length of the table,
 * 1, and a mark.  The longer footer, of 64 bytes, has three additional integers
 * for the headers before the mark.
 */
#include "lazy/toc/toc.h"

#include "base/bytes.h"
#include "base/sys.h"

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

/* Returns whether the bytes are one of the two writers' magic numbers. */
static bool
is_mark(const uint8_t *p)
{
	return memcmp(p, "GNUlInUx", MARK) == 0 ||
	    memcmp(p, "GnUlInUx", MARK) == 0;
}

static bool
is_footer(const uint8_t *p, size_t len, struct place *place)
{
	if (load_le64(p + 24) != TYPE_CRFS || !is_mark(p + len - MARK))
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
probe(const struct layer *l)
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
read_text(void *arg, void *buf, size_t len, char why[LAYER_WHY])
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

/*
 * Reads the rest of the document's frame, because the digest covers the whole
 * frame.
 */
static int
read_rest(struct unpack *u, char why[LAYER_WHY])
{
	const uint8_t *data;
	ssize_t n;

	do {
		n = toc_input_next(&u->in, &data, why);
	} while (n > 0);
	return (int)n;
}

static int
read_table(struct unpack *u, const uint8_t *expected, char why[LAYER_WHY])
{
	const struct toc_source source = { .read = read_text, .arg = u };
	uint8_t text[LAYER_DIGEST], stored[DIGEST_MAX];
	int rc = digest_start(u->in.digest);

	if (rc == 0)
		rc = toc_load(u->in.l, &source, u->in.at, text, why);
	if (rc == 0)
		rc = read_rest(u, why);
	if (rc == 0)
		rc = digest_end(u->in.digest, stored);
	if (rc != 0 || expected == NULL)
		return rc;
	/*
	 * in the stargz library's annotation, this is the document's own digest
	 */
	if (memcmp(stored, expected, LAYER_DIGEST) != 0 &&
	    memcmp(text, expected, LAYER_DIGEST) != 0)
		return layer_refuse(why, -EBADMSG, "the index does not match "
		    "the expected digest");
	return 0;
}

static int
load(struct layer *l, const struct place *p, const uint8_t *expected,
    char why[LAYER_WHY])
{
	struct unpack u = { .in = { .l = l, .at = p->offset,
		.left = p->length }, .left = p->content };
	struct digest_algo *sha256 = NULL;
	int rc = digest_algo_open(&sha256, "sha256");

	u.stream = ZSTD_createDStream();
	if (rc == 0)
		rc = digest_new(&u.in.digest, sha256);
	if (rc == 0 && (u.stream == NULL ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(u.stream,
	    ZSTD_d_windowLogMax, WINDOW_LOG_MAX))))
		rc = -ENOMEM;
	if (rc == 0)
		rc = read_table(&u, expected, why);
	ZSTD_freeDStream(u.stream);
	toc_input_close(&u.in);
	digest_free(u.in.digest);
	digest_algo_close(sha256);
	return rc;
}

static int
open_layer(struct layer *l, const struct layer_expect *e, char why[LAYER_WHY])
{
	struct place p = { e->index_offset, e->index_length,
		e->index_content };

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
	return load(l, &p, e->index_digest, why);
}

/* Units: frames */

static int
decoder_open(struct layer_decoder *d)
{
	d->state = ZSTD_createDCtx();
	return d->state == NULL ? -ENOMEM : 0;
}

static void
decoder_close(struct layer_decoder *d)
{
	ZSTD_freeDCtx(d->state);
}

/* Decodes the content from one or more frames. */
static int
decode(struct layer_decoder *d, uint32_t unit, const struct layer_range *r,
    void *content, const char **why)
{
	ZSTD_outBuffer out = { .dst = content,
		.size = (size_t)d->l->index.units[unit].content };
	ZSTD_inBuffer in = { .src = r->buf, .size = (size_t)r->length };

	*why = "a unit's data does not decompress";
	ZSTD_DCtx_reset(d->state, ZSTD_reset_session_only);
	while (out.pos < out.size) {
		size_t before = out.pos + in.pos;

		if (ZSTD_isError(ZSTD_decompressStream(d->state, &out, &in)) ||
		    out.pos + in.pos == before)
			return -EBADMSG;
	}
	return d->known ? 0 : toc_verify(d->l, unit, d->digest, r, content, why);
}

const struct layer_format format_zstd_chunked = {
	.kind = LAYER_ZSTD_CHUNKED,
	.probe = probe,
	.open = open_layer,
	.close = toc_close,
	.ranges = toc_ranges,
	.decoder_open = decoder_open,
	.decoder_close = decoder_close,
	.decode = decode,
	.file_digest = toc_file_digest,
	.trace = toc_trace,
	.trace_decode = toc_trace_decode,
	.prefetch = toc_prefetch,
};
