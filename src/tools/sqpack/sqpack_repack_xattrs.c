/*
 * sqpack_repack_xattrs.c - copying the extended attributes of an image in order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_repack.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
by_old(const void *a, const void *b)
{
	const struct repack_set *x = a, *y = b;

	if (x->old != y->old)
		return x->old < y->old ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Collects the sets in use, without duplicates. */
static int
list_sets(struct repack *r)
{
	size_t count = sq_count(r->i.m), kept = 0;
	struct sq_entry e;

	r->sets = sys_malloc(count * sizeof(*r->sets));
	if (r->sets == NULL)
		return repack_no_memory(r);
	for (size_t n = 0; n < count; n++) {
		sq_get(r->i.m, n, &e);
		if (e.xattr != SQUASHFS_NONE)
			r->sets[r->set_count++] = (struct repack_set){
				.old = e.xattr, .name = n };
	}
	if (r->set_count > 0)
		qsort(r->sets, r->set_count, sizeof(*r->sets), by_old);
	for (size_t i = 0; i < r->set_count; i++)
		if (kept == 0 || r->sets[kept - 1].old != r->sets[i].old)
			r->sets[kept++] = r->sets[i];
	r->set_count = kept;
	return 0;
}

static int
add_one(void *arg, const char *name, const void *value, size_t len)
{
	struct repack *r = arg;

	return sqt_xattrs_add(r->p->xattrs, name, value, len);
}

static int
add_set(struct repack *r, struct repack_set *s)
{
	const char *path;
	int rc = sqt_xattrs_begin(r->p->xattrs);

	if (rc == 0)
		rc = sq_xattrs(r->i.m, s->old, add_one, r);
	if (rc == 0)
		rc = sqt_xattrs_end(r->p->xattrs, &s->made);
	if (rc == 0)
		return 0;
	path = sqpack_image_path(&r->i, s->name);
	return repack_refuse(r, path == NULL ? "" : path, rc == -EBADMSG ?
	    "the extended attributes cannot be read" : strerror(-rc));
}

int
repack_take_xattrs(struct repack *r)
{
	int rc = r->p->xattrs == NULL ? 0 : list_sets(r);

	for (size_t i = 0; rc == 0 && i < r->set_count; i++)
		rc = add_set(r, &r->sets[i]);
	return rc;
}

uint32_t
repack_set(const struct repack *r, uint32_t old)
{
	size_t lo = 0, hi = r->set_count;

	if (old == SQUASHFS_NONE || hi == 0)
		return SQUASHFS_NONE;
	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->sets[mid].old <= old)
			lo = mid;
		else
			hi = mid;
	}
	return r->sets[lo].made;
}
