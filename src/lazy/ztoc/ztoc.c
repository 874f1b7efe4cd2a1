/*
 * ztoc.c - opening an ordinary layer with a ztoc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ztoc_state.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "lazy/ztoc/ztoc.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

/* Fetching the index */

static int
fetch(struct layer *l, uint64_t offset, uint64_t length, uint8_t **data,
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

/* Decompresses the index of the packed variant. */
static int
unpack(struct ztoc *z, const uint8_t *frame, size_t len, uint64_t content,
    char why[LAYER_WHY])
{
	size_t n;

	if (content > LAYER_INDEX_MAX)
		return layer_refuse(why, -EFBIG, "the index is larger than "
		    "256 MiB");
	z->data = sys_malloc(content + 1);
	if (z->data == NULL)
		return -ENOMEM;
	n = ZSTD_decompress(z->data, content, frame, len);
	z->len = content;
	return !ZSTD_isError(n) && n == content ? 0 :
	    layer_refuse(why, -EBADMSG, "the index is damaged");
}

static int
fetch_packed(struct layer *l, struct ztoc *z, const struct layer_expect *e,
    const uint8_t footer[ZTOC_FOOTER], uint64_t end, char why[LAYER_WHY])
{
	uint64_t offset = load_le64(footer + 8);
	uint64_t length = load_le64(footer + 16);
	uint8_t *frame = NULL;
	int rc;

	if (offset > end || length != end - offset)
		return layer_refuse(why, -EBADMSG, "the ztoc's footer is "
		    "damaged");
	z->packed = true;
	z->windows = offset;
	rc = fetch(l, offset, length, &frame, why);
	if (rc == 0)
		rc = check_digest(frame, length, e->index_digest, why);
	if (rc == 0)
		rc = unpack(z, frame, length, load_le64(footer + 24), why);
	sys_free(frame);
	return rc;
}

int
ztoc_fetch(struct layer *l, struct ztoc *z, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	uint8_t footer[ZTOC_FOOTER] = { 0 };
	struct layer_range r = { .object = ZTOC_OBJECT,
		.length = ZTOC_FOOTER, .buf = footer };
	uint64_t size;
	int rc = l->blobs->size(l->blobs->arg, ZTOC_OBJECT, &size);

	if (rc != 0)
		return layer_refuse(why, rc, "the ztoc: %s", strerror(-rc));
	if (size >= ZTOC_FOOTER) {
		r.offset = size - ZTOC_FOOTER;
		rc = layer_fetch(l, &r, why);
	}
	if (rc != 0)
		return rc;
	if (load_le32(footer) == ZTOC_FOOTER_MAGIC &&
	    load_le64(footer + 32) == ZTOC_MAGIC)
		return fetch_packed(l, z, e, footer, r.offset, why);
	z->len = size;
	rc = fetch(l, 0, size, &z->data, why);
	return rc != 0 ? rc : check_digest(z->data, size, e->index_digest,
	    why);
}

/* Opening */

static int
parse(struct layer *l, struct ztoc *z, char why[LAYER_WHY])
{
	struct flatbuf b = { z->data, z->len };
	struct flatbuf_table root, toc, compression;
	struct flatbuf_bytes version;
	uint64_t stored = 0;
	int rc = flatbuf_root(&b, &root);

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
	return rc != 0 ? rc : ztoc_read_entries(l, z, &toc, why);
}

static int
open_ztoc(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	struct ztoc *z = sys_calloc(1, sizeof(*z));
	int rc;

	if (z == NULL)
		return -ENOMEM;
	l->state = z;
	rc = ztoc_fetch(l, z, e, why);
	if (rc == 0)
		rc = parse(l, z, why);
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

const struct layer_format format_ztoc = {
	.kind = LAYER_ZTOC,
	.probe = probe, .open = open_ztoc, .close = close_ztoc,
	.ranges = ranges,
	.decoder_open = ztoc_decoder_open,
	.decoder_close = ztoc_decoder_close,
	.decode = ztoc_decode,
};
