/*
 * sq_deal.c - which thread has what to do
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread has as many lanes as files that are best hashed together.  In each
 * is an item, and when that ends the next of all; units are taken from lane to
 * lane.  So small files are read in the order of the disk, and of large ones
 * a few at a time.  Who finds no more items takes units from others' lanes:
 * a large file has one thread hashing then, and all others unpacking.
 */
#include "sq_walk.h"

#include "base/sys.h"

#include <errno.h>

/*
 * Read ahead, as what it is unpacked.  Short steps begin sooner; where a file
 * is long enough for long ones, a disk that has to seek likes them better.
 */
enum {
	AHEAD_B = 8 << 20,
	STEP_B = 1 << 20,
	LONG_STEP_B = 4 << 20
};

/* What has been found to be asked of the kernel, without the lock. */
struct ahead {
	size_t item, item_end;
	size_t unit, unit_end;
};

int
sq_deal_open(struct sq_walk *w)
{
	struct sq_deal *d = &w->deal;

	d->each = digest_lanes(w->o->digest);
	d->lanes = sys_calloc((size_t)w->o->threads * d->each,
	    sizeof(*d->lanes));
	d->turn = sys_calloc(w->o->threads, sizeof(*d->turn));
	return d->lanes == NULL || d->turn == NULL ? -ENOMEM : 0;
}

void
sq_deal_close(struct sq_walk *w)
{
	sys_free(w->deal.lanes);
	sys_free(w->deal.turn);
}

static size_t
units_of(const struct sq_walk *w, size_t bytes)
{
	return bytes / w->image->super.block;
}

size_t
sq_deal_beginning(const struct sq_walk *w, const struct sq_item *item)
{
	size_t most = units_of(w, STEP_B);

	return item->count < most ? item->count : most;
}

/* The next item, whose beginning has been read ahead. */
static void
fill(struct sq_walk *w, struct sq_lane *lane)
{
	const struct sq_item *item = &w->plan.items[w->deal.next++];
	size_t beginning = sq_deal_beginning(w, item);

	lane->next = item->first;
	lane->end = item->first + item->count;
	lane->advised = item->first + beginning;
	w->deal.ahead -= beginning;
}

/* Of his own lanes the one whose turn it is, filled; or NULL. */
static struct sq_lane *
own_lane(struct sq_walk *w, unsigned me)
{
	struct sq_deal *d = &w->deal;

	for (unsigned i = 0; i < d->each; i++) {
		unsigned turn = d->turn[me]++ % d->each;
		struct sq_lane *lane = &d->lanes[me * d->each + turn];

		if (lane->next == lane->end && d->next < w->plan.item_count)
			fill(w, lane);
		if (lane->next < lane->end)
			return lane;
	}
	return NULL;
}

/* The one that has most left; or NULL. */
static struct sq_lane *
longest_lane(struct sq_walk *w)
{
	struct sq_deal *d = &w->deal;
	unsigned count = w->o->threads * d->each;
	struct sq_lane *best = &d->lanes[0];

	for (unsigned i = 1; i < count; i++)
		if (d->lanes[i].end - d->lanes[i].next >
		    best->end - best->next)
			best = &d->lanes[i];
	return best->next < best->end ? best : NULL;
}

static bool
is_alone(struct sq_walk *w)
{
	struct sq_deal *d = &w->deal;
	unsigned count = w->o->threads * d->each, files = 0;

	if (d->next < w->plan.item_count)
		return false;
	for (unsigned i = 0; i < count; i++)
		files += d->lanes[i].next < d->lanes[i].end;
	return files < 2;
}

/* Beginnings of items, so that there is always AHEAD_B of them. */
static void
plan_items(struct sq_walk *w, struct ahead *a)
{
	struct sq_deal *d = &w->deal;

	a->item = a->item_end = d->advised;
	if (d->ahead + units_of(w, STEP_B) > units_of(w, AHEAD_B))
		return;
	while (d->advised < w->plan.item_count &&
	    d->ahead < units_of(w, AHEAD_B))
		d->ahead += sq_deal_beginning(w,
		    &w->plan.items[d->advised++]);
	a->item_end = d->advised;
}

/* A step of a lane that is longer than its beginning. */
static void
plan_units(struct sq_walk *w, struct sq_lane *lane, struct ahead *a)
{
	size_t step = units_of(w, LONG_STEP_B);

	a->unit = a->unit_end = lane->advised;
	if (lane->advised == lane->end ||
	    lane->advised - lane->next + step > units_of(w, AHEAD_B))
		return;
	lane->advised = lane->end - lane->advised < step ? lane->end :
	    lane->advised + step;
	a->unit_end = lane->advised;
}

const struct sq_unit *
sq_deal_take(struct sq_walk *w, unsigned me, bool *alone)
{
	const struct sq_unit *u = NULL;
	struct sq_lane *lane;
	struct ahead a = { 0 };

	pthread_mutex_lock(&w->deal.lock);
	plan_items(w, &a);
	*alone = is_alone(w);
	lane = own_lane(w, me);
	if (lane == NULL)
		lane = longest_lane(w);
	if (lane != NULL) {
		u = &w->plan.units[lane->next++];
		plan_units(w, lane, &a);
	}
	pthread_mutex_unlock(&w->deal.lock);
	sq_ahead_items(w, a.item, a.item_end);
	sq_ahead_units(w, a.unit, a.unit_end);
	return u;
}
