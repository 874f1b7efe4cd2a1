/*
 * units.c - decoded units in memory: fetched once, verified, and bounded
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A unit is in the hash table as soon as a thread wants it.  While it is
 * fetched, its users hold references, so it stays; a failed one leaves the
 * table when its last user has noticed.  Unused units are in a list, the least
 * recently used first, and are freed when they take too many bytes.
 */
#include "lazy/units.h"

#include "units_fetch.h"

#include "base/sys.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { SLOTS = 4096 };			/* of the hash table */

struct units {
	struct fetcher *fetcher;
	uint64_t limit;

	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t changed;
	struct unit *table[SLOTS];
	struct unit *oldest, *newest;
	uint64_t idle;			/* bytes of units without users */
};

/* The list of units without users */

static void
list_add(struct units *u, struct unit *n)
{
	n->older = u->newest;
	n->newer = NULL;
	*(u->newest == NULL ? &u->oldest : &u->newest->newer) = n;
	u->newest = n;
	u->idle += n->size;
}

static void
list_remove(struct units *u, struct unit *n)
{
	*(n->older == NULL ? &u->oldest : &n->older->newer) = n->newer;
	*(n->newer == NULL ? &u->newest : &n->newer->older) = n->older;
	u->idle -= n->size;
}

/* The table */

static struct unit **
slot_of(struct units *u, struct unit_id id)
{
	uint64_t h = ((uintptr_t)id.source / sizeof(*id.source) + id.unit) *
	    UINT64_C(0x9e3779b97f4a7c15);

	return &u->table[h >> 52];
}

static struct unit *
find(struct units *u, struct unit_id id)
{
	struct unit *n = *slot_of(u, id);

	while (n != NULL && (n->id.unit != id.unit ||
	    n->id.source != id.source))
		n = n->next;
	return n;
}

static void
discard(struct units *u, struct unit *n)
{
	struct unit **at = slot_of(u, n->id);

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	sys_free(n->data);
	sys_free(n);
}

/*
 * Returns a reference to the unit, which is new if *mine; NULL if out of
 * memory.
 */
static struct unit *
hold(struct units *u, struct unit_id id, bool *mine)
{
	struct unit *n = find(u, id);

	*mine = n == NULL;
	if (n == NULL) {
		n = sys_calloc(1, sizeof(*n));
		if (n == NULL)
			return NULL;
		n->id = id;
		n->next = *slot_of(u, id);
		*slot_of(u, id) = n;
	} else if (n->users == 0) {
		list_remove(u, n);
	}
	n->users++;
	return n;
}

static void
release(struct units *u, struct unit *n)
{
	if (--n->users > 0)
		return;
	if (n->state == UNIT_FAILED) {
		discard(u, n);
		return;
	}
	list_add(u, n);
	while (u->idle > u->limit) {
		struct unit *old = u->oldest;

		list_remove(u, old);
		discard(u, old);
	}
}

/* Getting */

static int
wait_for(struct units *u, struct unit *n)
{
	while (n->state == UNIT_FETCHING)
		pthread_cond_wait(&u->changed, &u->lock);
	return n->state == UNIT_READY ? 0 : n->rc;
}

/* Finds the units that are neither present nor being fetched. */
static int
claim(struct units *u, const struct unit_id *ids, size_t count,
    struct unit *got[], struct unit *mine[], size_t *mine_count)
{
	bool is_mine;

	*mine_count = 0;
	for (size_t i = 0; i < count; i++) {
		got[i] = hold(u, ids[i], &is_mine);
		if (got[i] == NULL) {
			memset(got + i, 0, (count - i) * sizeof(*got));
			return -ENOMEM;
		}
		if (is_mine)
			mine[(*mine_count)++] = got[i];
	}
	return 0;
}

static void
settle(struct units *u, struct unit *mine[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		mine[i]->state = mine[i]->rc == 0 ? UNIT_READY : UNIT_FAILED;
	pthread_cond_broadcast(&u->changed);
}

int
units_get(struct units *u, const struct unit_id *ids, size_t count,
    enum http_phase phase, struct unit *got[])
{
	struct unit *mine[UNITS_MAX];
	size_t n;
	int rc, failed;

	pthread_mutex_lock(&u->lock);
	failed = claim(u, ids, count, got, mine, &n);
	pthread_mutex_unlock(&u->lock);
	if (n > 0)
		fetcher_fetch(u->fetcher, mine, n, phase);
	pthread_mutex_lock(&u->lock);
	settle(u, mine, n);
	rc = failed;
	for (size_t i = 0; i < count && got[i] != NULL; i++) {
		failed = wait_for(u, got[i]);
		rc = rc == 0 ? failed : rc;
	}
	for (size_t i = 0; rc != 0 && i < count && got[i] != NULL; i++)
		release(u, got[i]);
	pthread_mutex_unlock(&u->lock);
	return rc;
}

void
units_release(struct units *u, struct unit *unit)
{
	pthread_mutex_lock(&u->lock);
	release(u, unit);
	pthread_mutex_unlock(&u->lock);
}

const uint8_t *
unit_data(const struct unit *unit)
{
	return unit->data;
}

bool
units_has(struct units *u, struct unit_id id)
{
	bool has;

	pthread_mutex_lock(&u->lock);
	has = find(u, id) != NULL;
	pthread_mutex_unlock(&u->lock);
	return has;
}

void
units_counted(struct units *u, struct units_counts *c)
{
	fetcher_counted(u->fetcher, c);
}

int
units_open(struct units **out, uint64_t limit)
{
	struct units *u = sys_calloc(1, sizeof(*u));
	int rc = u == NULL ? -ENOMEM : fetcher_open(&u->fetcher);

	if (rc != 0) {
		sys_free(u);
		return rc;
	}
	u->limit = limit;
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->changed, NULL);
	*out = u;
	return 0;
}

void
units_forget(struct units *u, struct units_source *source)
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
	fetcher_forget(source);
}

void
units_close(struct units *u)
{
	if (u == NULL)
		return;
	fetcher_close(u->fetcher);
	pthread_cond_destroy(&u->changed);
	pthread_mutex_destroy(&u->lock);
	sys_free(u);
}
