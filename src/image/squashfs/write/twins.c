/*
 * twins.c - finding files with identical content
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/twins.h"

#include "base/sys.h"

#include <errno.h>

enum { FIRST = 256 };

int
sqw_twins_open(struct sqw_twins *w)
{
	*w = (struct sqw_twins){ .mask = FIRST - 1, .size_mask = FIRST - 1 };
	w->slots = sys_calloc(FIRST, sizeof(*w->slots));
	w->sizes = sys_calloc(FIRST, sizeof(*w->sizes));
	return w->slots == NULL || w->sizes == NULL ? -ENOMEM : 0;
}

void
sqw_twins_close(struct sqw_twins *w)
{
	sys_free(w->slots);
	sys_free(w->sizes);
}

static struct sqw_twin *
twin_slot(struct sqw_twin *slots, size_t mask, uint64_t key, XXH128_hash_t hash)
{
	size_t i = hash.low64 & mask;

	while (slots[i].key != 0 && (slots[i].key != key ||
	    !XXH128_isEqual(slots[i].hash, hash)))
		i = (i + 1) & mask;
	return &slots[i];
}

const struct sqw_twin *
sqw_twins_find(const struct sqw_twins *w, uint64_t key, XXH128_hash_t hash)
{
	const struct sqw_twin *t = twin_slot(w->slots, w->mask, key, hash);

	return t->key == 0 ? NULL : t;
}

static int
grow_slots(struct sqw_twins *w)
{
	size_t mask = 2 * w->mask + 1;
	struct sqw_twin *slots = sys_calloc(mask + 1, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	for (size_t i = 0; i <= w->mask; i++)
		if (w->slots[i].key != 0)
			*twin_slot(slots, mask, w->slots[i].key,
			    w->slots[i].hash) = w->slots[i];
	sys_free(w->slots);
	w->slots = slots;
	w->mask = mask;
	return 0;
}

int
sqw_twins_add(struct sqw_twins *w, uint64_t key, const struct sqw_twin *t)
{
	struct sqw_twin *slot;

	if (4 * w->count > 3 * w->mask && grow_slots(w) != 0)
		return -ENOMEM;
	slot = twin_slot(w->slots, w->mask, key, t->hash);
	*slot = *t;
	slot->key = key;
	w->count++;
	return 0;
}

static uint64_t *
size_slot(uint64_t *sizes, size_t mask, uint64_t size)
{
	size_t i = (size_t)(size * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;

	while (sizes[i] != 0 && sizes[i] != size)
		i = (i + 1) & mask;
	return &sizes[i];
}

static int
grow_sizes(struct sqw_twins *w)
{
	size_t mask = 2 * w->size_mask + 1;
	uint64_t *sizes = sys_calloc(mask + 1, sizeof(*sizes));

	if (sizes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i <= w->size_mask; i++)
		if (w->sizes[i] != 0)
			*size_slot(sizes, mask, w->sizes[i]) = w->sizes[i];
	sys_free(w->sizes);
	w->sizes = sizes;
	w->size_mask = mask;
	return 0;
}

int
sqw_twins_size_seen(struct sqw_twins *w, uint64_t size)
{
	uint64_t *slot;

	if (2 * w->size_count > w->size_mask && grow_sizes(w) != 0)
		return -ENOMEM;
	slot = size_slot(w->sizes, w->size_mask, size);
	if (*slot == size)
		return 1;
	*slot = size;
	w->size_count++;
	return 0;
}
