/*
 * units.c - a memory cache of decoded and verified units
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A unit is added to the hash table when a thread requests it.  While it is
 * being fetched, its users hold references, so it is not freed; a failed unit
 * is removed from the table when its last user has received the error.  Unused
 * units are in a list, least recently used first, and are freed when space is
 * needed for other units.
 *
 * A thread waits for space before it holds any unit, so a thread that holds
 * units never waits for space.
 */
#include "lazy/vfs/units.h"

#include "units_private.h"

#include "base/sys.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum {
	SLOTS = 4096,			/* of the hash table */
	SPARE_PART = 4			/* 1 / SPARE_PART of the limit is for
					 * unused buffers */
};

struct units {
	struct units_fetcher *fetcher;
	uint64_t limit;

	pthread_mutex_t lock;		/* protects the following */
	pthread_cond_t changed, room;
	struct unit *table[SLOTS];
	struct unit *oldest, *newest;
	uint64_t idle;			/* bytes of units without users */
	uint64_t busy;			/* bytes of units with users, and of
					 * data being fetched for them */
	uint64_t serial;		/* serial of the last new unit */
	/* reads that requested space, and reads that received it */
	uint64_t asked, admitted;
};

/* Removes a unit from the list of those without users. */
static void
list_remove(struct units *u, struct unit *n)
{
	*(n->older == NULL ? &u->oldest : &n->older->newer) = n->newer;
	*(n->newer == NULL ? &u->newest : &n->newer->older) = n->older;
	u->idle -= n->size;
	u->busy += n->size;
}

static struct unit **
unit_slot(struct units *u, struct unit_id id)
{
	uint64_t h = ((uintptr_t)id.source / sizeof(*id.source) + id.unit) *
	    UINT64_C(0x9e3779b97f4a7c15);

	return &u->table[h >> 52];
}

static struct unit *
find_unit(struct units *u, struct unit_id id)
{
	struct unit *n = *unit_slot(u, id);

	while (n != NULL && (n->id.unit != id.unit ||
	    n->id.source != id.source))
		n = n->next;
	return n;
}

/* Frees a unit that has no users and is not in the list. */
static void
discard(struct units *u, struct unit *n)
{
	struct unit **at = unit_slot(u, n->id);

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	u->busy -= n->size;
	units_fetcher_free(u->fetcher, n);
	sys_free(n);
}

/*
 * Frees unused units until the total of idle and busy bytes is within the
 * limit.
 */
static void
trim_units(struct units *u)
{
	while (u->oldest != NULL && u->idle + u->busy > u->limit) {
		struct unit *old = u->oldest;

		list_remove(u, old);
		discard(u, old);
	}
}

/*
 * Returns a reference to the unit, or NULL if out of memory; sets *mine if the
 * unit is new.
 */
static struct unit *
hold_unit(struct units *u, struct unit_id id, bool *mine)
{
	struct unit *n = find_unit(u, id);
	const struct layer_unit *all;
	size_t count;

	*mine = n == NULL;
	if (n == NULL) {
		n = sys_calloc(1, sizeof(*n));
		if (n == NULL)
			return NULL;
		all = layer_units(id.source->layer, &count);
		n->id = id;
		n->size = all[id.unit].content;
		n->stored = all[id.unit].stored;
		n->serial = ++u->serial;
		n->next = *unit_slot(u, id);
		*unit_slot(u, id) = n;
		u->busy += n->size + n->stored;
	} else if (n->users == 0) {
		list_remove(u, n);
	}
	n->users++;
	return n;
}

static void
release_unit(struct units *u, struct unit *n)
{
	if (--n->users > 0)
		return;
	if (n->state == UNIT_FAILED) {
		discard(u, n);
	} else {
		n->older = u->newest;
		n->newer = NULL;
		*(n->older == NULL ? &u->oldest : &n->older->newer) = n;
		u->newest = n;
		u->idle += n->size;
		u->busy -= n->size;
		trim_units(u);
	}
	pthread_cond_broadcast(&u->room);
}

/* Room */

/* Returns the number of bytes by which u->busy would grow. */
static uint64_t
demand(struct units *u, const struct unit_id *ids, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		const struct unit *n = find_unit(u, ids[i]);
		const struct layer_unit *all;
		size_t number;

		if (n == NULL) {
			all = layer_units(ids[i].source->layer, &number);
			bytes += all[ids[i].unit].content +
			    all[ids[i].unit].stored;
		} else if (n->users == 0) {
			bytes += n->size;
		}
	}
	return bytes;
}

static bool
fits(const struct units *u, uint64_t bytes, uint64_t limit)
{
	return u->busy == 0 || (bytes <= limit && u->busy <= limit - bytes);
}

