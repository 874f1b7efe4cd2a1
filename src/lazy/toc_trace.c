/*
 * toc_trace.c - reading what a start touches from one stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The format is described in pack_trace.h.  The digest is verified first.  What
 * it then says is still checked, because whoever made the layer may be hostile.
 */
#include "toc.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "pack_trace.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum { PIECE = 128 << 10 };

struct record {
	uint32_t entry;
	uint64_t offset, length;
};

struct trace {
	const struct layer *l;
	const struct pack_format *format;
	const uint8_t *at;		/* not yet unwrapped */
	size_t left;
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

/* Decodes exactly len bytes. */
static int
decode(struct trace *t, void *buf, size_t len)
{
	ZSTD_outBuffer out = { buf, len, 0 };

	while (out.pos < len) {
		size_t before = out.pos, n, used;
		const uint8_t *data;

		if (ZSTD_isError(ZSTD_decompressStream(t->decoder, &out,
		    &t->in)))
			return -EBADMSG;
		if (out.pos > before || t->in.pos < t->in.size)
			continue;
		used = t->format->unwrap(t->at, t->left, &data, &n);
		if (used == 0)
			return -EBADMSG;
		t->at += used;
		t->left -= used;
		t->in = (ZSTD_inBuffer){ data, n, 0 };
	}
	return 0;
}

/* Returns whether the index has such a part of a file. */
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
		/* no length is negative as an int64_t */
		content += t->records[i].length;
		if (rc == 0 && content > LAYER_TRACE_CONTENT_MAX)
			rc = -EFBIG;
	}
	return rc;
}

static int
read_all(struct trace *t, int (*take)(void *arg, size_t entry,
    uint64_t offset, const void *data, size_t length), void *arg)
{
	uint32_t count = 0;
	int rc = read_records(t, &count);

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		struct record r = t->records[i];

		while (rc == 0 && r.length > 0) {
			size_t n = r.length < PIECE ? (size_t)r.length : PIECE;

			rc = decode(t, t->piece, n);
			if (rc == 0)
				rc = take(arg, r.entry, r.offset, t->piece, n);
			r.offset += n;
			r.length -= n;
		}
	}
	return rc;
}

static int
verify(const struct layer *l, const struct layer_range *r)
{
	const struct toc *t = l->state;
	uint8_t digest[DIGEST_MAX];
	int rc = digest_sha256(r->buf, (size_t)r->length, digest);

	if (rc == 0 && memcmp(digest, t->trace.digest, LAYER_DIGEST) != 0)
		rc = -EBADMSG;
	return rc;
}

int
toc_trace_decode(const struct layer *l, const struct layer_range *r,
    int (*take)(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length), void *arg)
{
	struct trace t = { .l = l, .format = pack_format_of(layer_kind(l)),
		.at = r->buf, .left = (size_t)r->length };
	int rc = r->length > LAYER_TRACE_MAX ? -EFBIG : verify(l, r);

	if (rc != 0)
		return rc;
	t.decoder = ZSTD_createDCtx();
	t.piece = sys_malloc(PIECE);
	rc = t.decoder == NULL || t.piece == NULL ? -ENOMEM : 0;
	if (rc == 0)
		ZSTD_DCtx_setParameter(t.decoder, ZSTD_d_windowLogMax,
		    TRACE_WINDOW_LOG);
	if (rc == 0)
		rc = read_all(&t, take, arg);
	ZSTD_freeDCtx(t.decoder);
	sys_free(t.records);
	sys_free(t.piece);
	return rc;
}
