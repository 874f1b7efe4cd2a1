/*
 * imgsrc_repack_blocks.c - mapping the blocks of an old image to a new image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "imgsrc_repack.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The memory used by a unit: its size, start and fragment block. */
enum { UNIT_B = sizeof(uint32_t) + sizeof(uint64_t) + sizeof(uint32_t) };

static bool
has_old_data(const struct imgsrc_repack *r, size_t n, struct sq_entry *e)
{
	sq_get(r->m, n, e);
	return S_ISREG(e->mode) && e->size > 0 && e->first == n;
}

int
imgsrc_repack_count(struct imgsrc_repack *r)
{
	const struct sq_image *m = r->m;
	uint64_t left = sq_memory_left(m);
	struct sq_entry e;

	r->count = r->units = sq_facts(m)->fragments;
	for (size_t n = 1; n < sq_count(m); n++) {
		if (!has_old_data(r, n, &e))
			continue;
		r->units += e.blocks + (e.blocks > 0 &&
		    sq_tail_len(m, &e) > 0);
		for (uint32_t k = 0; k < e.blocks; k++)
			r->count += sq_word(&e, k) != 0;
	}
	if (r->count <= left / sizeof(*r->old) && r->units <=
	    (left - r->count * sizeof(*r->old)) / UNIT_B)
		return 0;
	return imgsrc_repack_refuse(r, "", "the block lists need more memory "
	    "than --memory allows");
}

static void
add_block(struct imgsrc_repack *r, struct sqw_old b)
{
	r->old[r->count++] = b;
	r->to->total_B += b.want;
}

static void
list_file(struct imgsrc_repack *r, const struct sq_entry *e)
{
	uint64_t at = e->start;

	for (uint32_t k = 0; k < e->blocks; k++) {
		uint32_t word = sq_word(e, k);

		if (word != 0)
			add_block(r, (struct sqw_old){ .at = at, .word = word,
			    .want = sq_block_len(r->m, e, k) });
		at += sq_word_len(word);
	}
}

static int
list_blocks(struct imgsrc_repack *r)
{
	const struct sq_image *m = r->m;
	struct sq_entry e;

	r->old = sys_malloc((r->count + 1) * sizeof(*r->old));
	if (r->old == NULL)
		return imgsrc_no_memory(r->to);
	r->count = 0;
	for (uint32_t k = 0; k < sq_facts(m)->fragments; k++) {
		struct sqw_old b = { .is_fragment = true };

		sq_fragment(m, k, &b.at, &b.word);
		add_block(r, b);
	}
	for (size_t n = 1; n < sq_count(m); n++)
		if (has_old_data(r, n, &e))
			list_file(r, &e);
	return 0;
}

static int
by_old_place(const void *a, const void *b)
{
	const struct sqw_old *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sorts the blocks and removes duplicates; blocks must not overlap. */
static int
order_blocks(struct imgsrc_repack *r)
{
	size_t kept = 0;

	if (r->count > 0)
		qsort(r->old, r->count, sizeof(*r->old), by_old_place);
	for (size_t i = 0; i < r->count; i++) {
		const struct sqw_old *b = &r->old[i];
		const struct sqw_old *last = kept == 0 ? NULL :
		    &r->old[kept - 1];

		if (last != NULL && last->at == b->at) {
			if (last->word != b->word || last->want != b->want ||
			    last->is_fragment != b->is_fragment)
				return imgsrc_repack_refuse(r, "", "two "
				    "different blocks start at the same "
				    "offset");
			continue;
		}
		if (last != NULL && b->at - last->at <
		    sq_word_len(last->word))
			return imgsrc_repack_refuse(r, "", "blocks overlap");
		r->old[kept++] = *b;
	}
	r->count = kept;
	return 0;
}

static const struct sqw_old *
find_block(const struct imgsrc_repack *r, uint64_t at)
{
	struct sqw_old key = { .at = at };

	return bsearch(&key, r->old, r->count, sizeof(*r->old), by_old_place);
}

/*
 * Returns the new position of the next block, for a file that consists only of
 * holes.
 */
static uint64_t
start_behind(const struct imgsrc_repack *r, uint64_t at)
{
	size_t lo = 0, hi = r->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->old[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->count ? r->old[lo].start : r->to->data.end;
}

int
imgsrc_repack_list(struct imgsrc_repack *r)
{
	int rc = list_blocks(r);

	return rc != 0 ? rc : order_blocks(r);
}

/* Describes the data of a file in the new image, starting at unit `unit`. */
static void
give_file(struct imgsrc_repack *r, size_t n, const struct sq_entry *e,
    uint32_t *unit)
{
	struct sqw_data *d = &r->to->data;
	bool tail = sq_tail_len(r->m, e) > 0;
	uint64_t at = e->start, start = 0;
	uint32_t first = *unit;

	d->of[r->ids[n]] = (struct sqw_position){ .unit = first,
		.blocks = e->blocks, .tail_at = e->tail_at, .tail = tail };
	for (uint32_t k = 0; k < e->blocks; k++, (*unit)++) {
		uint32_t word = sq_word(e, k);
		const struct sqw_old *b = word == 0 ? NULL :
		    find_block(r, at);

		d->fragment[*unit] = SQUASHFS_NONE;
		d->sizes[*unit] = b == NULL ? 0 : b->size;
		d->starts[*unit] = b == NULL ? 0 : b->start;
		if (start == 0 && b != NULL)
			start = b->start;
		at += sq_word_len(word);
	}
	if (e->blocks > 0)
		d->starts[first] = start != 0 ? start :
		    start_behind(r, e->start);
	if (tail && e->blocks == 0) {
		d->of[r->ids[n]].unit = e->fragment;
	} else if (tail) {
		d->fragment[*unit] = e->fragment;
		d->sizes[*unit] = 0;
		d->starts[(*unit)++] = 0;
	}
}

int
imgsrc_repack_give(struct imgsrc_repack *r)
{
	struct sqw_data *d = &r->to->data;
	uint32_t fragments = sq_facts(r->m)->fragments, unit = 0, word;
	size_t units = r->units;
	struct sq_entry e;

	if (units >= UINT32_MAX)
		return imgsrc_repack_refuse(r, "", "too many blocks");
	d->ids = r->to->tree.count;
	d->of = sys_calloc(d->ids, sizeof(*d->of));
	d->sizes = sys_malloc((units + 1) * sizeof(*d->sizes));
	d->starts = sys_malloc((units + 1) * sizeof(*d->starts));
	d->fragment = sys_malloc((units + 1) * sizeof(*d->fragment));
	if (d->of == NULL || d->sizes == NULL || d->starts == NULL ||
	    d->fragment == NULL)
		return imgsrc_no_memory(r->to);
	d->units = units;
	for (; unit < fragments; unit++) {
		const struct sqw_old *b;
		uint64_t at;

		sq_fragment(r->m, unit, &at, &word);
		b = find_block(r, at);
		d->fragment[unit] = unit;
		d->sizes[unit] = b->size;
		d->starts[unit] = b->start;
	}
	for (size_t n = 1; n < sq_count(r->m); n++)
		if (has_old_data(r, n, &e))
			give_file(r, n, &e, &unit);
	return 0;
}
