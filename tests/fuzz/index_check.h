/*
 * index_check.h - checks that an index, however it was read, is consistent
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_FUZZ_INDEX_CHECK_H
#define COLDPRESS_FUZZ_INDEX_CHECK_H

#include "lazy/toc/toc.h"

#include <stdlib.h>
#include <string.h>

static inline void
index_check_entry(const struct lazy_index *x, const struct layer_entry *e)
{
	uint64_t from = 0;

	if (strlen(e->path) + strlen(e->link) + strlen(e->uname) +
	    strlen(e->gname) > LAYER_INDEX_MAX || e->mtime_ns > 999999999 ||
	    *e->path == '/')
		abort();
	for (size_t i = 0; i < e->run_count; i++) {
		const struct layer_run *r = &e->runs[i];

		if (r->offset < from || r->offset + r->length > e->size ||
		    r->unit >= x->unit_count || r->inner + r->length >
		    x->units[r->unit].content)
			abort();
		from = r->offset + r->length;
	}
	/* a NUL follows every value */
	for (size_t i = 0; i < e->xattr_count; i++)
		if (strlen(e->xattrs[i].name) > LAYER_INDEX_MAX ||
		    memchr(e->xattrs[i].value, 0, e->xattrs[i].length + 1) ==
		    NULL)
			abort();
}

/* Checks l->index, after index_finish(), and l->state, a struct toc. */
static inline void
index_check(const struct layer *l)
{
	const struct lazy_index *x = &l->index;
	const struct toc *t = l->state;

	for (size_t i = 0; i < x->entry_count; i++)
		index_check_entry(x, &x->entries[i]);
	for (size_t i = 0; i < x->unit_count; i++) {
		struct layer_range r[LAYER_RANGES_MAX];
		size_t n = toc_ranges(l, (uint32_t)i, r);

		if (x->units[i].content > LAYER_UNIT_MAX ||
		    t->units[i].first_chunk >= t->chunk_count ||
		    n != (t->digests == NULL ? 2 : 1))
			abort();
		while (n-- > 0)
			if (r[n].offset >= l->size ||
			    r[n].length > l->size - r[n].offset)
				abort();
	}
}

#endif
