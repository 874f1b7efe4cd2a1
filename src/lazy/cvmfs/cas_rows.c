/*
 * cas_rows.c - the rows of a CVMFS catalog, in memory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cas_read.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Orders */

static int
by_number(int64_t x, int64_t y)
{
	return x < y ? -1 : x > y;
}

static int
by_path(const struct cas_path *x, const struct cas_path *y)
{
	int order = by_number(x->a, y->a);

	return order != 0 ? order : by_number(x->b, y->b);
}

static int
by_parent(const void *a, const void *b)
{
	const struct cas_row *x = a, *y = b;
	int order = by_path(&x->parent, &y->parent);

	return order != 0 ? order : strcmp(x->name, y->name);
}

static int
by_file(const void *a, const void *b)
{
	const struct cas_chunk *x = a, *y = b;
	int order = by_path(&x->path, &y->path);

	return order != 0 ? order : by_number(x->offset, y->offset);
}

static int
by_directory(const void *a, const void *b)
{
	const struct cas_nested_row *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Reading */

static int
keep_row(struct cas_rows *r, struct cas_row *row)
{
	row->name = arena_copy(&r->arena, row->name, strlen(row->name));
	row->link = arena_copy(&r->arena, row->link, strlen(row->link));
	if (row->hash_len > 0)
		row->hash = arena_copy(&r->arena, row->hash, row->hash_len);
	if (row->xattrs_len > 0)
		row->xattrs = arena_copy(&r->arena, row->xattrs,
		    row->xattrs_len);
	return row->name == NULL || row->link == NULL ||
	    (row->hash_len > 0 && row->hash == NULL) ||
	    (row->xattrs_len > 0 && row->xattrs == NULL) ? -ENOMEM : 0;
}

/* Makes room for one more item, within the limit. */
static int
more(void **items, size_t count, size_t *cap, size_t size,
    char why[LAYER_WHY])
{
	if (count >= LAYER_ENTRIES_MAX)
		return layer_refuse(why, -EFBIG, "a catalog has too many "
		    "rows");
	return array_grow(items, count, cap, size);
}

static int
read_rows(struct cas_rows *r, struct cas_db *d, char why[LAYER_WHY])
{
	size_t cap = 0;
	void *rows = NULL;
	int rc;

	while ((rc = more(&rows, r->row_count, &cap, sizeof(*r->rows),
	    why)) == 0) {
		r->rows = rows;
		rc = cas_db_row(d, &r->rows[r->row_count], why);
		if (rc == 1)
			rc = keep_row(r, &r->rows[r->row_count++]);
		else
			break;
		if (rc != 0)
			break;
	}
	return rc;
}

static int
read_chunks(struct cas_rows *r, struct cas_db *d, char why[LAYER_WHY])
{
	size_t cap = 0;
	void *chunks = NULL;
	int rc;

	while ((rc = more(&chunks, r->chunk_count, &cap, sizeof(*r->chunks),
	    why)) == 0) {
		r->chunks = chunks;
		rc = cas_db_chunk(d, &r->chunks[r->chunk_count], why);
		if (rc != 1)
			break;
		r->chunk_count++;
	}
	return rc;
}

static int
read_nested(struct cas_rows *r, struct cas_db *d, char why[LAYER_WHY])
{
	size_t cap = 0;
	void *nested = NULL;
	int rc;

	while ((rc = more(&nested, r->nested_count, &cap, sizeof(*r->nested),
	    why)) == 0) {
		struct cas_nested_row *n;

		r->nested = nested;
		n = &r->nested[r->nested_count];
		rc = cas_db_nested(d, n, why);
		if (rc != 1)
			break;
		n->path = arena_copy(&r->arena, n->path, strlen(n->path));
		if (n->path == NULL)
			return -ENOMEM;
		r->nested_count++;
	}
	return rc;
}

int
cas_rows_read(struct cas_rows *r, const void *data, size_t len,
    char why[LAYER_WHY])
{
	struct cas_db *d = NULL;
	int rc;

	*r = (struct cas_rows){ .row_count = 0 };
	rc = cas_db_open(&d, data, len, why);
	if (rc == 0)
		rc = read_rows(r, d, why);
	if (rc == 0)
		rc = read_chunks(r, d, why);
	if (rc == 0)
		rc = read_nested(r, d, why);
	cas_db_close(d);
	if (rc != 0)
		return rc;
	qsort(r->rows, r->row_count, sizeof(*r->rows), by_parent);
	qsort(r->chunks, r->chunk_count, sizeof(*r->chunks), by_file);
	qsort(r->nested, r->nested_count, sizeof(*r->nested), by_directory);
	return 0;
}

void
cas_rows_free(struct cas_rows *r)
{
	sys_free(r->rows);
	sys_free(r->chunks);
	sys_free(r->nested);
	arena_free(&r->arena);
}

/* Finding */

const struct cas_row *
cas_rows_in(const struct cas_rows *r, const struct cas_path *dir,
    const struct cas_row **end)
{
	size_t low = 0, high = r->row_count, last;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_path(&r->rows[mid].parent, dir) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (last = low; last < r->row_count &&
	    by_path(&r->rows[last].parent, dir) == 0;)
		last++;
	*end = r->rows + last;
	return r->rows + low;
}

const struct cas_chunk *
cas_rows_chunks(const struct cas_rows *r, const struct cas_path *file,
    const struct cas_chunk **end)
{
	size_t low = 0, high = r->chunk_count, last;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_path(&r->chunks[mid].path, file) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (last = low; last < r->chunk_count &&
	    by_path(&r->chunks[last].path, file) == 0;)
		last++;
	*end = r->chunks + last;
	return r->chunks + low;
}

const struct cas_nested *
cas_rows_nested(const struct cas_rows *r, const char *path)
{
	const struct cas_nested_row key = { .path = path }, *found;

	/* bsearch() requires an array */
	found = r->nested_count == 0 ? NULL : bsearch(&key, r->nested,
	    r->nested_count, sizeof(key), by_directory);
	return found == NULL ? NULL : &found->nested;
}
