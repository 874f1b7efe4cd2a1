/*
 * pack_sections.c - which sections of a trace contain what several lists name
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_sections.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SETS = 1 << PACK_LISTS_MAX };

/* Data that the same lists name: at first a touch of one list. */
struct part {
	uint32_t entry, lists;		/* lists: a bit for each */
	uint64_t offset, end;		/* in the file */
	uint64_t at;			/* in the archive */
	uint64_t rank;			/* the smallest comes first */
	size_t section;
};

/* All data that the same lists name. */
struct set {
	uint64_t bytes, rank;
	uint32_t lists;			/* more if others were added to it */
	size_t section;
};

struct parts {
	struct part *items;
	size_t count, cap;
};

static int
by_list(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->lists != y->lists)
		return x->lists < y->lists ? -1 : 1;
	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int
by_section(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Cuts what a list names twice, once the parts are sorted by list. */
static void
remove_overlaps(struct parts *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct part *last = &p->items[kept - (kept > 0)];
		struct part new = p->items[i];

		if (kept > 0 && last->lists == new.lists &&
		    last->entry == new.entry && last->end > new.offset) {
			uint64_t twice = last->end - new.offset;

			if (last->end >= new.end)
				continue;
			new.offset += twice;
			new.at += twice;
		}
		p->items[kept++] = new;
	}
	p->count = kept;
}

/* Adds a part, extending the last one if the two were one. */
static int
keep_part(struct parts *p, const struct part *new)
{
	struct part *last = p->count == 0 ? NULL : &p->items[p->count - 1];
	void *items = p->items;
	int rc;

	if (last != NULL && last->entry == new->entry &&
	    last->lists == new->lists && last->rank == new->rank &&
	    last->end == new->offset) {
		last->end = new->end;
		return 0;
	}
	rc = array_grow(&items, p->count, &p->cap, sizeof(*p->items));
	p->items = items;
	if (rc == 0)
		p->items[p->count++] = *new;
	return rc;
}

static bool
begins_before(const struct part *x, const struct part *y)
{
	return x->entry < y->entry || (x->entry == y->entry &&
	    x->offset < y->offset);
}

/*
 * Cuts the parts of all lists where any of them begins or ends, and joins those
 * of the same data.  from is sorted by list, without overlaps in a list.
 */
static int
join_lists(struct parts *to, const struct parts *from)
{
	/* what is left of each list; the first of it may be cut */
	struct { size_t next, end; struct part first; } lists[PACK_LISTS_MAX];
	size_t count = 0;
	int rc = 0;

	for (size_t i = 0; i < from->count; i++) {
		const struct part *p = &from->items[i];

		if (i == 0 || p->lists != p[-1].lists) {
			lists[count].first = *p;
			lists[count++].next = i + 1;
		}
		lists[count - 1].end = i + 1;
	}
	while (rc == 0 && count > 0) {
		struct part new = lists[0].first;
		size_t left = 0;

		for (size_t i = 1; i < count; i++)
			if (begins_before(&lists[i].first, &new))
				new = lists[i].first;
		/* up to the next place where another one begins or ends */
		for (size_t i = 0; i < count; i++) {
			const struct part *p = &lists[i].first;

			if (p->entry != new.entry || p->offset >= new.end)
				continue;
			if (p->offset > new.offset) {
				new.end = p->offset;
				continue;
			}
			new.end = p->end < new.end ? p->end : new.end;
			new.rank = p->rank < new.rank ? p->rank : new.rank;
			new.lists |= p->lists;
		}
		rc = keep_part(to, &new);
		for (size_t i = 0; i < count; i++) {
			struct part *p = &lists[i].first;

			if (p->entry == new.entry && p->offset == new.offset) {
				p->at += new.end - p->offset;
				p->offset = new.end;
				if (p->offset == p->end) {
					if (lists[i].next == lists[i].end)
						continue;
					*p = from->items[lists[i].next++];
				}
			}
			lists[left++] = lists[i];
		}
		count = left;
	}
	return rc;
}

/* Sets */

static int
by_bytes(const void *a, const void *b)
{
	const struct set *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->lists < y->lists ? -1 : x->lists > y->lists;
}

static int
by_rank(const void *a, const void *b)
{
	const struct set *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->lists < y->lists ? -1 : x->lists > y->lists;
}

