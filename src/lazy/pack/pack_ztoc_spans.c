/*
 * pack_ztoc_spans.c - the spans of a layer, their digests and windows
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The FlatBuffer is written back to front, so the checkpoints are kept in a
 * spool; packed windows are at the beginning of the file, so they are written
 * immediately.
 */
#include "pack_ztoc.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "format/gzip/gzip_points.h"
#include "spool.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

struct pack_ztoc_spans {
	struct pack_ztoc_spans_options o;
	struct digest_algo *sha256;
	struct digest *digest;		/* digest of the current span */
	struct digest *window_digest;
	uint64_t stored;		/* layer bytes added so far */
	uint8_t last;			/* the last byte */
	uint64_t count;			/* number of spans begun */
	uint8_t (*digests)[LAYER_DIGEST];
	size_t digest_count, digest_cap;
	struct spool *checkpoints;
	struct strbuf points;
	ZSTD_CCtx *packer;
	size_t bound;
	uint8_t checkpoint[ZTOC_CHECKPOINT];
	uint8_t packed[];		/* bound bytes */
};

int
pack_ztoc_spans_open(struct pack_ztoc_spans **out,
    const struct pack_ztoc_spans_options *o)
{
	size_t bound = ZSTD_compressBound(ZTOC_WINDOW);
	struct pack_ztoc_spans *s = sys_calloc(1, sizeof(*s) + bound);
	int rc = s == NULL ? -ENOMEM : 0;

	*out = s;
	if (rc != 0)
		return rc;
	s->o = *o;
	s->bound = bound;
	rc = spool_open(&s->checkpoints, o->tmpdir);
	if (rc != 0)
		return rc;
	rc = digest_algo_open(&s->sha256, "sha256");
	if (rc != 0)
		return rc;
	rc = digest_new(&s->digest, s->sha256);
	if (rc == 0)
		rc = digest_new(&s->window_digest, s->sha256);
	if (rc == 0 && o->packed) {
		s->packer = ZSTD_createCCtx();
		rc = s->packer == NULL ? -ENOMEM : 0;
	}
	return rc;
}

void
pack_ztoc_spans_close(struct pack_ztoc_spans *s)
{
	if (s == NULL)
		return;
	spool_close(s->checkpoints);
	digest_free(s->digest);
	digest_free(s->window_digest);
	digest_algo_close(s->sha256);
	sys_free(s->digests);
	strbuf_free(&s->points);
	ZSTD_freeCCtx(s->packer);
	sys_free(s);
}

uint64_t
pack_ztoc_spans_count(const struct pack_ztoc_spans *s)
{
	return s->count;
}

uint64_t
pack_ztoc_spans_stored(const struct pack_ztoc_spans *s)
{
	return s->stored;
}

/* Digests */

int
pack_ztoc_spans_end(struct pack_ztoc_spans *s)
{
	void *items = s->digests;
	int rc;

	if (s->count == 0)
		return 0;
	rc = array_grow(&items, s->digest_count, &s->digest_cap, LAYER_DIGEST);
	s->digests = items;
	return rc != 0 ? rc : digest_end(s->digest,
	    s->digests[s->digest_count++]);
}

/* Begins a span, which includes the last byte if that is shared. */
static int
begin_span(struct pack_ztoc_spans *s, bool shared)
{
	int rc = digest_start(s->digest);

	s->count++;
	return rc == 0 && shared ? digest_add(s->digest, &s->last, 1) : rc;
}

/*
 * Adds bytes to the current span; bytes before the first span are not part of
 * any span.
 */
static int
add_span(struct pack_ztoc_spans *s, const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	s->stored += len;
	s->last = data[len - 1];
	return s->count == 0 ? 0 : digest_add(s->digest, data, len);
}

int
pack_ztoc_spans_taken(void *spans, const uint8_t *data, size_t len)
{
	struct pack_ztoc_spans *s = spans;
	int rc = 0;

	if (!s->o.plain)
		return add_span(s, data, len);
	/* an uncompressed layer, in which all spans have the same length */
	while (rc == 0 && len > 0) {
		uint64_t left = s->o.span - s->stored % s->o.span;
		size_t n = len < left ? len : (size_t)left;

		if (left == s->o.span) {
			rc = pack_ztoc_spans_end(s);
			if (rc == 0)
				rc = begin_span(s, false);
		}
		if (rc == 0)
			rc = add_span(s, data, n);
		data += n;
		len -= n;
	}
	return rc;
}

/* Points */

int
pack_ztoc_spans_window(void *spans, const uint8_t *window, size_t len)
{
	struct pack_ztoc_spans *s = spans;
	uint8_t *point = (uint8_t *)s->points.data + s->points.len -
	    ZTOC_POINT;
	size_t n = len == 0 ? 0 : ZSTD_compressCCtx(s->packer, s->packed,
	    s->bound, window, len, s->o.level);
	int rc;

	if (ZSTD_isError(n))
		return -ENOMEM;
	store_le32(point + ZTOC_CHECKPOINT_HEAD, (uint32_t)n);
	rc = digest_once(s->window_digest, s->packed, n,
	    point + ZTOC_CHECKPOINT_HEAD + 4);
	return rc != 0 ? rc : ztoc_output_put(s->o.out, s->packed, n);
}

