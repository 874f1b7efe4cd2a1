/*
 * sq_extract_plan.c - dividing file data into units, in image order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sq_extract.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

uint32_t
sq_extract_run_blocks(const struct sq_extraction *t)
{
	return SQ_EXTRACT_RUN_B / sq_facts(t->m)->block;
}

static int
by_start(const void *a, const void *b)
{
	const struct sq_extract_file *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool
is_written(const struct sq_extraction *t, size_t n, struct sq_entry *e)
{
	if (t->o->wanted[n] != SQ_IN)
		return false;
	sq_get(t->m, n, e);
	return S_ISREG(e->mode) && !e->lost && e->size > 0 &&
	    t->as[e->first] == n;
}

static int
list_files(struct sq_extract_plan *p)
{
	const struct sq_image *m = p->t->m;
	size_t fragments = sq_facts(m)->fragments;
	struct sq_entry e;

	p->from = sys_calloc(fragments + 2, sizeof(*p->from));
	if (p->from == NULL)
		return -ENOMEM;
	for (size_t n = 1; n < sq_count(m); n++) {
		void *items = p->files;

		if (!is_written(p->t, n, &e))
			continue;
		p->t->total_B += e.size;
		if (sq_tail_len(m, &e) > 0)
			p->from[e.fragment + (size_t)2]++;
		if (e.blocks == 0)
			continue;
		if (array_grow(&items, p->file_count, &p->file_cap,
		    sizeof(*p->files)) != 0)
			return -ENOMEM;
		p->files = items;
		p->files[p->file_count++] = (struct sq_extract_file){ e.start,
			(uint32_t)n, 1 };
	}
	for (size_t k = 2; k < fragments + 2; k++)
		p->from[k] += p->from[k - 1];
	return 0;
}

static int
list_tails(struct sq_extract_plan *p)
{
	const struct sq_image *m = p->t->m;
	size_t fragments = sq_facts(m)->fragments;
	struct sq_entry e;

	p->tails = sys_malloc((p->from[fragments + 1] + 1) *
	    sizeof(*p->tails));
	if (p->tails == NULL)
		return -ENOMEM;
	for (size_t n = 1; n < sq_count(m); n++)
		if (is_written(p->t, n, &e) && sq_tail_len(m, &e) > 0)
			p->tails[p->from[e.fragment + (size_t)1]++] =
			    (uint32_t)n;
	return 0;
}

static int
add_unit(struct sq_extract_plan *p, struct sq_extract_unit u)
{
	void *items = p->units;
	int rc = array_grow(&items, p->unit_count, &p->unit_cap,
	    sizeof(*p->units));

	p->units = items;
	if (rc == 0)
		p->units[p->unit_count++] = u;
	return rc;
}

/* Adds the runs of a file, except for those that consist only of holes. */
static int
add_runs(struct sq_extract_plan *p, uint32_t index, const struct sq_entry *e)
{
	uint32_t most = sq_extract_run_blocks(p->t);
	uint64_t at = e->start;
	int rc = 0;

	for (uint32_t k = 0; rc == 0 && k < e->blocks; k += most) {
		uint32_t n = e->blocks - k < most ? e->blocks - k : most;
		uint64_t stored = 0;

		for (uint32_t i = k; i < k + n; i++)
			stored += sq_word_len(sq_word(e, i));
		if (stored > 0)
			rc = add_unit(p, (struct sq_extract_unit){ at, index, k,
			    n });
		at += stored;
	}
	return rc;
}

/* Adds the files; files with the same blocks are adjacent. */
static int
add_files(struct sq_extract_plan *p)
{
	struct sq_entry first = { .size = 0 }, e;
	size_t of = 0;
	int rc = 0;

	if (p->file_count > 0)
		qsort(p->files, p->file_count, sizeof(*p->files), by_start);
	for (size_t i = 0; rc == 0 && i < p->file_count; i++) {
		sq_get(p->t->m, p->files[i].number, &e);
		if (i > 0 && e.start == first.start &&
		    e.size == first.size && e.blocks == first.blocks &&
		    memcmp(e.sizes, first.sizes, 4 * (size_t)e.blocks) == 0 &&
		    (e.fragment == SQUASHFS_NONE) ==
		    (first.fragment == SQUASHFS_NONE)) {
			p->files[of].twins++;
			p->files[i].twins = 0;
			continue;
		}
		of = i;
		first = e;
		rc = add_runs(p, (uint32_t)i, &e);
	}
	return rc;
}

static int
by_offset(const void *a, const void *b)
{
	const struct sq_extract_unit *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

int
sq_extract_plan_make(struct sq_extract_plan *p)
{
	uint32_t fragments = sq_facts(p->t->m)->fragments, word;
	int rc = list_files(p);

	if (rc == 0)
		rc = list_tails(p);
	if (rc == 0)
		rc = add_files(p);
	for (uint32_t k = 0; rc == 0 && k < fragments; k++) {
		struct sq_extract_unit u = { .index = k,
			.count = SQ_EXTRACT_FRAGMENT };

		sq_fragment(p->t->m, k, &u.at, &word);
		if (p->from[k] < p->from[k + 1])
			rc = add_unit(p, u);
	}
	if (rc == 0 && p->unit_count > 0)
		qsort(p->units, p->unit_count, sizeof(*p->units), by_offset);
	return rc;
}

void
sq_extract_plan_free(struct sq_extract_plan *p)
{
	sys_free(p->files);
	sys_free(p->units);
	sys_free(p->tails);
	sys_free(p->from);
}
