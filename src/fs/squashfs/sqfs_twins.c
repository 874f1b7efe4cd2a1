/*
 * sqfs_twins.c - finding identical files of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqfs_twins.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t
size_of(const struct sqfs_tree *t, size_t node)
{
	return (uint64_t)sqfs_item(t, node)->st.st_size;
}

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int
sqfs_twins_open(struct sqfs_twins *w, const struct sqfs_tree *t,
    uint32_t block)
{
	size_t cap = 16;

	while (cap < 2 * t->tree.count)
		cap *= 2;
	*w = (struct sqfs_twins){ .mask = cap - 1 };
	w->slots = sys_calloc(cap, sizeof(*w->slots));
	w->sizes = sys_calloc(t->tree.count, sizeof(*w->sizes));
	if (w->slots == NULL || w->sizes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < t->tree.count; i++)
		if (sqw_has_data(&t->tree, i) && size_of(t, i) >= block)
			w->sizes[w->size_count++] = size_of(t, i);
	qsort(w->sizes, w->size_count, sizeof(*w->sizes), by_size);
	return 0;
}

void
sqfs_twins_close(struct sqfs_twins *w)
{
	sys_free(w->slots);
	sys_free(w->sizes);
}

bool
sqfs_twins_alone(const struct sqfs_twins *w, uint64_t size)
{
	const uint64_t *p = bsearch(&size, w->sizes, w->size_count,
	    sizeof(*w->sizes), by_size);

	return p == NULL || ((p == w->sizes || p[-1] != size) &&
	    (p + 1 == w->sizes + w->size_count || p[1] != size));
}

size_t
sqfs_twins_find(struct sqfs_twins *w, XXH128_hash_t hash,
    const struct sqfs_tree *t, size_t node)
{
	size_t i = hash.low64 & w->mask;

	for (; w->slots[i].node != 0; i = (i + 1) & w->mask)
		if (XXH128_isEqual(w->slots[i].hash, hash) &&
		    size_of(t, w->slots[i].node) == size_of(t, node))
			return w->slots[i].node;
	w->slots[i] = (struct sqfs_twin){ hash, node };
	return 0;
}
