/*
 * pack_order_plan.c - determining the new order of an archive's entries
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_order_impl.h"

#include "base/array.h"
#include "base/sys.h"
#include "image/oci/whiteout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS_MAX = 8 };			/* maximum length of a chain of hard
					 * links */

uint32_t
order_find(const struct pack_order *o, const char *path, size_t len)
{
	size_t lo = 0, hi = o->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct order_entry *e = &o->entries[o->by_path[mid]];
		int d = strncmp(e->path, path, len);

		if (d == 0 && e->path[len] == '\0')
			return e->fixed ? ORDER_NONE : o->by_path[mid];
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return ORDER_NONE;
}

/*
 * Adds a range of the archive, extending the last part if the two are adjacent.
 */
static int
add_part(struct pack_order *o, uint64_t at, uint64_t end, bool landmark)
{
	struct order_part *last = o->part_count == 0 ? NULL :
	    &o->parts[o->part_count - 1];
	void *items = o->parts;
	int rc;

	if (!landmark && last != NULL && !last->landmark &&
	    last->at + last->len == at) {
		last->len += end - at;
		return 0;
	}
	rc = array_grow(&items, o->part_count, &o->part_cap,
	    sizeof(*o->parts));
	o->parts = items;
	if (rc == 0)
		o->parts[o->part_count++] = (struct order_part){ .at = at,
			.len = end - at, .landmark = landmark };
	return rc;
}

/* Moves one entry to the end of the plan. */
static int
place_entry(struct pack_order *o, uint32_t i)
{
	struct order_entry *e = &o->entries[i];
	uint64_t end = i + 1 < o->count ? e[1].start : o->tail;

	if (e->moved)
		return 0;
	e->moved = true;
	if (e->ours)
		return 0;
	e->place = o->placed++;
	return add_part(o, e->start, end, false);
}

/* Moves the marker of an opaque directory with the directory. */
static int
place_mark(struct pack_order *o, const char *dir, size_t len)
{
	static const char mark[] = "/" WHITEOUT_OPAQUE;
	char *path = sys_malloc(len + sizeof(mark));
	uint32_t i;

	if (path == NULL)
		return -ENOMEM;
	memcpy(path, dir, len);
	memcpy(path + len, mark, sizeof(mark));
	i = order_find(o, path + (len == 0), strlen(path + (len == 0)));
	sys_free(path);
	return i == ORDER_NONE ? 0 : place_entry(o, i);
}

/* Moves the parent directories of an entry, then the entry. */
static int
place_below(struct pack_order *o, uint32_t i)
{
	const char *path = o->entries[i].path;
	int rc = 0;

	for (size_t len = 0; rc == 0 && path[len] != '\0'; len++) {
		size_t dir = len;
		uint32_t above;

		if (len > 0 && path[len] != '/')
			continue;
		above = order_find(o, path, dir);
		if (above == ORDER_NONE || o->entries[above].type != TAR_DIR)
			continue;
		rc = place_entry(o, above);
		if (rc == 0)
			rc = place_mark(o, path, dir);
	}
	return rc != 0 ? rc : place_entry(o, i);
}

/* Returns the target of hard link i, or ORDER_NONE. */
static uint32_t
target_of(const struct pack_order *o, uint32_t i)
{
	const struct order_entry *e = &o->entries[i];

	return e->type != TAR_HARDLINK ? ORDER_NONE :
	    order_find(o, e->link, strlen(e->link));
}

/*
 * Moves the target of a hard link, then the link; any other entry is just
 * moved.
 */
static int
place_listed(struct pack_order *o, uint32_t i)
{
	uint32_t chain[LINKS_MAX];
	size_t n = 0;
	int rc = 0;

	for (; i != ORDER_NONE && n < LINKS_MAX; i = target_of(o, i))
		chain[n++] = i;
	/*
	 * do not move any if the last target is missing or the chain is too
	 * long
	 */
	if (i != ORDER_NONE || o->entries[chain[n - 1]].type == TAR_HARDLINK)
		return 0;
	while (rc == 0 && n > 0)
		rc = place_below(o, chain[--n]);
	return rc;
}

static int
by_rank(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	const struct order_entry *entries = arg;
	uint32_t r = entries[*x].rank, s = entries[*y].rank;

	return r != s ? (r < s ? -1 : 1) : *x < *y ? -1 : *x > *y;
}

/* Stores the listed entries in `listed`, in list order. */
static size_t
take_listed(struct pack_order *o, struct walk_order *list, uint32_t *listed)
{
	size_t n = 0;

	for (size_t i = 0; i < o->count; i++) {
		struct order_entry *e = &o->entries[i];

		if (e->type == TAR_DIR || e->ours)
			continue;
		e->rank = walk_order_rank(list, e->path);
		if (!e->fixed && e->rank < WALK_ORDER_REST)
			listed[n++] = (uint32_t)i;
	}
	if (n > 0)
		qsort_r(listed, n, sizeof(*listed), by_rank, o->entries);
	return n;
}

int
order_plan(struct pack_order *o, struct walk_order *list)
{
	uint32_t *listed = sys_malloc((o->count + 1) * sizeof(*listed));
	size_t n = listed == NULL ? 0 : take_listed(o, list, listed);
	int rc = listed == NULL ? -ENOMEM : 0;

	/* global headers */
	if (rc == 0 && o->count > 0)
		rc = add_part(o, 0, o->entries[0].start, false);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = place_listed(o, listed[i]);
	if (rc == 0)
		rc = add_part(o, 0, 0, true);
	for (uint32_t i = 0; rc == 0 && i < o->count; i++)
		rc = place_entry(o, i);
	if (rc == 0)
		rc = add_part(o, o->tail, o->end, false);
	sys_free(listed);
	return rc;
}

/* The trace */

static int
add_touch(struct pack_order *o, const struct pack_touch *t)
{
	void *items = o->touches;
	int rc = array_grow(&items, o->touch_count, &o->touch_cap,
	    sizeof(*o->touches));

	o->touches = items;
	if (rc == 0)
		o->touches[o->touch_count++] = *t;
	return rc;
}

/* Adds the listed parts, up to the maximum size of the trace. */
int
order_touches(struct pack_order *o, const struct walk_order *list)
{
	uint64_t room = LAYER_TRACE_CONTENT_MAX;
	struct walk_touch w;
	int rc = 0;

	for (size_t i = 0; rc == 0 && room > 0 &&
	    walk_order_touch(list, i, &w); i++) {
		uint32_t k = order_find(o, w.path, strlen(w.path));
		const struct order_entry *e;

		for (int n = 0; n < LINKS_MAX && k != ORDER_NONE &&
		    o->entries[k].type == TAR_HARDLINK; n++)
			k = target_of(o, k);
		e = k == ORDER_NONE ? NULL : &o->entries[k];
		if (e == NULL || e->type != TAR_FILE || e->ours ||
		    w.offset >= e->size || w.length == 0)
			continue;
		if (w.length > e->size - w.offset)
			w.length = e->size - w.offset;
		if (w.length > room)
			w.length = room;
		room -= w.length;
		rc = add_touch(o, &(struct pack_touch){ .entry = e->place,
			.offset = w.offset, .length = w.length,
			.at = e->data + w.offset });
	}
	return rc;
}
