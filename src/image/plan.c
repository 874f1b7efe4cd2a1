/*
 * plan.c - deciding which blocks to read, and in which order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The blocks of a file form an extent, and so does a fragment block.  Extents
 * are in disk order, except that a fragment block comes after every file whose
 * tail it contains, so the blocks before the tail are already in the queue of
 * some thread (schedule.c).
 */
#include "plan.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>

static bool
is_wanted(const struct image_file *f)
{
	return f->type == WALK_FILE && !f->unreadable && f->size > 0 &&
	    !f->skip;
}

static bool
is_read(const struct image_file *f)
{
	return is_wanted(f) && !f->is_duplicate;
}

/* Duplicates */

static uint64_t
mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15U;
	return h ^ h >> 29;
}

static uint64_t
data_hash(const struct image *m, const struct image_file *f)
{
	uint64_t h = mix(f->size, f->blocks > 0 ? f->start : 0);
	uint64_t at = f->start;

	for (uint32_t k = 0; k < f->blocks; k++) {
		image_word word = m->source->block(m, f, k, &at);

		h = mix(h, word);
		at += image_stored_B(word);
	}
	return mix(h, (uint64_t)f->fragment << 32 | f->tail_at);
}

/* Returns whether the blocks and the tail are the same. */
static bool
same_data(const struct image *m, const struct image_file *a,
    const struct image_file *b)
{
	uint64_t at = a->start, other = b->start;

	if (a->size != b->size || a->fragment != b->fragment)
		return false;
	if (a->fragment != IMAGE_NONE && a->tail_at != b->tail_at)
		return false;
	if (a->blocks == 0 || (at == other && a->map == b->map))
		return true;
	for (uint32_t k = 0; k < a->blocks; k++) {
		image_word word = m->source->block(m, a, k, &at);

		if (word != m->source->block(m, b, k, &other) || at != other)
			return false;
		at = other += image_stored_B(word);
	}
	return true;
}

/* Records that f, which is file k, is a duplicate of first. */
static void
add_duplicate(struct image_file *first, struct image_file *f, uint32_t k)
{
	f->is_duplicate = true;
	f->next_duplicate = first->next_duplicate;
	first->next_duplicate = k;
}

