/*
 * ztoc_read.c - reading and checking the spans of a ztoc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ztoc_state.h"

#include "base/bytes.h"
#include "base/hex.h"
#include "base/sys.h"
#include "lazy/ztoc/ztoc.h"

#include <errno.h>
#include <string.h>

int
ztoc_damaged(char why[LAYER_WHY], const char *what)
{
	return layer_refuse(why, -EBADMSG, "the ztoc is damaged: %s", what);
}

static int
read_digests(struct ztoc *z, const struct flatbuf_table *compression)
{
	struct flatbuf_refs refs;
	struct flatbuf_bytes s;
	int rc = flatbuf_refs(compression, COMPRESSION_DIGESTS, &refs);

	if (rc != 0 || refs.count != z->count)
		return -EBADMSG;
	for (uint32_t i = 0; rc == 0 && i < refs.count; i++) {
		rc = flatbuf_ref_string(&refs, i, &s);
		if (rc == 0)
			rc = hex_read_sha256(z->spans[i].digest,
			    (const char *)s.data);
	}
	return rc;
}

static void
load_point(struct ztoc_span *s, const uint8_t *p)
{
	s->in = load_le64(p);
	s->out = load_le64(p + 8);
	s->bits = p[16];
}

/*
 * Reads the checkpoints. An early version of SOCI omits the first checkpoint,
 * which always follows a ten-byte header.
 */
static int
read_checkpoints(struct ztoc *z, const struct flatbuf_table *compression)
{
	struct flatbuf_bytes v;
	int rc = flatbuf_vector(compression, COMPRESSION_CHECKPOINTS, 1, &v);
	const uint8_t *p = v.data + ZTOC_CHECKPOINTS_HEAD;
	size_t first;

	if (rc != 0 || v.len < ZTOC_CHECKPOINTS_HEAD ||
	    load_le32(v.data) != z->count)
		return -EBADMSG;
	v.len -= ZTOC_CHECKPOINTS_HEAD;
	first = z->count - v.len / ZTOC_CHECKPOINT;
	if (v.len % ZTOC_CHECKPOINT != 0 || first > 1)
		return -EBADMSG;
	z->spans[0] = (struct ztoc_span){ .in = 10 };
	for (size_t i = first; i < z->count; i++, p += ZTOC_CHECKPOINT) {
		struct ztoc_span *s = &z->spans[i];

		load_point(s, p);
		s->window = p + ZTOC_CHECKPOINT_HEAD;
		s->window_len = ZTOC_WINDOW;
	}
	return 0;
}

static int
read_points(struct ztoc *z, const struct flatbuf_table *compression)
{
	struct flatbuf_bytes v;
	int rc = flatbuf_vector(compression, COMPRESSION_POINTS, 1, &v);
	uint64_t at = 0;

	if (rc != 0 || v.len / ZTOC_POINT != z->count ||
	    v.len % ZTOC_POINT != 0)
		return -EBADMSG;
	for (size_t i = 0; i < z->count; i++) {
		const uint8_t *p = v.data + i * ZTOC_POINT;
		struct ztoc_span *s = &z->spans[i];

		load_point(s, p);
		s->window_at = at;
		s->window_len = load_le32(p + 17);
		memcpy(s->window_digest, p + 21, LAYER_DIGEST);
		at += s->window_len;
		if (s->window_len > 2 * ZTOC_WINDOW)
			return -EBADMSG;
	}
	return at <= z->windows ? 0 : -EBADMSG;
}

/* Reads the common length of the spans, which is in a nested FlatBuffer. */
static int
read_plain(struct ztoc *z, const struct flatbuf_table *compression)
{
	struct flatbuf_bytes v;
	struct flatbuf_table root;
	uint64_t span = 0;
	int rc = flatbuf_vector(compression, COMPRESSION_CHECKPOINTS, 1, &v);
	struct flatbuf b = { v.data, v.len };

	if (rc == 0)
		rc = flatbuf_root(&b, &root);
	if (rc == 0)
		rc = flatbuf_u64(&root, PLAIN_SPAN, &span);
	if (rc != 0 || span == 0 || span > LAYER_UNIT_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < z->count; i++)
		z->spans[i].in = z->spans[i].out = i * span;
	return 0;
}

/*
 * Adds the units; checks that points are in ascending order and that sizes are
 * within limits.
 */
static int
add_units(struct layer *l, const struct ztoc *z, char why[LAYER_WHY])
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < z->count; i++) {
		const struct ztoc_span *s = &z->spans[i];
		uint64_t in = i + 1 < z->count ? s[1].in : l->size;
		uint64_t out = i + 1 < z->count ? s[1].out : z->content;
		struct layer_unit u;

		/*
		 * there may be spans that contain only zeros after the archive
		 */
		out = out > z->content ? z->content : out;
		if (s->bits > 7 || s->in < (s->bits != 0) || s->in > in ||
		    in > l->size || (i + 1 < z->count && s->out > s[1].out))
			return ztoc_damaged(why, "spans are out of order");
		u.content = s->out < out ? out - s->out : 0;
		u.stored = ztoc_span_range(l, z, i).length;
		if (u.stored > LAYER_UNIT_MAX)
			return layer_refuse(why, -EFBIG, "a span is "
			    "larger than 64 MiB");
		if (z->plain && u.stored < u.content)
			return ztoc_damaged(why, "a span is too short");
		u.stored += z->packed ? s->window_len : 0;
		rc = index_unit(&l->index, &u, why);
	}
	return rc;
}

int
ztoc_read_spans(struct layer *l, struct ztoc *z,
    const struct flatbuf_table *compression, char why[LAYER_WHY])
{
	uint8_t kind = ZTOC_GZIP;
	uint32_t last = 0;
	int rc = flatbuf_u8(compression, COMPRESSION_KIND, &kind);

	if (rc == 0)
		rc = flatbuf_u32(compression, COMPRESSION_LAST, &last);
	if (rc != 0 || kind < ZTOC_GZIP || kind > ZTOC_PLAIN)
		return ztoc_damaged(why, "the compression");
	z->plain = kind == ZTOC_PLAIN;
	z->count = (size_t)(uint32_t)(last + 1);
	/* the digest of a span needs at least this many bytes */
	if (z->count > z->len / LAYER_DIGEST)
		return ztoc_damaged(why, "the number of spans");
	z->spans = sys_calloc(z->count + 1, sizeof(*z->spans));
	if (z->spans == NULL)
		return -ENOMEM;
	if (z->plain)
		rc = read_plain(z, compression);
	else if (z->packed)
		rc = read_points(z, compression);
	else
		rc = read_checkpoints(z, compression);
	if (rc == 0)
		rc = read_digests(z, compression);
	return rc != 0 ? ztoc_damaged(why, "the spans") : add_units(l, z, why);
}
