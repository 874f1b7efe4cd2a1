/*
 * toc_trace.c - reading the data touched at startup from one stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The format is described in pack_trace.h.  Data is decoded before its digest
 * is verified, so every value in it is checked; the digest is verified at the
 * end.
 */
#include "toc.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "pack_trace.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum {
	PIECE = 128 << 10,
	WRAPPING = 64			/* maximum bytes around a part */
};

struct record {
	uint32_t entry;
	uint64_t offset, length;
};

struct trace {
	const struct layer *l;
	const struct layer_trace_io *io;
	const struct pack_format *format;
	uint64_t left;			/* bytes of the trace still to be
					 * read */
	struct digest_algo *sha256;
	struct digest *digest;		/* digest of the bytes read */
	uint8_t *bytes;			/* bytes read but not unwrapped */
	size_t at, end, cap;
	ZSTD_DCtx *decoder;
	ZSTD_inBuffer in;
	struct record *records;
	uint8_t *piece;
};

bool
toc_trace(const struct layer *l, struct layer_range *r)
{
	const struct toc *t = l->state;

	*r = (struct layer_range){ .offset = t->trace.offset,
		.length = t->trace.length };
	return r->length > 0 && r->length <= l->size &&
	    r->offset <= l->size - r->length;
}

/* Reading */

/* Reads some bytes and sets *data to them. Returns their number, or -errno. */
static ssize_t
read_some(struct trace *t, const uint8_t **data)
{
	ssize_t n = t->left == 0 ? 0 : t->io->next(t->io->arg, data);
	int rc = 0;

	if (n <= 0 || (uint64_t)n > t->left)
		return n < 0 ? n : -EBADMSG;
	t->left -= (uint64_t)n;
	rc = digest_add(t->digest, *data, (size_t)n);
	return rc == 0 ? n : rc;
}

/* Reads more bytes to unwrap. */
static int
read_more(struct trace *t)
{
	size_t rest = t->end - t->at;
	const uint8_t *data;
	uint8_t *bytes;
	ssize_t n;

	if (rest > t->format->wrap_max + WRAPPING)
		return -EBADMSG;
	n = read_some(t, &data);
	if (n < 0)
		return (int)n;
	if (rest > 0)
		memmove(t->bytes, t->bytes + t->at, rest);
	if (t->cap < rest + (size_t)n) {
		bytes = sys_realloc(t->bytes, rest + (size_t)n);
		if (bytes == NULL)
			return -ENOMEM;
		t->bytes = bytes;
		t->cap = rest + (size_t)n;
	}
	memcpy(t->bytes + rest, data, (size_t)n);
	t->at = 0;
	t->end = rest + (size_t)n;
	return 0;
}

/* Unwraps the next part and passes it to the decoder. */
static int
unwrap(struct trace *t)
{
	const uint8_t *data;
	size_t n, used;
	int rc = 0;

	do {
		used = t->at == t->end ? 0 : t->format->unwrap(t->bytes +
		    t->at, t->end - t->at, &data, &n);
		if (used == 0)
			rc = read_more(t);
	} while (rc == 0 && used == 0);
	if (rc != 0)
		return rc;
	t->at += used;
	t->in = (ZSTD_inBuffer){ data, n, 0 };
	return 0;
}

/* Decodes exactly len bytes. */
static int
decode(struct trace *t, void *buf, size_t len)
{
	ZSTD_outBuffer out = { buf, len, 0 };
	int rc = 0;

	while (rc == 0 && out.pos < len) {
		size_t before = out.pos;

		if (ZSTD_isError(ZSTD_decompressStream(t->decoder, &out,
		    &t->in)))
			return -EBADMSG;
		if (out.pos == before && t->in.pos == t->in.size)
			rc = unwrap(t);
	}
	return rc;
}