/* Returns how much commands fetch in vain if two sets are in one section. */
static uint64_t
waste(const struct set *x, const struct set *y)
{
	return x->bytes * (uint64_t)__builtin_popcount(y->lists & ~x->lists) +
	    y->bytes * (uint64_t)__builtin_popcount(x->lists & ~y->lists);
}

/*
 * Sets the sections of all parts; `all` is the set of all lists.  Section 0 is
 * that of `all`, whether or not there is such data.
 */
static int
choose_sections(struct parts *p, uint32_t all, size_t most, uint64_t least)
{
	struct set *sets = sys_calloc(SETS, sizeof(*sets));
	size_t *section_of = sys_calloc(SETS, sizeof(*section_of));
	size_t count = 1, kept;

	if (sets == NULL || section_of == NULL) {
		sys_free(sets);
		sys_free(section_of);
		return -ENOMEM;
	}
	/* sets[0] is that of all lists; 0 in section_of: not yet known */
	sets[0].lists = all;
	for (size_t i = 0; i < p->count; i++) {
		const struct part *x = &p->items[i];
		size_t *at = &section_of[x->lists];

		if (*at == 0 && x->lists != all) {
			*at = count;
			sets[count++] = (struct set){ .lists = x->lists,
				.rank = x->rank };
		}
		sets[*at].bytes += x->end - x->offset;
		if (x->rank < sets[*at].rank)
			sets[*at].rank = x->rank;
	}
	/* the largest are sections, in the order of what is first in them */
	qsort(sets + 1, count - 1, sizeof(*sets), by_bytes);
	for (kept = 1; kept < count && kept <= most &&
	    sets[kept].bytes >= least; kept++)
		;
	qsort(sets + 1, kept - 1, sizeof(*sets), by_rank);
	for (size_t i = 0; i < kept; i++)
		section_of[sets[i].lists] = i;
	for (size_t i = kept; i < count; i++) {
		const struct set *x = &sets[i];
		size_t best = 0;

		for (size_t k = 1; k < kept; k++)
			if (waste(x, &sets[k]) < waste(x, &sets[best]))
				best = k;
		section_of[x->lists] = best;
		sets[best].lists |= x->lists;
		sets[best].bytes += x->bytes;
	}
	for (size_t i = 0; i < p->count; i++)
		p->items[i].section = section_of[p->items[i].lists];
	sys_free(sets);
	sys_free(section_of);
	return 0;
}

int
pack_sections(struct pack_touch **touches, size_t *touch_count, unsigned lists,
    size_t most, uint64_t least, uint64_t room)
{
	struct parts from = { .items = NULL }, p = { .items = NULL };
	struct pack_touch *to = *touches;
	size_t count = 0;
	int rc;

	if (*touch_count == 0)
		return 0;
	from.items = sys_calloc(*touch_count, sizeof(*from.items));
	if (from.items == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < *touch_count; i++)
		from.items[i] = (struct part){ .entry = to[i].entry,
			.lists = UINT32_C(1) << to[i].section, .rank = i,
			.offset = to[i].offset, .at = to[i].at,
			.end = to[i].offset + to[i].length };
	from.count = *touch_count;
	qsort(from.items, from.count, sizeof(*from.items), by_list);
	remove_overlaps(&from);
	rc = join_lists(&p, &from);
	sys_free(from.items);
	if (rc == 0)
		rc = choose_sections(&p, (UINT32_C(1) << lists) - 1, most,
		    least);
	if (rc == 0)
		to = sys_realloc(to, p.count * sizeof(*to));
	if (rc == 0 && to == NULL)
		rc = -ENOMEM;
	if (rc != 0)
		goto out;
	qsort(p.items, p.count, sizeof(*p.items), by_section);
	for (size_t i = 0; room > 0 && i < p.count; i++) {
		const struct part *x = &p.items[i];
		uint64_t length = x->end - x->offset;

		length = length < room ? length : room;
		room -= length;
		to[count++] = (struct pack_touch){ .entry = x->entry,
			.section = (uint32_t)x->section, .offset = x->offset,
			.length = length, .at = x->at };
	}
	*touches = to;
	*touch_count = count;
out:
	sys_free(p.items);
	return rc;
}
