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
#include <stdio.h>
#include <string.h>

static int
refuse(char why[LAYER_WHY], int rc, const char *clause)
{
	snprintf(why, LAYER_WHY, "%s", clause);
	return rc;
}

/* Copying into the arena */

static char *
keep(struct lazy_index *x, const void *data, size_t len)
{
	return arena_copy(&x->arena, data, len);
}

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
	    keep(x, s, strlen(s));
}

static int
keep_xattrs(struct lazy_index *x, struct layer_entry *e)
{
	struct tar_xattr *copy;

	if (e->xattr_count == 0)
		return 0;
	copy = arena_take(&x->arena, e->xattr_count * sizeof(*copy));
	if (copy == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < e->xattr_count; i++) {
		const struct tar_xattr *a = &e->xattrs[i];

		copy[i] = (struct tar_xattr){ .length = a->length,
		    .name = keep(x, a->name, strlen(a->name)),
		    .value = keep(x, a->value, a->length) };
		if (copy[i].name == NULL || copy[i].value == NULL)
			return -ENOMEM;
	}
	e->xattrs = copy;
	return 0;
}

static int
keep_path(struct lazy_index *x, struct layer_entry *e, char why[LAYER_WHY])
{
	char *path = keep(x, e->path, strlen(e->path));

	if (path == NULL)
		return -ENOMEM;
	if (path_clean(path) != 0) {
		snprintf(why, LAYER_WHY, "the path %.160s leads out of the "
		    "layer", e->path);
		return -EBADMSG;
	}
	e->path = path;
	return 0;
}

static int
keep_entry(struct lazy_index *x, struct layer_entry *e, char why[LAYER_WHY])
{
	const struct layer_entry *before = x->entry_count == 0 ? NULL :
	    &x->entries[x->entry_count - 1];
	int rc = keep_path(x, e, why);

	if (rc != 0)
		return rc;
	e->link = keep_again(x, e->link, NULL);
	e->uname = keep_again(x, e->uname, before ? before->uname : NULL);
	e->gname = keep_again(x, e->gname, before ? before->gname : NULL);
	if (e->link == NULL || e->uname == NULL || e->gname == NULL)
		return -ENOMEM;
	return keep_xattrs(x, e);
}

/* Building */

int
index_entry(struct lazy_index *x, const struct layer_entry *e,
    char why[LAYER_WHY])
{
	void *entries = x->entries;
	struct layer_entry copy = *e;
	int rc;

	refuse(why, 0, strerror(ENOMEM));
	if (x->entry_count >= LAYER_ENTRIES_MAX)
		return refuse(why, -EFBIG, "the index has too many entries");
	if (e->size > INT64_MAX)
		return refuse(why, -EBADMSG, "a file is larger than 2^63 "
		    "bytes");
	if (e->uid > UINT32_MAX || e->gid > UINT32_MAX)
		return layer_refuse(why, -EOVERFLOW, "%.160s: " LAYER_LARGE_ID,
		    e->path);
	rc = array_grow(&entries, x->entry_count, &x->entry_cap, sizeof(*e));
	x->entries = entries;
	if (rc != 0)
		return rc;
	rc = keep_entry(x, &copy, why);
	if (rc != 0)
		return rc;
	copy.runs = NULL;
	copy.run_count = 0;
	x->entries[x->entry_count++] = copy;
	return 0;
}

int
index_unit(struct lazy_index *x, const struct layer_unit *u,
    char why[LAYER_WHY])
{
	void *units = x->units;
	int rc;

	refuse(why, 0, strerror(ENOMEM));
	if (u->content > LAYER_UNIT_MAX || x->unit_count >= UINT32_MAX)
		return refuse(why, -EFBIG, u->content > LAYER_UNIT_MAX ?
		    "a unit is larger than 64 MiB" :
		    "the index has too many units");
	rc = array_grow(&units, x->unit_count, &x->unit_cap, sizeof(*u));
	x->units = units;
	if (rc == 0)
		x->units[x->unit_count++] = *u;
	return rc;
}

/*
 * Checks that the run is within its file and its unit, after the previous run.
 * Returns NULL, or a clause that describes the error.
 */
static const char *
judge(const struct lazy_index *x, const struct layer_entry *e,
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

	refuse(why, 0, strerror(ENOMEM));
	if (x->entry_count == 0)
		return refuse(why, -EBADMSG, "data precedes the first entry");
	rc = array_grow(&runs, x->run_count, &x->run_cap, sizeof(*r));
	x->runs = runs;
	if (rc != 0)
		return rc;
	e = &x->entries[x->entry_count - 1];
	wrong = judge(x, e, r);
	if (wrong != NULL)
		return refuse(why, -EBADMSG, wrong);
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
