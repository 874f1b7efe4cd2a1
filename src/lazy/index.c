/*
 * index.c - building a layer's index in memory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/index.h"

#include "base/array.h"
#include "base/path.h"
#include "base/sys.h"
#include "lazy/format.h"

#include <errno.h>
#include <string.h>

/*
 * Copies the name of an owner, unless it is the same as in the previous entry,
 * which is the usual case.
 */
static const char *
keep_again(struct lazy_index *x, const char *s, const char *before)
{
	if (*s == '\0')
		return "";
	return before != NULL && strcmp(s, before) == 0 ? before :
	    arena_copy(&x->arena, s, strlen(s));
}

/* Building */

int
index_entry(struct lazy_index *x, const struct layer_entry *from,
    char why[LAYER_WHY])
{
	void *entries = x->entries;
	const struct layer_entry *before;
	struct layer_entry e = *from;
	struct tar_xattr *xattrs;
	char *path;
	int rc;

	if (x->entry_count >= LAYER_ENTRIES_MAX)
		return layer_refuse(why, -EFBIG, "the index has too many "
		    "entries");
	if (e.size > INT64_MAX)
		return layer_refuse(why, -EBADMSG, "a file is larger than 2^63 "
		    "bytes");
	if (e.uid > UINT32_MAX || e.gid > UINT32_MAX)
		return layer_refuse(why, -EOVERFLOW, "%.160s: " LAYER_LARGE_ID,
		    e.path);
	rc = array_grow(&entries, x->entry_count, &x->entry_cap, sizeof(e));
	x->entries = entries;
	path = arena_copy(&x->arena, e.path, strlen(e.path));
	if (rc != 0 || path == NULL)
		goto no_memory;
	if (path_clean(path) != 0)
		return layer_refuse(why, -EBADMSG, "the path %.160s leads out "
		    "of the layer", e.path);
	e.path = path;
	before = x->entry_count == 0 ? NULL : &x->entries[x->entry_count - 1];
	e.link = keep_again(x, e.link, NULL);
	e.uname = keep_again(x, e.uname, before ? before->uname : NULL);
	e.gname = keep_again(x, e.gname, before ? before->gname : NULL);
	xattrs = arena_take(&x->arena, e.xattr_count * sizeof(*xattrs));
	if (e.link == NULL || e.uname == NULL || e.gname == NULL ||
	    xattrs == NULL)
		goto no_memory;
	for (size_t i = 0; i < e.xattr_count; i++) {
		const struct tar_xattr *a = &e.xattrs[i];

		xattrs[i] = (struct tar_xattr){ .length = a->length,
		    .name = arena_copy(&x->arena, a->name, strlen(a->name)),
		    .value = arena_copy(&x->arena, a->value, a->length) };
		if (xattrs[i].name == NULL || xattrs[i].value == NULL)
			goto no_memory;
	}
	if (e.xattr_count > 0)
		e.xattrs = xattrs;
	e.runs = NULL;
	e.run_count = 0;
	x->entries[x->entry_count++] = e;
	return 0;
no_memory:
	return layer_refuse(why, -ENOMEM, "%s", strerror(ENOMEM));
}

int
index_unit(struct lazy_index *x, const struct layer_unit *u,
    char why[LAYER_WHY])
{
	void *units = x->units;
	int rc;

	if (u->content > (x->unit_most != 0 ? x->unit_most : LAYER_UNIT_MAX))
		return layer_refuse(why, -EFBIG, "a unit is larger than "
		    "64 MiB");
	if (x->unit_count >= UINT32_MAX)
		return layer_refuse(why, -EFBIG, "the index has too many "
		    "units");
	rc = array_grow(&units, x->unit_count, &x->unit_cap, sizeof(*u));
	x->units = units;
	if (rc != 0)
		return layer_refuse(why, rc, "%s", strerror(-rc));
	x->units[x->unit_count++] = *u;
	return 0;
}

/*
 * Checks that the run is within its file and its unit, after the previous run.
 * Returns NULL, or a clause that describes the error.
 */
static const char *
run_error(const struct lazy_index *x, const struct layer_entry *e,
    const struct layer_run *r)
{
	const struct layer_run *last = e->run_count == 0 ? NULL :
	    &x->runs[x->run_count - 1];
	uint64_t content;

	if (e->type != TAR_FILE)
		return "an entry that is not a file has data";
	if (last != NULL && r->offset < last->offset + last->length)
		return "a file's data overlaps or is out of order";
	if (r->length == 0 || r->offset > e->size ||
	    r->length > e->size - r->offset)
		return "data is stored beyond the end of a file";
	if (r->unit >= x->unit_count)
		return "data is in a unit that does not exist";
	content = x->units[r->unit].content;
	if (r->inner > content || r->length > content - r->inner)
		return "data is stored beyond the end of its unit";
	return NULL;
}

int
index_run(struct lazy_index *x, const struct layer_run *r,
    char why[LAYER_WHY])
{
	void *runs = x->runs;
	struct layer_entry *e;
	const char *wrong;
	int rc;

	if (x->entry_count == 0)
		return layer_refuse(why, -EBADMSG, "data precedes the first "
		    "entry");
	rc = array_grow(&runs, x->run_count, &x->run_cap, sizeof(*r));
	x->runs = runs;
	if (rc != 0)
		return layer_refuse(why, rc, "%s", strerror(-rc));
	e = &x->entries[x->entry_count - 1];
	wrong = run_error(x, e, r);
	if (wrong != NULL)
		return layer_refuse(why, -EBADMSG, "%s", wrong);
	x->runs[x->run_count++] = *r;
	e->run_count++;
	return 0;
}

/*
 * Sets the pointers to runs, now that the array of runs is no longer
 * reallocated.
 */
void
index_finish(struct lazy_index *x)
{
	const struct layer_run *next = x->runs;

	for (size_t i = 0; i < x->entry_count; i++) {
		struct layer_entry *e = &x->entries[i];

		e->runs = e->run_count == 0 ? NULL : next;
		next = e->run_count == 0 ? next : next + e->run_count;
	}
}

void
index_free(struct lazy_index *x)
{
	sys_free(x->entries);
	sys_free(x->units);
	sys_free(x->runs);
	arena_free(&x->arena);
	*x = (struct lazy_index){ .entries = NULL };
}
