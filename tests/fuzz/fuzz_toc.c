/*
 * fuzz_toc.c - arbitrary bytes as a table of contents: the result is consistent
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte is the length of the pieces in which the rest is read.
 */
#include "../../src/lazy/toc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { END = 1 << 20 };

static void
check_entry(const struct lazy_index *x, const struct layer_entry *e)
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

static void
check(const struct toc *t, const struct lazy_index *x)
{
	for (size_t i = 0; i < x->entry_count; i++)
		check_entry(x, &x->entries[i]);
	for (size_t i = 0; i < x->unit_count; i++)
		if (x->units[i].content > LAYER_UNIT_MAX ||
		    t->units[i].offset >= END ||
		    x->units[i].stored > END - t->units[i].offset ||
		    t->units[i].first_chunk >= t->chunk_count)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct layer l = { .size = END };
	struct toc *t = l.state = calloc(1, sizeof(*t));
	struct toc_reader *r;
	char why[LAYER_WHY] = "";
	size_t step;
	int rc = 0;

	if (t == NULL || toc_reader_open(&r, t, &l.index) != 0)
		abort();
	step = size == 0 ? 1 : 1 + data[0];
	for (size_t at = 1; rc == 0 && at < size; at += step)
		rc = toc_reader_add(r, data + at, size - at < step ?
		    size - at : step, why);
	if (rc == 0)
		rc = toc_reader_end(r, END, why);
	if (rc != 0 && *why == '\0')
		abort();
	if (rc == 0) {
		index_finish(&l.index);
		check(t, &l.index);
	}
	toc_reader_close(r);
	toc_close(&l);
	index_free(&l.index);
	return 0;
}