/* Waits until there is space for the units. */
static void
wait_for_room(struct units *u, const struct unit_id *ids, size_t count,
    bool is_read)
{
	uint64_t number;

	if (!is_read) {
		while (u->asked != u->admitted ||
		    !fits(u, demand(u, ids, count), u->limit / 2))
			pthread_cond_wait(&u->room, &u->lock);
		return;
	}
	/* no additional space for units that are in use or being fetched */
	if (demand(u, ids, count) == 0)
		return;
	number = u->asked++;
	while (number != u->admitted ||
	    !fits(u, demand(u, ids, count), u->limit))
		pthread_cond_wait(&u->room, &u->lock);
	u->admitted++;
	pthread_cond_broadcast(&u->room);
}

/* Getting */

int
units_get(struct units *u, const struct unit_id *ids, size_t count,
    enum http_phase phase, struct unit *got[])
{
	struct unit *mine[UNITS_MAX];
	size_t held, mine_count = 0;
	bool is_mine;
	int rc = 0;

	pthread_mutex_lock(&u->lock);
	wait_for_room(u, ids, count, phase == HTTP_READ);
	for (held = 0; held < count; held++) {
		got[held] = hold_unit(u, ids[held], &is_mine);
		if (got[held] == NULL) {
			rc = -ENOMEM;
			break;
		}
		if (is_mine)
			mine[mine_count++] = got[held];
	}
	if (rc == 0)
		trim_units(u);
	pthread_mutex_unlock(&u->lock);
	/* those that were neither present nor being fetched */
	if (mine_count > 0)
		units_fetcher_fetch(u->fetcher, mine, mine_count, phase);
	pthread_mutex_lock(&u->lock);
	for (size_t i = 0; i < mine_count; i++) {
		mine[i]->state = mine[i]->rc == 0 ? UNIT_READY : UNIT_FAILED;
		u->busy -= mine[i]->stored;
	}
	pthread_cond_broadcast(&u->changed);
	pthread_cond_broadcast(&u->room);
	for (size_t i = 0; i < held; i++) {
		while (got[i]->state == UNIT_FETCHING)
			pthread_cond_wait(&u->changed, &u->lock);
		if (got[i]->state == UNIT_FAILED && rc == 0)
			rc = got[i]->rc;
	}
	for (size_t i = 0; rc != 0 && i < held; i++)
		release_unit(u, got[i]);
	pthread_mutex_unlock(&u->lock);
	return rc;
}

void
units_release(struct units *u, struct unit *unit)
{
	pthread_mutex_lock(&u->lock);
	release_unit(u, unit);
	pthread_mutex_unlock(&u->lock);
}

const uint8_t *
unit_data(const struct unit *unit)
{
	return unit->content.data;
}

uint64_t
unit_serial(const struct unit *unit)
{
	return unit->serial;
}

bool
units_copy(struct units *u, struct unit_id id, uint64_t offset, size_t size,
    uint8_t *buf)
{
	struct unit *n;
	bool mine;

	pthread_mutex_lock(&u->lock);
	n = find_unit(u, id);
	if (n != NULL)
		n = n->state == UNIT_READY ? hold_unit(u, id, &mine) : NULL;
	pthread_mutex_unlock(&u->lock);
	if (n == NULL)
		return false;
	memcpy(buf, n->content.data + offset, size);
	units_release(u, n);
	return true;
}

bool
units_has(struct units *u, struct unit_id id)
{
	bool has;

	pthread_mutex_lock(&u->lock);
	has = find_unit(u, id) != NULL;
	pthread_mutex_unlock(&u->lock);
	return has;
}

void
units_counted(struct units *u, struct units_counts *c)
{
	units_fetcher_counted(u->fetcher, c);
}

int
units_open(struct units **out, uint64_t limit)
{
	struct units *u = sys_calloc(1, sizeof(*u));
	int rc = u == NULL ? -ENOMEM : units_fetcher_open(&u->fetcher,
	    limit / SPARE_PART);

	if (rc != 0) {
		sys_free(u);
		return rc;
	}
	u->limit = limit;
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->changed, NULL);
	pthread_cond_init(&u->room, NULL);
	*out = u;
	return 0;
}

void
units_forget(struct units *u, struct vfs_source *source)
{
	struct unit *next;

	pthread_mutex_lock(&u->lock);
	for (struct unit *n = u->oldest; n != NULL; n = next) {
		next = n->newer;
		if (n->id.source != source)
			continue;
		list_remove(u, n);
		discard(u, n);
	}
	pthread_mutex_unlock(&u->lock);
	units_fetcher_forget(source);
}

void
units_close(struct units *u)
{
	if (u == NULL)
		return;
	units_fetcher_close(u->fetcher);
	pthread_cond_destroy(&u->changed);
	pthread_cond_destroy(&u->room);
	pthread_mutex_destroy(&u->lock);
	sys_free(u);
}
