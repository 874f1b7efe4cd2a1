/*
 * toc.c - the units of estargz and zstd:chunked, and fetching their tables
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/toc/toc.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
by_offset(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int
toc_place_units(struct toc *t, struct lazy_index *x, uint64_t end,
    char why[LAYER_WHY])
{
	size_t count = x->unit_count;
	/* the offsets of all units in ascending order, followed by the end */
	uint64_t *all = sys_malloc((count + 1) * sizeof(*all));
	bool sorted = true;
	int rc = 0;

	if (all == NULL)
		return layer_refuse(why, -ENOMEM, "%s", strerror(ENOMEM));
	for (size_t i = 0; i < count; i++) {
		all[i] = t->units[i].offset;
		sorted = sorted && (i == 0 || all[i] >= all[i - 1]);
	}
	if (!sorted)
		qsort(all, count, sizeof(*all), by_offset);
	all[count] = end;
	for (size_t i = 0; i < count; i++) {
		struct layer_unit *u = &x->units[i];
		uint64_t offset = t->units[i].offset, most;
		size_t low = 0, high = count;
		if (offset >= end) {
			rc = layer_refuse(why, -EBADMSG, "the index refers "
			    "to data past the end of the layer");
			break;
		}
		/* the unit ends at the next offset that is greater */
		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (all[middle] <= offset)
				low = middle + 1;
			else
				high = middle;
		}
		/*
		 * fetch no more than the content in case it does not compress,
		 * plus headers; the members of some writers also contain the
		 * headers of the following files, which are not needed
		 */
		most = u->content + u->content / 256 + (4 << 10);
		u->stored = all[low] - offset;
		if (u->stored > most)
			u->stored = most;
	}
	sys_free(all);
	return rc;
}

/* Returns the number of the first chunk after those of a unit. */
static size_t
chunks_end(const struct layer *l, uint32_t unit)
{
	const struct toc *t = l->state;

	return unit + 1 < l->index.unit_count ?
	    t->units[unit + 1].first_chunk : t->chunk_count;
}

uint64_t
toc_block_bytes(const struct layer *l, uint32_t unit)
{
	const struct toc *t = l->state;
	size_t first = t->units[unit].first_chunk / TOC_BLOCK;
	size_t last = (chunks_end(l, unit) - 1) / TOC_BLOCK;

	return (last - first) * t->blocks.stride +
	    toc_block_length(t->chunk_count, last);
}

size_t
toc_ranges(const struct layer *l, uint32_t unit,
    struct layer_range r[LAYER_RANGES_MAX])
{
	const struct toc *t = l->state;

	r[0] = (struct layer_range){ .offset = t->units[unit].offset,
	    .length = l->index.units[unit].stored };
	if (t->digests != NULL)
		return 1;
	r[0].length -= toc_block_bytes(l, unit);
	r[1] = (struct layer_range){ .offset = t->blocks.first +
	    t->units[unit].first_chunk / TOC_BLOCK * t->blocks.stride,
	    .length = toc_block_bytes(l, unit) };
	return 2;
}

const uint8_t *
toc_file_digest(const struct layer *l, size_t entry)
{
	const struct toc *t = l->state;
	size_t low = 0, high = t->file_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->files[middle].entry < entry)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->file_count && t->files[low].entry == entry ?
	    t->files[low].digest : NULL;
}

bool
toc_prefetch(const struct layer *l, struct layer_range *r)
{
	const struct toc *t = l->state;

	*r = (struct layer_range){ .length = t->prefetch };
	return t->prefetch > 0 && t->prefetch <= l->size;
}

bool
toc_trace(const struct layer *l, struct layer_range *r)
{
	const struct toc *t = l->state;

	*r = (struct layer_range){ .offset = t->trace.offset,
		.length = t->trace.length };
	return r->length > 0 && r->length <= l->size &&
	    r->offset <= l->size - r->length;
}

static bool
has_digest(struct digest *d, const void *data, size_t len,
    const uint8_t digest[LAYER_DIGEST])
{
	uint8_t sum[DIGEST_MAX];

	return digest_once(d, data, len, sum) == 0 &&
	    memcmp(sum, digest, LAYER_DIGEST) == 0;
}