/* Reads the rest and verifies the digest. */
static int
verify(struct trace *t)
{
	const struct toc *toc = t->l->state;
	uint8_t sum[DIGEST_MAX];
	const uint8_t *data;
	ssize_t n = 0;
	int rc;

	while (t->left > 0 && n >= 0)
		n = read_some(t, &data);
	if (n < 0)
		return (int)n;
	rc = digest_end(t->digest, sum);
	if (rc == 0 && memcmp(sum, toc->trace.digest, LAYER_DIGEST) != 0)
		rc = -EBADMSG;
	return rc;
}

/* Records and pieces */

/* Returns whether this part of a file exists in the index. */
static bool
exists(const struct trace *t, const struct record *r)
{
	size_t count;
	const struct layer_entry *e = layer_entries(t->l, &count);

	return r->entry < count && e[r->entry].type == TAR_FILE &&
	    r->offset <= e[r->entry].size &&
	    r->length <= e[r->entry].size - r->offset;
}

static int
read_records(struct trace *t, uint32_t *count)
{
	uint8_t raw[TRACE_RECORD];
	uint64_t content = 0;
	int rc = decode(t, raw, 4);

	*count = load_le32(raw);
	if (rc != 0 || *count > TRACE_RECORDS_MAX)
		return -EBADMSG;
	t->records = sys_malloc((*count + (size_t)1) * sizeof(*t->records));
	if (t->records == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < *count; i++) {
		rc = decode(t, raw, sizeof(raw));
		t->records[i] = (struct record){ load_le32(raw),
			load_le64(raw + 4), load_le64(raw + 12) };
		if (rc == 0 && !exists(t, &t->records[i]))
			rc = -EBADMSG;
		/* lengths are at most INT64_MAX, so this does not overflow */
		content += t->records[i].length;
		if (rc == 0 && content > LAYER_TRACE_CONTENT_MAX)
			rc = -EFBIG;
	}
	return rc;
}

static int
read_piece(struct trace *t, const struct record *r, uint64_t done)
{
	size_t n = r->length - done < PIECE ? (size_t)(r->length - done) :
	    PIECE;
	int rc = decode(t, t->piece, n);

	return rc != 0 ? rc : t->io->take(t->io->arg, r->entry,
	    r->offset + done, t->piece, n);
}

static int
read_all(struct trace *t)
{
	uint32_t count = 0;
	int rc = read_records(t, &count);

	for (uint32_t i = 0; rc == 0 && i < count; i++)
		for (uint64_t done = 0; rc == 0 && done <
		    t->records[i].length; done += PIECE)
			rc = read_piece(t, &t->records[i], done);
	return rc;
}

static int
open_trace(struct trace *t)
{
	int rc = digest_algo_open(&t->sha256, "sha256");

	if (rc == 0)
		rc = digest_new(&t->digest, t->sha256);
	if (rc == 0)
		rc = digest_start(t->digest);
	t->decoder = ZSTD_createDCtx();
	t->piece = sys_malloc(PIECE);
	if (t->decoder == NULL || t->piece == NULL)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(t->decoder, ZSTD_d_windowLogMax,
	    TRACE_WINDOW_LOG);
	return rc;
}

static void
close_trace(struct trace *t)
{
	ZSTD_freeDCtx(t->decoder);
	digest_free(t->digest);
	digest_algo_close(t->sha256);
	sys_free(t->bytes);
	sys_free(t->records);
	sys_free(t->piece);
}

int
toc_trace_decode(const struct layer *l, const struct layer_trace_io *io)
{
	const struct toc *toc = l->state;
	struct trace t = { .l = l, .io = io, .left = toc->trace.length,
		.format = pack_format_of(layer_kind(l)) };
	int rc = t.left > LAYER_TRACE_MAX ? -EFBIG : open_trace(&t), wrong;

	if (rc == 0) {
		rc = read_all(&t);
		/*
		 * -EFBIG is reported only for a trace whose digest is correct
		 */
		wrong = rc == 0 || rc == -EFBIG ? verify(&t) : 0;
		rc = wrong != 0 ? wrong : rc;
	}
	close_trace(&t);
	return rc;
}
