/*
 * toc.c - the positions and digests of units in estargz and zstd:chunked
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/toc/toc.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Returns the maximum number of bytes to fetch for a unit: the size of its
 * content, in case it does not compress, plus headers.  The members of some
 * writers also contain the headers of the following files, which are not
 * needed.
 */
static uint64_t
stored_most(uint64_t content)
{
	return content + content / 256 + (4 << 10);
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Returns the offsets of all units in ascending order, followed by the end;
 * NULL if out of memory.
 */
static uint64_t *
sorted_offsets(const struct toc *t, size_t count, uint64_t end)
{
	uint64_t *all = sys_malloc((count + 1) * sizeof(*all));
	bool sorted = true;

	if (all == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		all[i] = t->units[i].offset;
		sorted = sorted && (i == 0 || all[i] >= all[i - 1]);
	}
	if (!sorted)
		qsort(all, count, sizeof(*all), compare);
	all[count] = end;
	return all;
}

/* Returns the smallest of the sorted offsets that is greater than offset. */
static uint64_t
next_offset(const uint64_t *all, size_t count, uint64_t offset)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return all[low];
}

int
toc_place_units(struct toc *t, struct lazy_index *x, uint64_t end,
    char why[LAYER_WHY])
{
	uint64_t *all = sorted_offsets(t, x->unit_count, end);

	if (all == NULL)
		return layer_refuse(why, -ENOMEM, "%s", strerror(ENOMEM));
	for (size_t i = 0; i < x->unit_count; i++) {
		struct layer_unit *u = &x->units[i];
		uint64_t offset = t->units[i].offset, most;

		if (offset >= end) {
			sys_free(all);
			return layer_refuse(why, -EBADMSG, "the index refers "
			    "to data past the end of the layer");
		}
		most = stored_most(u->content);
		u->stored = next_offset(all, x->unit_count, offset) - offset;
		if (u->stored > most)
			u->stored = most;
	}
	sys_free(all);
	return 0;
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

/* Verifies the blocks that hold a unit's digests. */
static bool
verify_blocks(const struct layer *l, uint32_t unit, struct digest *d,
    const uint8_t *block)
{
	const struct toc *t = l->state;
	size_t first = t->units[unit].first_chunk / TOC_BLOCK;
	size_t last = (chunks_end(l, unit) - 1) / TOC_BLOCK;

	for (size_t i = first; i <= last; i++, block += t->blocks.stride)
		if (!has_digest(d, block, toc_block_length(t->chunk_count, i),
		    t->blocks.digests[i]))
			return false;
	return true;
}

/*
 * Returns a chunk's digest; `blocks` contains the blocks of the chunk's unit.
 */
static const uint8_t *
digest_of(const struct toc *t, size_t chunk, size_t first,
    const uint8_t *blocks)
{
	if (t->digests != NULL)
		return t->digests[chunk];
	return blocks + (chunk / TOC_BLOCK - first / TOC_BLOCK) *
	    t->blocks.stride + chunk % TOC_BLOCK * LAYER_DIGEST;
}

int
toc_verify(const struct layer *l, uint32_t unit, struct digest *d,
    const struct layer_range *r, const uint8_t *content, const char **why)
{
	const struct toc *t = l->state;
	size_t first = t->units[unit].first_chunk, end = chunks_end(l, unit);
	const uint8_t *blocks = t->digests != NULL ? NULL : r[1].buf;

	*why = "a unit's digests do not match the compact index";
	if (blocks != NULL && !verify_blocks(l, unit, d, blocks))
		return -EBADMSG;
	*why = "a unit's data does not match the digest in the index";
	for (size_t i = first; i < end; i++) {
		const struct toc_chunk *c = &t->chunks[i];

		if (!has_digest(d, content + c->inner, (size_t)c->length,
		    digest_of(t, i, first, blocks)))
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