static int
find_duplicates(struct image *m)
{
	size_t size = 64;
	uint32_t *table;		/* files that are no duplicates, by the
					 * hash of their data */

	while (size < 2 * m->file_count)
		size *= 2;
	if (image_take(m->memory, size * sizeof(*table)) != 0)
		return -EDQUOT;
	table = sys_calloc(size, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;
	for (uint32_t k = 1; k < m->file_count; k++) {
		struct image_file *f = &m->file[k];
		size_t i;

		if (!is_wanted(f))
			continue;
		if (f->hardlink_of != 0 &&
		    is_wanted(&m->file[f->hardlink_of])) {
			add_duplicate(&m->file[f->hardlink_of], f, k);
			continue;
		}
		i = data_hash(m, f) & (size - 1);
		while (table[i] != 0 && !same_data(m, &m->file[table[i]], f))
			i = (i + 1) & (size - 1);
		if (table[i] == 0)
			table[i] = k;
		else
			add_duplicate(&m->file[table[i]], f, k);
	}
	sys_free(table);
	image_give(m->memory, size * sizeof(*table));
	return 0;
}

/* Order */

/* Adds the jobs of a file's blocks. */
static void
add_blocks(struct image_plan *p, const struct image *m, uint32_t index)
{
	const struct image_file *f = &m->file[index];
	struct image_extent extent = { .first = p->count };
	uint64_t at = f->start;

	for (uint32_t k = 0; k < f->blocks; k++) {
		image_word word = m->source->block(m, f, k, &at);

		if (word == 0)
			continue;
		p->jobs[p->count++] = (struct image_job){ .at = at,
		    .word = word, .index = index, .block = k };
		at += image_stored_B(word);
	}
	if (p->count == extent.first)
		p->jobs[p->count++] = (struct image_job){ .index = index,
		    .block = IMAGE_JOB_HOLES };
	else
		extent.order = p->jobs[extent.first].at << 1;
	extent.count = p->count - extent.first;
	p->extents[p->extent_count++] = extent;
}

/* Sorts files by fragment, and allocates all jobs and extents. */
static int
sort_tails(struct image_plan *p, const struct image *m)
{
	size_t fragments = m->fragment_count, tails = 0, jobs = 0, extents;

	if (image_take(m->memory, (fragments + 2) * sizeof(*p->from)) != 0)
		return -EDQUOT;
	p->from = sys_calloc(fragments + 2, sizeof(*p->from));
	if (p->from == NULL)
		return -ENOMEM;
	for (size_t k = 1; k < m->file_count; k++) {
		const struct image_file *f = &m->file[k];

		if (!is_read(f))
			continue;
		p->files++;
		p->bytes += f->size;
		jobs += f->blocks;
		if (image_tail_len(m, f) > 0) {
			p->from[f->fragment + (size_t)2]++;
			tails++;
		}
	}
	for (size_t k = 2; k < fragments + 2; k++)
		p->from[k] += p->from[k - 1];
	extents = fragments + p->files;
	jobs += extents;
	if (image_take(m->memory, tails * sizeof(*p->tails) +
	    jobs * sizeof(*p->jobs) + extents * sizeof(*p->extents)) != 0)
		return -EDQUOT;
	p->tails = sys_malloc((tails + 1) * sizeof(*p->tails));
	p->jobs = sys_malloc((jobs + 1) * sizeof(*p->jobs));
	p->extents = sys_malloc((extents + 1) * sizeof(*p->extents));
	return p->tails == NULL || p->jobs == NULL || p->extents == NULL ?
	    -ENOMEM : 0;
}

static int
by_order(const void *a, const void *b)
{
	const struct image_extent *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

int
image_plan_make(struct image_plan *p, struct image *m)
{
	uint64_t *after;
	int rc;

	*p = (struct image_plan){ 0 };
	rc = find_duplicates(m);
	if (rc == 0)
		rc = sort_tails(p, m);
	if (rc != 0)
		return rc;
	/* after[k]: the start of the last file whose tail is in fragment k */
	after = sys_calloc(m->fragment_count + (size_t)1, sizeof(*after));
	if (after == NULL)
		return -ENOMEM;
	for (uint32_t k = 1; k < m->file_count; k++) {
		const struct image_file *f = &m->file[k];
		uint64_t order = 0;

		if (!is_read(f))
			continue;
		if (f->blocks > 0) {
			add_blocks(p, m, k);
			order = p->extents[p->extent_count - 1].order;
		}
		if (image_tail_len(m, f) > 0) {
			p->tails[p->from[f->fragment + (size_t)1]++] = k;
			if (after[f->fragment] < order)
				after[f->fragment] = order;
		}
	}
	for (uint32_t k = 0; k < m->fragment_count; k++) {
		uint64_t at = 0, order;
		image_word word;

		if (p->from[k] == p->from[k + (size_t)1])
			continue;
		word = m->source->fragment(m, k, &at);
		order = at < m->length ? at << 1 : 0;
		if (order < after[k])
			order = after[k];
		p->extents[p->extent_count++] = (struct image_extent){
		    .order = order | 1, .first = p->count, .count = 1 };
		p->jobs[p->count++] = (struct image_job){ .at = at,
		    .word = word, .index = k, .block = IMAGE_JOB_FRAGMENT };
	}
	qsort(p->extents, p->extent_count, sizeof(*p->extents), by_order);
	sys_free(after);
	return 0;
}

void
image_plan_free(struct image_plan *p)
{
	sys_free(p->extents);
	sys_free(p->jobs);
	sys_free(p->tails);
	sys_free(p->from);
}
