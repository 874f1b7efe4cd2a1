/*
 * toc.c - the positions and digests of units in estargz and zstd:chunked
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "toc.h"

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
			return layer_refuse(why, -EBADMSG, "its index has "
			    "data beyond the end of the layer");
		}
		most = stored_most(u->content);
		u->stored = next_offset(all, x->unit_count, offset) - offset;
		if (u->stored > most)
			u->stored = most;
	}
	sys_free(all);
	return 0;
}

size_t
toc_ranges(const struct layer *l, uint32_t unit,
    struct layer_range r[LAYER_RANGES_MAX])
{
	const struct toc *t = l->state;

	r[0] = (struct layer_range){ .offset = t->units[unit].offset,
	    .length = l->index.units[unit].stored };
	return 1;
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

int
toc_verify(const struct layer *l, uint32_t unit, struct digest *d,
    const uint8_t *content)
{
	const struct toc *t = l->state;
	size_t end = unit + 1 < l->index.unit_count ?
	    t->units[unit + 1].first_chunk : t->chunk_count;

	for (size_t i = t->units[unit].first_chunk; i < end; i++) {
		const struct toc_chunk *c = &t->chunks[i];
		uint8_t sum[DIGEST_MAX];

		if (digest_once(d, content + c->inner, (size_t)c->length,
		    sum) != 0 || memcmp(sum, c->digest, LAYER_DIGEST) != 0)
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
	sys_free(t->files);
	sys_free(t);
}
