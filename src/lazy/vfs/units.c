/*
 * units.c - fetching and decoding units, and keeping them in memory
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
 *
 * All units of one layer are read with one call, and the decoders of a layer
 * are reused.  A unit's digests are compared when it is decoded for the first
 * time.  Then a tag of the bytes it was decoded from is kept, under a key that
 * only this process knows; as long as the bytes have that tag, they need no
 * digest.
 */
#include "lazy/vfs/units.h"

#include "units_spares.h"

#include "base/sys.h"
#include "engine/digest/mac.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum {
	SLOTS = 4096,			/* of the hash table */
	SPARE_PART = 4			/* 1 / SPARE_PART of the limit is for
					 * unused buffers */
};

/* The state and the lists are protected by the lock of struct units. */
struct unit {
	struct unit_id id;
	enum { UNIT_FETCHING, UNIT_READY, UNIT_FAILED } state;
	unsigned users;
	struct unit *next, *older, *newer;
	uint64_t size, stored;		/* decoded size, and bytes to fetch */
	uint64_t serial;

	/* owned by the unit's fetcher while the state is UNIT_FETCHING */
	struct units_spare content;
	int rc;
};

struct units_decoder {
	struct layer_decoder *decoder;
	struct mac *mac;		/* NULL: no bytes are recognized */
	struct units_decoder *next;
};

struct units {
	uint64_t limit;
	struct units_spares *spares;
	uint8_t key[MAC_KEY];
	bool has_key;

	pthread_mutex_t fetch_lock;	/* protects the counts, and the idle
					 * decoders and tags of sources */
	struct units_counts counts;

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
	units_spares_give(u->spares, &n->content);
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

/* Fetching */

/* The ranges of one unit, and the buffers for their data. */
struct unit_part {
	struct unit *unit;
	struct layer_range ranges[LAYER_RANGES_MAX];
	size_t count;
	struct units_spare stored;
};

/* Decodes a unit, comparing digests unless the bytes are recognized. */
static int
decode_part(struct units *u, struct unit_part *p)
{
	struct vfs_source *s = p->unit->id.source;
	uint32_t unit = p->unit->id.unit;
	struct units_decoder *d;
	uint64_t tag = 0;
	const char *why;
	size_t count;
	bool known;
	int rc;

	pthread_mutex_lock(&u->fetch_lock);
	d = s->idle;
	if (d != NULL)
		s->idle = d->next;
	pthread_mutex_unlock(&u->fetch_lock);
	if (d == NULL) {
		d = sys_calloc(1, sizeof(*d));
		if (d == NULL || layer_decoder_open(&d->decoder,
		    s->layer) != 0) {
			sys_free(d);
			return -ENOMEM;
		}
		if (u->has_key)
			(void)mac_open(&d->mac, u->key);
	}
	rc = d->mac == NULL ? -ENOTSUP : mac_start(d->mac);
	for (size_t i = 0; rc == 0 && i < p->count; i++)
		rc = mac_add(d->mac, p->ranges[i].buf, p->ranges[i].length);
	if (rc == 0)
		rc = mac_end(d->mac, &tag);
	if (rc != 0)
		tag = 0;	/* there is none */
	pthread_mutex_lock(&u->fetch_lock);
	known = tag != 0 && s->tags != NULL && s->tags[unit] == tag;
	pthread_mutex_unlock(&u->fetch_lock);
	rc = p->unit->content.data != NULL ? 0 : units_spares_take(u->spares,
	    p->unit->size, &p->unit->content);
	if (rc != 0)
		known = false;
	else
		rc = (known ? layer_decode_again : layer_decode)(d->decoder,
		    unit, p->ranges, p->unit->content.data, &why);

	pthread_mutex_lock(&u->fetch_lock);
	if (rc == 0 && !known) {
		/* the unit was decoded from these bytes and verified */
		(void)layer_units(s->layer, &count);
		if (s->tags == NULL)
			s->tags = sys_calloc(count, sizeof(*s->tags));
		if (s->tags != NULL)
			s->tags[unit] = tag;
	}
	d->next = s->idle;
	s->idle = d;
	u->counts.recognized += known;
	u->counts.decoded += rc == 0;
	u->counts.wrong += rc == -EBADMSG;
	pthread_mutex_unlock(&u->fetch_lock);
	return rc;
}

/*
 * Reads and decodes all parts, which belong to one layer; a unit whose data was
 * wrong is fetched again.
 */
static void
fetch_parts(struct units *u, struct unit_part *parts, size_t count,
    enum http_phase phase)
{
	struct vfs_source *s = parts->unit->id.source;
	struct layer_range all[UNITS_MAX * LAYER_RANGES_MAX];
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct unit_part *p = &parts[i];
		uint64_t bytes = 0, at = 0;