int
toc_verify(const struct layer *l, uint32_t unit, struct digest *d,
    const struct layer_range *r, const uint8_t *content, const char **why)
{
	const struct toc *t = l->state;
	size_t first = t->units[unit].first_chunk, end = chunks_end(l, unit);
	size_t block = first / TOC_BLOCK;
	const uint8_t *blocks = t->digests != NULL ? NULL : r[1].buf, *p;

	*why = "a unit's digests do not match the compact index";
	p = blocks;
	for (size_t i = block; p != NULL && i <= (end - 1) / TOC_BLOCK;
	    i++, p += t->blocks.stride)
		if (!has_digest(d, p, toc_block_length(t->chunk_count, i),
		    t->blocks.digests[i]))
			return -EBADMSG;
	*why = "a unit's data does not match the digest in the index";
	for (size_t i = first; i < end; i++) {
		const struct toc_chunk *c = &t->chunks[i];
		const uint8_t *digest = blocks == NULL ? t->digests[i] :
		    blocks + (i / TOC_BLOCK - block) * t->blocks.stride +
		    i % TOC_BLOCK * LAYER_DIGEST;

		if (!has_digest(d, content + c->inner, (size_t)c->length,
		    digest))
			return -EBADMSG;
	}
	return 0;
}

void
toc_close(struct layer *l)
{
	struct toc *t = l->state;

	if (t == NULL)
		return;
	sys_free(t->units);
	sys_free(t->chunks);
	sys_free(t->digests);
	sys_free(t->blocks.digests);
	sys_free(t->files);
	sys_free(t);
}

enum { PIECE = 4 << 20, TEXT = 64 << 10 };

ssize_t
toc_input_next(struct toc_input *in, const uint8_t **data, char why[LAYER_WHY])
{
	struct layer_range r = { .offset = in->at, .length = in->left };
	int rc;

	if (in->left == 0)
		return 0;
	if (r.length > PIECE)
		r.length = PIECE;
	if (in->piece == NULL)
		in->piece = sys_malloc((size_t)r.length);
	if (in->piece == NULL)
		return layer_refuse(why, -ENOMEM, "%s", strerror(ENOMEM));
	r.buf = in->piece;
	rc = layer_fetch(in->l, &r, why);
	if (rc == 0 && in->digest != NULL)
		rc = digest_add(in->digest, r.buf, (size_t)r.length);
	if (rc != 0)
		return rc;
	in->at += r.length;
	in->left -= r.length;
	*data = in->piece;
	return (ssize_t)r.length;
}

void
toc_input_close(struct toc_input *in)
{
	sys_free(in->piece);
	in->piece = NULL;
}

int
toc_load(struct layer *l, const struct toc_source *source, uint64_t end,
    uint8_t sum[LAYER_DIGEST], char why[LAYER_WHY])
{
	struct digest *d = NULL;
	struct toc_reader *r = NULL;
	struct toc *t = sys_calloc(1, sizeof(*t));
	uint8_t *text = NULL;
	uint64_t total = 0;
	ssize_t n;
	int rc = -ENOMEM;

	l->state = t;
	if (t == NULL)
		return rc;
	rc = digest_new_sha256(&d);
	if (rc == 0)
		rc = toc_reader_open(&r, t, &l->index, true);
	if (rc != 0)
		goto out;
	text = sys_malloc(TEXT);	/* one part of the document */
	rc = text == NULL ? -ENOMEM : digest_start(d);
	if (rc != 0)
		goto out;
	while ((n = source->read(source->arg, text, TEXT, why)) != 0) {
		if (n < 0) {
			rc = (int)n;
			goto out;
		}
		total += (uint64_t)n;
		if (total > LAYER_INDEX_MAX) {
			rc = layer_refuse(why, -EFBIG, "the index is larger "
			    "than 256 MiB");
			goto out;
		}
		rc = digest_add(d, text, (size_t)n);
		if (rc == 0)
			rc = toc_reader_add(r, text, (size_t)n, why);
		if (rc != 0)
			goto out;
	}
	rc = digest_end(d, sum);
	if (rc == 0)
		rc = toc_reader_end(r, end, why);
out:
	sys_free(text);
	toc_reader_close(r);
	digest_free(d);
	return rc;
}
