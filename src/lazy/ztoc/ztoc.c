/*
 * ztoc.c - reading an ordinary layer with a ztoc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ztoc_state.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/deflate/inflater.h"
#include "engine/digest/digest.h"
#include "format/gzip/gzip_points.h"
#include "lazy/ztoc/ztoc.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

/* Fetching the index */

static int
fetch_part(struct layer *l, uint64_t offset, uint64_t length, uint8_t **data,
    char why[LAYER_WHY])
{
	struct layer_range r = { .object = ZTOC_OBJECT,
		.offset = offset, .length = length };

	if (length > LAYER_INDEX_MAX)
		return layer_refuse(why, -EFBIG, "the ztoc is larger than "
		    "256 MiB");
	r.buf = *data = sys_malloc(length + 1);
	return *data == NULL ? -ENOMEM : layer_fetch(l, &r, why);
}

static int
check_digest(const uint8_t *data, size_t len, const uint8_t *expected,
    char why[LAYER_WHY])
{
	uint8_t found[DIGEST_MAX];
	int rc;

	if (expected == NULL)
		return 0;
	rc = digest_sha256(data, len, found);
	if (rc == 0 && memcmp(found, expected, LAYER_DIGEST) != 0)
		return layer_refuse(why, -EBADMSG, "the ztoc does not match "
		    "the expected digest");
	return rc;
}