int
pack_ztoc_spans_point(void *spans, const struct gzip_point *p)
{
	struct pack_ztoc_spans *s = spans;
	uint8_t *to = s->checkpoint, *window = to + ZTOC_CHECKPOINT_HEAD;
	size_t zeros = ZTOC_WINDOW - p->window_len;
	int rc = pack_ztoc_spans_end(s);

	if (rc != 0)
		return rc;
	store_le64(to, p->in);
	store_le64(to + 8, p->out);
	to[16] = (uint8_t)p->bits;
	if (s->o.packed) {
		/* pack_ztoc_spans_window() adds the compressed window */
		memset(window, 0, ZTOC_POINT - ZTOC_CHECKPOINT_HEAD);
		strbuf_add(&s->points, to, ZTOC_POINT);
		rc = s->points.failed ? -ENOMEM : 0;
	} else {
		memset(window, 0, zeros);
		memcpy(window + zeros, p->window, p->window_len);
		rc = spool_push(s->checkpoints, to, ZTOC_CHECKPOINT);
	}
	return rc != 0 ? rc : begin_span(s, p->bits != 0);
}

/* Writing */

/* The checkpoints of a layer that is not compressed. */
struct plain {
	uint8_t data[128];
	size_t len;
};

static int
put_plain(void *arg, const void *data, size_t len)
{
	struct plain *p = arg;

	if (len > sizeof(p->data) - p->len)
		return -EOVERFLOW;
	memcpy(p->data + p->len, data, len);
	p->len += len;
	return 0;
}

static uint32_t
write_plain(const struct pack_ztoc_spans *s, struct flatbuf_writer *w, int *rc)
{
	struct plain p = { .len = 0 };
	struct flatbuf_writer *own;
	uint32_t root;

	*rc = flatbuf_writer_open(&own, s->o.tmpdir);
	if (*rc != 0)
		return 0;
	flatbuf_table_begin(own);
	flatbuf_put_u32(own, PLAIN_VERSION, ZTOC_PLAIN_VERSION);
	flatbuf_put_u64(own, PLAIN_SPAN, s->o.span);
	flatbuf_put_u64(own, PLAIN_SIZE, s->stored);
	root = flatbuf_table_end(own);
	*rc = flatbuf_finish(own, root, put_plain, &p);
	flatbuf_writer_close(own);
	return flatbuf_put_bytes(w, p.data, p.len);
}

int
pack_ztoc_spans_write(struct pack_ztoc_spans *s, struct flatbuf_writer *w,
    uint32_t *at)
{
	uint64_t len = ZTOC_CHECKPOINTS_HEAD + s->count * ZTOC_CHECKPOINT;
	uint32_t checkpoints = 0, points = 0, digests;
	uint8_t head[ZTOC_CHECKPOINTS_HEAD];
	char text[HEX_SHA256];
	uint32_t *refs;
	const void *p;
	size_t n;
	int rc = 0;

	if (s->o.plain) {
		checkpoints = write_plain(s, w, &rc);
	} else if (s->o.packed) {
		points = flatbuf_put_bytes(w, s->points.data, s->points.len);
	} else {
		flatbuf_bytes_begin(w, len);
		while ((rc = spool_pop(s->checkpoints, &p, &n)) == 1)
			flatbuf_bytes_piece(w, p, n);
		store_le32(head, (uint32_t)s->count);
		store_le64(head + 4, s->o.span);
		flatbuf_bytes_piece(w, head, sizeof(head));
		checkpoints = flatbuf_bytes_end(w, len);
	}
	if (rc != 0)
		return rc;
	refs = sys_malloc((s->digest_count + 1) * sizeof(*refs));
	if (refs == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->digest_count; i++) {
		hex_write_sha256(text, s->digests[i]);
		refs[i] = flatbuf_put_string(w, text, strlen(text));
	}
	digests = flatbuf_put_refs(w, refs, s->digest_count);
	sys_free(refs);
	flatbuf_table_begin(w);
	flatbuf_put_u32(w, COMPRESSION_LAST, (uint32_t)s->count - 1);
	flatbuf_put_ref(w, COMPRESSION_DIGESTS, digests);
	flatbuf_put_ref(w, COMPRESSION_CHECKPOINTS, checkpoints);
	flatbuf_put_u8(w, COMPRESSION_KIND,
	    s->o.plain ? ZTOC_PLAIN : ZTOC_GZIP, ZTOC_GZIP);
	flatbuf_put_ref(w, COMPRESSION_POINTS, points);
	*at = flatbuf_table_end(w);
	return 0;
}
