/*
 * sq_plan.c - what is read once, and in which order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A file's blocks are one item, a fragment block is another.  Items are in the
 * order of the disk, except that a fragment block comes after every file whose
 * tail it holds: then the blocks that a tail has to wait for are already in
 * somebody's lane (sq_deal.c).
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool
has_data(const struct sq_file *f)
{
	return f->type == SQ_FILE && !sq_file_bad(f) && f->size > 0 &&
	    !f->skip;
}

static bool
is_read(const struct sq_file *f)
{
	return has_data(f) && !f->again;
}

static uint64_t
mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15U;
	return h ^ h >> 29;
}

static uint64_t
hash(const struct sq_file *f)
{
	uint64_t h = mix(f->size, f->blocks > 0 ? f->start : 0);

	for (uint32_t k = 0; k < f->blocks; k++)
		h = mix(h, load_le32(f->sizes + 4 * (size_t)k));
	return mix(h, (uint64_t)f->fragment << 32 | f->tail_at);
}

/* The same blocks, and the same tail. */
static bool
same(const struct sq_file *a, const struct sq_file *b)
{
	if (a->size != b->size || a->fragment != b->fragment)
		return false;
	if (a->fragment != SQ_NO_FRAGMENT && a->tail_at != b->tail_at)
		return false;
	return a->blocks == 0 || (a->start == b->start &&
	    (a->sizes == b->sizes ||
	    memcmp(a->sizes, b->sizes, 4 * (size_t)a->blocks) == 0));
}

/* Of first's twins f, which is file k, becomes one. */
static void
add_twin(struct sq_file *first, struct sq_file *f, uint32_t k)
{
	f->again = true;
	f->twin = first->twin;
	first->twin = k;
}

static int
find_twins(struct sq_image *m)
{
	size_t size = 64, i;
	uint32_t *table;

	while (size < 2 * m->file_count)
		size *= 2;
	if (sq_take(&m->super, size * sizeof(*table)) != 0)
		return -EDQUOT;
	table = sys_calloc(size, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;
	for (uint32_t k = 1; k < m->file_count; k++) {
		struct sq_file *f = &m->file[k];

		if (!has_data(f))
			continue;
		if (f->same != 0 && has_data(&m->file[f->same])) {
			add_twin(&m->file[f->same], f, k);
			continue;
		}
		i = hash(f) & (size - 1);
		while (table[i] != 0 && !same(&m->file[table[i]], f))
			i = (i + 1) & (size - 1);
		if (table[i] == 0) {
			table[i] = k;
			continue;
		}
		add_twin(&m->file[table[i]], f, k);
	}
	sys_free(table);
	sq_give(&m->super, size * sizeof(*table));
	return 0;
}

/* The units of a file's blocks. */
static void
add_blocks(struct sq_plan *p, const struct sq_file *f, uint32_t index)
{
	struct sq_item item = { .first = p->count };
	uint64_t at = f->start;

	for (uint32_t k = 0; k < f->blocks; k++) {
		uint32_t word = load_le32(f->sizes + 4 * (size_t)k);

		if (word == 0)
			continue;
		p->units[p->count++] = (struct sq_unit){ .at = at,
		    .index = index, .block = k };
		at += word & (SQ_STORED - 1);
	}
	item.order = f->start << 1;
	if (p->count == item.first) {
		p->units[p->count++] = (struct sq_unit){ .index = index,
		    .block = SQ_UNIT_HOLES };
		item.order = 0;
	}
	item.count = p->count - item.first;
	p->items[p->item_count++] = item;
}

/* Files by their fragment, and room for all units and items. */
static int
sort_tails(struct sq_plan *p, const struct sq_image *m)
{
	size_t fragments = m->super.fragment_count, tails = 0, units = 0;

	p->from = sys_calloc(fragments + 2, sizeof(*p->from));
	if (p->from == NULL)
		return -ENOMEM;
	for (size_t k = 1; k < m->file_count; k++) {
		const struct sq_file *f = &m->file[k];

		if (!is_read(f))
			continue;
		p->files++;
		p->bytes += f->size;
		units += f->blocks;
		if (sq_tail_len(&m->super, f) > 0) {
			p->from[f->fragment + (size_t)2]++;
			tails++;
		}
	}
	for (size_t k = 2; k < fragments + 2; k++)
		p->from[k] += p->from[k - 1];
	units += fragments + p->files;
	if (sq_take(&m->super, (fragments + tails) * 2 * sizeof(size_t) +
	    units * sizeof(*p->units) +
	    (fragments + p->files) * sizeof(*p->items)) != 0)
		return -EDQUOT;
	p->tails = sys_malloc((tails + 1) * sizeof(*p->tails));
	p->units = sys_malloc((units + 1) * sizeof(*p->units));
	p->items = sys_malloc((fragments + p->files + 1) *
	    sizeof(*p->items));
	return p->tails == NULL || p->units == NULL || p->items == NULL ?
	    -ENOMEM : 0;
}

static int
by_order(const void *a, const void *b)
{
	const struct sq_item *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* after: where the last of the files begins that have a tail in a fragment */
static void
add_files(struct sq_plan *p, const struct sq_image *m, uint64_t *after)
{
	for (uint32_t k = 1; k < m->file_count; k++) {
		const struct sq_file *f = &m->file[k];
		uint64_t order = 0;

		if (!is_read(f))
			continue;
		if (f->blocks > 0) {
			add_blocks(p, f, k);
			order = p->items[p->item_count - 1].order;
		}
		if (sq_tail_len(&m->super, f) > 0) {
			p->tails[p->from[f->fragment + (size_t)1]++] = k;
			if (after[f->fragment] < order)
				after[f->fragment] = order;
		}
	}
}

static void
add_fragments(struct sq_plan *p, const struct sq_image *m,
    const uint64_t *after)
{
	for (uint32_t k = 0; k < m->super.fragment_count; k++) {
		uint64_t at = m->fragments[k].start;
		uint64_t order = at < m->super.length ? at << 1 : 0;

		if (p->from[k] == p->from[k + (size_t)1])
			continue;
		if (order < after[k])
			order = after[k];
		p->items[p->item_count++] = (struct sq_item){
		    .order = order | 1, .first = p->count, .count = 1 };
		p->units[p->count++] = (struct sq_unit){ .at = at, .index = k,
		    .block = SQ_UNIT_FRAGMENT };
	}
}

int
sq_plan_make(struct sq_plan *p, struct sq_image *m)
{
	uint64_t *after;
	int rc;

	*p = (struct sq_plan){ 0 };
	rc = find_twins(m);
	if (rc == 0)
		rc = sort_tails(p, m);
	if (rc != 0)
		return rc;
	after = sys_calloc(m->super.fragment_count + (size_t)1,
	    sizeof(*after));
	if (after == NULL)
		return -ENOMEM;
	add_files(p, m, after);
	add_fragments(p, m, after);
	qsort(p->items, p->item_count, sizeof(*p->items), by_order);
	sys_free(after);
	return 0;
}

void
sq_plan_free(struct sq_plan *p)
{
	sys_free(p->items);
	sys_free(p->units);
	sys_free(p->tails);
	sys_free(p->from);
}