/* Fetches the index into z.  Returns 0, or -errno with a clause in why. */
static int
fetch_index(struct layer *l, struct ztoc *z, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	uint8_t footer[ZTOC_FOOTER] = { 0 }, *frame = NULL;
	struct layer_range r = { .object = ZTOC_OBJECT,
		.length = ZTOC_FOOTER, .buf = footer };
	uint64_t size, length, content;
	size_t n;
	int rc = l->blobs->size(l->blobs->arg, ZTOC_OBJECT, &size);

	if (rc != 0)
		return layer_refuse(why, rc, "the ztoc: %s", strerror(-rc));
	if (size >= ZTOC_FOOTER) {
		r.offset = size - ZTOC_FOOTER;
		rc = layer_fetch(l, &r, why);
	}
	if (rc != 0)
		return rc;
	if (load_le32(footer) != ZTOC_FOOTER_MAGIC ||
	    load_le64(footer + 32) != ZTOC_MAGIC) {
		z->len = size;
		rc = fetch_part(l, 0, size, &z->data, why);
		return rc != 0 ? rc : check_digest(z->data, size,
		    e->index_digest, why);
	}
	/* the packed variant */
	z->packed = true;
	z->windows = load_le64(footer + 8);
	length = load_le64(footer + 16);
	content = load_le64(footer + 24);
	if (z->windows > r.offset || length != r.offset - z->windows)
		return layer_refuse(why, -EBADMSG, "the ztoc's footer is "
		    "damaged");
	rc = fetch_part(l, z->windows, length, &frame, why);
	if (rc == 0)
		rc = check_digest(frame, length, e->index_digest, why);
	if (rc != 0)
		goto out;
	if (content > LAYER_INDEX_MAX) {
		rc = layer_refuse(why, -EFBIG, "the index is larger than "
		    "256 MiB");
		goto out;
	}
	z->data = sys_malloc(content + 1);
	if (z->data == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	n = ZSTD_decompress(z->data, content, frame, length);
	z->len = content;
	if (ZSTD_isError(n) || n != content)
		rc = layer_refuse(why, -EBADMSG, "the index is damaged");
out:
	sys_free(frame);
	return rc;
}

/* Opening */

static int
open_ztoc(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	struct ztoc *z = sys_calloc(1, sizeof(*z));
	struct flatbuf_table root, toc, compression;
	struct flatbuf_bytes version;
	struct flatbuf b;
	uint64_t stored = 0;
	int rc;

	if (z == NULL)
		return -ENOMEM;
	l->state = z;
	rc = fetch_index(l, z, e, why);
	if (rc != 0)
		return rc;
	b = (struct flatbuf){ z->data, z->len };
	rc = flatbuf_root(&b, &root);
	if (rc == 0)
		rc = flatbuf_string(&root, ZTOC_VERSION, &version);
	if (rc == 0)
		rc = flatbuf_u64(&root, ZTOC_STORED, &stored);
	if (rc == 0)
		rc = flatbuf_u64(&root, ZTOC_CONTENT, &z->content);
	if (rc == 0)
		rc = flatbuf_table(&root, ZTOC_COMPRESSION, &compression);
	if (rc == 0)
		rc = flatbuf_table(&root, ZTOC_TOC, &toc);
	if (rc != 0)
		return layer_refuse(why, rc, "the ztoc is damaged");
	if (version.len != strlen(ZTOC_THE_VERSION) ||
	    memcmp(version.data, ZTOC_THE_VERSION, version.len) != 0)
		return layer_refuse(why, -EBADMSG, "the ztoc's version is "
		    "not " ZTOC_THE_VERSION);
	if (stored != l->size)
		return layer_refuse(why, -EBADMSG, "the ztoc describes a layer "
		    "of %llu bytes, but this one has %llu",
		    (unsigned long long)stored, (unsigned long long)l->size);
	rc = ztoc_read_spans(l, z, &compression, why);
	if (rc == 0)
		rc = ztoc_read_entries(l, z, &toc, why);
	if (rc == 0 && (z->packed || z->plain)) {
		sys_free(z->data);
		z->data = NULL;
	}
	return rc;
}

static void
close_ztoc(struct layer *l)
{
	struct ztoc *z = l->state;

	if (z == NULL)
		return;
	sys_free(z->spans);
	sys_free(z->data);
	sys_free(z);
}

static bool
probe(const struct layer *l)
{
	uint64_t size;

	return l->blobs->size(l->blobs->arg, ZTOC_OBJECT, &size) == 0;
}

/* Units */

struct layer_range
ztoc_span_range(const struct layer *l, const struct ztoc *z, size_t i)
{
	const struct ztoc_span *s = &z->spans[i];
	uint64_t from = s->in - (s->bits != 0);
	uint64_t to = i + 1 < z->count ? s[1].in : l->size;

	return (struct layer_range){ .offset = from, .length = to - from };
}

static size_t
ranges(const struct layer *l, uint32_t unit,
    struct layer_range r[LAYER_RANGES_MAX])
{
	const struct ztoc *z = l->state;
	const struct ztoc_span *s = &z->spans[unit];

	r[0] = ztoc_span_range(l, z, unit);
	if (!z->packed || s->window_len == 0)
		return 1;
	r[1] = (struct layer_range){ .object = ZTOC_OBJECT,
		.offset = s->window_at, .length = s->window_len };
	return 2;
}

struct span_decoder {
	struct inflater *inflater;
	ZSTD_DCtx *unpacker;
	uint8_t window[ZTOC_WINDOW];
};

static int
open_decoder(struct layer_decoder *d)
{
	struct span_decoder *x = sys_calloc(1, sizeof(*x));
	int rc;

	d->state = x;
	if (x == NULL)
		return -ENOMEM;
	rc = inflater_open(&x->inflater);
	if (rc == 0)
		x->unpacker = ZSTD_createDCtx();
	return rc != 0 || x->unpacker != NULL ? rc : -ENOMEM;
}

static void
close_decoder(struct layer_decoder *d)
{
	struct span_decoder *x = d->state;

	if (x == NULL)
		return;
	inflater_close(x->inflater);
	ZSTD_freeDCtx(x->unpacker);
	sys_free(x);
}

static bool
has_digest(struct layer_decoder *d, const struct layer_range *r,
    const uint8_t expected[LAYER_DIGEST])
{
	uint8_t found[DIGEST_MAX];

	if (d->known)
		return true;
	return digest_once(d->digest, r->buf, r->length, found) == 0 &&
	    memcmp(found, expected, LAYER_DIGEST) == 0;
}

static int
decode_span(struct layer_decoder *d, uint32_t unit,
    const struct layer_range *r, void *content, const char **why)
{
	struct span_decoder *x = d->state;
	const struct ztoc *z = d->l->state;
	const struct ztoc_span *s = &z->spans[unit];
	size_t size = d->l->index.units[unit].content;
	struct gzip_point p = { .bits = s->bits, .window = s->window,
		.window_len = s->window_len };

	*why = "a span does not match its digest in the ztoc";
	if (!has_digest(d, r, s->digest))
		return -EBADMSG;
	if (z->plain) {
		memcpy(content, r->buf, size);
		return 0;
	}
	/* the window is in memory, unless it has been fetched with the span */
	if (z->packed && s->window_len > 0) {
		*why = "a span's window does not match its digest in the ztoc";
		if (!has_digest(d, r + 1, s->window_digest))
			return -EBADMSG;
		p.window = x->window;
		p.window_len = ZSTD_decompressDCtx(x->unpacker, x->window,
		    sizeof(x->window), r[1].buf, r[1].length);
		if (ZSTD_isError(p.window_len))
			return -EBADMSG;
	}
	*why = "a span does not decompress as stated in the ztoc";
	return gzip_resume(x->inflater, &p, r->buf, r->length, content, size);
}

const struct layer_format format_ztoc = {
	.kind = LAYER_ZTOC,
	.probe = probe, .open = open_ztoc, .close = close_ztoc,
	.ranges = ranges,
	.decoder_open = open_decoder,
	.decoder_close = close_decoder,
	.decode = decode_span,
};
