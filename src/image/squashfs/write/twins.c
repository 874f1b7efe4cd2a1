/*
 * twins.c - finding files with identical content
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/twins.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum { FIRST = 256, LENGTH_BITS = 0x3ff };

int
sqw_twins_open(struct sqw_twins *w, const struct sqw_data_options *o)
{
	*w = (struct sqw_twins){ .o = o, .mask = FIRST - 1,
		.size_mask = FIRST - 1, .state = XXH3_createState() };
	w->slots = sys_calloc(FIRST, sizeof(*w->slots));
	w->sizes = sys_calloc(FIRST, sizeof(*w->sizes));
	if (o->exact && o->tails) {
		w->probe = ZSTD_createCCtx();
		w->scratch = sys_malloc(o->block);
		if (w->probe == NULL || w->scratch == NULL)
			return -ENOMEM;
	}
	return w->slots == NULL || w->sizes == NULL || w->state == NULL ?
	    -ENOMEM : 0;
}

void
sqw_twins_close(struct sqw_twins *w)
{
	sys_free(w->slots);
	sys_free(w->sizes);
	ZSTD_freeCCtx(w->probe);
	sys_free(w->scratch);
	XXH3_freeState(w->state);
}

/*
 * Returns the size to be used when comparing content: the size of the fragment
 * or file or, in exact mode, of all its blocks.
 */
static uint64_t
key_size(const struct sqw_twins *w, uint64_t size)
{
	uint32_t block = w->o->block;

	if (!w->o->exact || w->o->no_sparse || (size < block &&
	    !w->o->no_fragments) || size >= SQW_TWINS_HOLLOW)
		return size;
	return ((size - 1) / block + 1) * block;
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
sqw_twins_find(const struct sqw_twins *w, uint64_t size, XXH128_hash_t hash)
{
	const struct sqw_twin *t = twin_slot(w->slots, w->mask,
	    key_size(w, size), hash);

	return t->key == 0 ? NULL : t;
}

int
sqw_twins_add(struct sqw_twins *w, uint64_t size, XXH128_hash_t hash,
    uint32_t id)
{
	uint64_t key = key_size(w, size);
	size_t mask = 2 * w->mask + 1;
	struct sqw_twin *slot, *slots;

	if (4 * w->count > 3 * w->mask) {
		slots = sys_calloc(mask + 1, sizeof(*slots));
		if (slots == NULL)
			return -ENOMEM;
		for (size_t i = 0; i <= w->mask; i++)
			if (w->slots[i].key != 0)
				*twin_slot(slots, mask, w->slots[i].key,
				    w->slots[i].hash) = w->slots[i];
		sys_free(w->slots);
		w->slots = slots;
		w->mask = mask;
	}
	slot = twin_slot(w->slots, w->mask, key, hash);
	*slot = (struct sqw_twin){ .hash = hash, .key = key, .size = size,
		.id = id };
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

int
sqw_twins_size_seen(struct sqw_twins *w, uint64_t size)
{
	size_t mask = 2 * w->size_mask + 1;
	uint64_t *slot, *sizes;

	size = key_size(w, size);
	if (2 * w->size_count > w->size_mask) {
		sizes = sys_calloc(mask + 1, sizeof(*sizes));
		if (sizes == NULL)
			return -ENOMEM;
		for (size_t i = 0; i <= w->size_mask; i++)
			if (w->sizes[i] != 0)
				*size_slot(sizes, mask, w->sizes[i]) =
				    w->sizes[i];
		sys_free(w->sizes);
		w->sizes = sizes;
		w->size_mask = mask;
	}
	slot = size_slot(w->sizes, w->size_mask, size);
	if (*slot == size)
		return 1;
	*slot = size;
	w->size_count++;
	return 0;
}

/* Content */

void
sqw_twins_begin(struct sqw_twins *w)
{
	XXH3_128bits_reset(w->state);
	w->begun = false;
}

/*
 * Returns whether a block will probably be stored uncompressed: whether a quick
 * attempt does not make it smaller.
 */
static bool
is_raw(struct sqw_twins *w, const uint8_t *block, size_t len)
{
	size_t n = w->o->raw_data ? len : ZSTD_compressCCtx(w->probe,
	    w->scratch, len, block, len, 1);

	return ZSTD_isError(n) || n >= len;
}

static void
add_block_hash(struct sqw_twins *w, XXH128_hash_t block)
{
	w->begun = true;
	XXH3_128bits_update(w->state, &block, sizeof(block));
}

/*
 * The hash covers the hashes of blocks, so a hole does not have to be read; a
 * block of zeros has the same hash at any length.  In exact mode the length
 * matters: mksquashfs compares a file only with those whose first block has the
 * same stored length modulo 1024, and for a block of zeros it uses the unpacked
 * length.
 */
static void
add_zeros(struct sqw_twins *w, size_t len, uint32_t count)
{
	XXH128_hash_t hash = { 0, 0 };

	if (!w->begun && w->o->exact && !w->o->no_sparse)
		hash.low64 = len & LENGTH_BITS;
	if (!w->begun)
		w->first = hash;
	for (; count > 0; count--) {
		add_block_hash(w, hash);
		hash.low64 = 0;
	}
}

void
sqw_twins_hash_hole(struct sqw_twins *w, size_t len, uint32_t count)
{
	uint64_t t0 = sys_now_ns();

	add_zeros(w, len, count);
	w->busy_ns += sys_now_ns() - t0;
}

void
sqw_twins_hash(struct sqw_twins *w, const uint8_t *block, size_t len)
{
	uint64_t t0 = sys_now_ns();
	XXH128_hash_t hash;

	if (sqw_content_is_zero(block, len)) {
		add_zeros(w, len, 1);
	} else {
		hash = XXH3_128bits(block, len);
		if (!w->begun && w->probe != NULL && is_raw(w, block, len))
			w->first = (XXH128_hash_t){ len, 1 };
		else if (!w->begun)
			w->first = hash;
		add_block_hash(w, hash);
	}
	w->busy_ns += sys_now_ns() - t0;
}

XXH128_hash_t
sqw_twins_end(const struct sqw_twins *w)
{
	return XXH3_128bits_digest(w->state);
}

bool
sqw_content_is_zero(const uint8_t *p, size_t len)
{
	return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}