		p->count = layer_ranges(s->layer, p->unit->id.unit, p->ranges);
		for (size_t k = 0; k < p->count; k++)
			bytes += p->ranges[k].length;
		rc = units_spares_take(u->spares, bytes, &p->stored);
		for (size_t k = 0; rc == 0 && k < p->count; k++) {
			p->ranges[k].buf = p->stored.data + at;
			at += p->ranges[k].length;
			all[n++] = p->ranges[k];
		}
	}
	if (rc == 0)
		rc = vfs_source_read(s, all, n, phase);
	for (size_t i = 0; i < count; i++) {
		struct unit_part *p = &parts[i];
		int one = rc == 0 ? decode_part(u, p) : rc;

		for (int t = 1; t < UNITS_TRIES && one == -EBADMSG; t++) {
			for (size_t k = 0; k < p->count; k++)
				vfs_source_forget(s, &p->ranges[k]);
			one = vfs_source_read(s, p->ranges, p->count, phase);
			if (one == 0)
				one = decode_part(u, p);
		}
		/* readers of a file do not expect -EBADMSG */
		p->unit->rc = one == -EBADMSG ? -EIO : one;
		units_spares_give(u->spares, &p->stored);
	}
}

/*
 * Fetches and decodes count units, at most UNITS_MAX, and sets content, or rc.
 * Called by several threads for different units.
 */
static void
fetch_units(struct units *u, struct unit *const *units,
    size_t count, enum http_phase phase)
{
	struct unit_part parts[UNITS_MAX];
	size_t failed = 0;

	memset(parts, 0, sizeof(parts));
	for (size_t i = 0; i < count; ) {
		size_t n = 0;

		while (i < count && units[i]->id.source ==
		    units[i - n]->id.source) {
			parts[n++] = (struct unit_part){ .unit = units[i] };
			i++;
		}
		fetch_parts(u, parts, n, phase);
	}
	for (size_t i = 0; i < count; i++)
		failed += units[i]->rc != 0;
	pthread_mutex_lock(&u->fetch_lock);
	u->counts.failed += failed;
	pthread_mutex_unlock(&u->fetch_lock);
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
		fetch_units(u, mine, mine_count, phase);
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
	pthread_mutex_lock(&u->fetch_lock);
	*c = u->counts;
	pthread_mutex_unlock(&u->fetch_lock);
}

int
units_open(struct units **out, uint64_t limit)
{
	struct units *u = sys_calloc(1, sizeof(*u));

	if (u == NULL || units_spares_open(&u->spares, limit / SPARE_PART) !=
	    0) {
		sys_free(u);
		return -ENOMEM;
	}
	u->limit = limit;
	u->has_key = mac_key(u->key) == 0;
	pthread_mutex_init(&u->fetch_lock, NULL);
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->changed, NULL);
	pthread_cond_init(&u->room, NULL);
	*out = u;
	return 0;
}

void
units_forget(struct units *u, struct vfs_source *source)
{
	struct units_decoder *other;
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
	for (struct units_decoder *d = source->idle; d != NULL; d = other) {
		other = d->next;
		layer_decoder_close(d->decoder);
		mac_close(d->mac);
		sys_free(d);
	}
	source->idle = NULL;
	sys_free(source->tags);
	source->tags = NULL;
}

void
units_close(struct units *u)
{
	if (u == NULL)
		return;
	units_spares_close(u->spares);
	pthread_mutex_destroy(&u->fetch_lock);
	pthread_cond_destroy(&u->changed);
	pthread_cond_destroy(&u->room);
	pthread_mutex_destroy(&u->lock);
	sys_free(u);
}
