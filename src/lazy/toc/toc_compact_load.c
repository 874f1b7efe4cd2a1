/*
 * toc_compact_load.c - fetching a compact index, and reading its trailer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/toc/toc_compact.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "toc_compact_impl.h"
#include "toc_parts.h"
#include "lazy/toc/toc_wrapping.h"

#include <errno.h>
#include <string.h>

enum { STRIDE_MIN = TOC_BLOCK * LAYER_DIGEST, STRIDE_MAX = STRIDE_MIN + 64 };

int
compact_damaged(char why[LAYER_WHY])
{
	return layer_refuse(why, -EBADMSG, "the compact index is damaged");
}

/* The trailer */

/* Returns whether all digest blocks are within the layer. */
static bool
has_blocks(const struct layer *l)
{
	const struct toc *t = l->state;
	const struct toc_blocks *b = &t->blocks;
	size_t last = t->chunk_count == 0 ? 0 : (t->chunk_count - 1) /
	    TOC_BLOCK;
	uint64_t length = last * b->stride + toc_block_length(t->chunk_count,
	    last);

	return b->stride >= STRIDE_MIN && b->stride <= STRIDE_MAX &&
	    length <= l->size && b->first <= l->size - length;
}

/* Reads the digests of the digest blocks. */
static int
read_digests(struct toc *t, const struct toc_compact_source *s)
{
	size_t n = (t->chunk_count + TOC_BLOCK - 1) / TOC_BLOCK;

	t->blocks.digests = sys_malloc((n + 1) * LAYER_DIGEST);
	return t->blocks.digests == NULL ? -ENOMEM : s->read(s->arg,
	    t->blocks.digests, n * LAYER_DIGEST);
}

static int
read_trailer(struct layer *l, const struct toc_compact_source *s,
    char why[LAYER_WHY])
{
	struct toc *t = l->state;
	uint8_t raw[COMPACT_TRAILER];
	int rc = s->read(s->arg, raw, sizeof(raw));

	if (rc != 0)
		return rc;
	t->trace.offset = load_le64(raw + 8);
	t->trace.length = load_le64(raw + 16);
	memcpy(t->trace.digest, raw + 24, LAYER_DIGEST);
	t->blocks.first = load_le64(raw + 64);
	t->blocks.stride = load_le64(raw + 72);
	if (load_le64(raw) > l->size || load_le64(raw + 56) !=
	    t->chunk_count || !has_blocks(l))
		return compact_damaged(why);
	rc = read_digests(t, s);
	if (rc == 0)
		rc = toc_place_units(t, &l->index, load_le64(raw), why);
	for (size_t i = 0; rc == 0 && i < l->index.unit_count; i++)
		l->index.units[i].stored += toc_block_bytes(l, (uint32_t)i);
	return rc;
}

int
toc_compact_read(struct layer *l, const struct toc_compact_source *source,
    char why[LAYER_WHY])
{
	struct compact *c = sys_calloc(1, sizeof(*c));
	struct toc *t = sys_calloc(1, sizeof(*t));
	struct toc_reader *r = NULL;
	int rc = -ENOMEM;

	l->state = t;
	if (c != NULL && t != NULL) {
		c->source = source;
		rc = toc_reader_open(&r, t, &l->index, false);
		if (rc == 0)
			rc = compact_blocks(c, r, why);
		if (rc == 0)
			rc = read_trailer(l, source, why);
		toc_reader_close(r);
		strbuf_free(&c->name);
		sys_free(c->xattrs);
		sys_free(c->block);
	}
	sys_free(c);
	return rc;
}

/* The input */

struct fetched {
	struct toc_input in;
	const uint8_t *first;		/* the first piece; NULL: used */
	size_t first_len;
	struct toc_parts parts;
	char *why;
};

static ssize_t
next(void *arg, const uint8_t **data)
{
	struct fetched *i = arg;

	if (i->first == NULL)
		return toc_input_next(&i->in, data, i->why);
	*data = i->first;
	i->first = NULL;
	return (ssize_t)i->first_len;
}

static int
read_parts(void *arg, void *buf, size_t len)
{
	struct fetched *i = arg;
	int rc = toc_parts_read(&i->parts, buf, len);

	return rc == -EBADMSG ? compact_damaged(i->why) : rc;
}

/*
 * Fetches the first piece, which reveals the format, and determines the size.
 */
static int
begin(struct fetched *i, uint64_t length)
{
	struct layer *l = i->in.l;
	ssize_t n = toc_input_next(&i->in, &i->first, i->why);
	int rc;

	if (n <= 0)
		return n < 0 ? (int)n : compact_damaged(i->why);
	i->first_len = (size_t)n;
	rc = l->blobs->size(l->blobs->arg, NULL, &l->size);
	if (rc != 0)
		return layer_refuse(i->why, rc, "%s", strerror(-rc));
	l->format = i->first[0] == 0x1f ? &format_estargz :
	    &format_zstd_chunked;
	i->parts = (struct toc_parts){ .wrapping = toc_wrapping_of(
		l->format->kind), .next = next, .arg = i, .left = length };
	return toc_parts_open(&i->parts, COMPACT_WINDOW_LOG);
}

/*
 * Verifies the digest of everything, also if an entry is invalid: then damage is
 * the likely reason.
 */
static int
verify(struct fetched *i, const uint8_t digest[LAYER_DIGEST], int rc)
{
	int end = toc_parts_end(&i->parts, digest);

	if (end == -EBADMSG)
		return layer_refuse(i->why, end, "the compact index does not "
		    "match the expected digest");
	return end == 0 ? rc : end;
}

int
toc_compact_load(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	struct fetched i = { .in = { .l = l, .at = e->compact_offset,
		.left = e->compact_length }, .why = why };
	const struct toc_compact_source source = { .read = read_parts,
		.arg = &i };
	int rc = begin(&i, e->compact_length);

	if (rc == 0) {
		rc = toc_compact_read(l, &source, why);
		if (rc == 0 || rc == -EBADMSG || rc == -EFBIG)
			rc = verify(&i, e->compact_digest, rc);
	}
	toc_parts_close(&i.parts);
	toc_input_close(&i.in);
	return rc;
}
