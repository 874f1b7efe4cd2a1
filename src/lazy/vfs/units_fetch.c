/*
 * units_fetch.c - fetching and decoding units
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All units of one layer are read with one call, and the decoders of a layer
 * are reused.
 *
 * A unit's digests are compared when it is decoded for the first time.  Then a
 * tag of the bytes it was decoded from is kept, under a key that only this
 * process knows; as long as the bytes have that tag, they need no digest.
 */
#include "units_private.h"

#include "base/sys.h"
#include "engine/digest/mac.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* Buffers */

enum { COUNT = 16, SMALL = 128 << 10, ROUND = 256 << 10 };

struct units_spares {
	uint64_t limit;

	pthread_mutex_t lock;		/* of what follows */
	struct units_spare all[COUNT];
	size_t count;
	uint64_t bytes;
};

int
units_spares_open(struct units_spares **out, uint64_t limit)
{
	struct units_spares *s = sys_calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	s->limit = limit;
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

void
units_spares_close(struct units_spares *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->count; i++)
		sys_free(s->all[i].data);
	pthread_mutex_destroy(&s->lock);
	sys_free(s);
}

/* Removes a kept buffer.  Called with the lock held. */
static void
remove_at(struct units_spares *s, size_t i)
{
	s->bytes -= s->all[i].room;
	s->all[i] = s->all[--s->count];
}

int
units_spares_take(struct units_spares *s, size_t size, struct units_spare *b)
{
	*b = (struct units_spare){ .room = size + 1 };
	if (size >= SMALL) {
		/* a kept buffer that is large enough, but not much larger */
		pthread_mutex_lock(&s->lock);
		for (size_t i = s->count; b->data == NULL && i-- > 0; )
			if (s->all[i].room >= size &&
			    s->all[i].room <= size + size / 2 + ROUND) {
				*b = s->all[i];
				remove_at(s, i);
			}
		pthread_mutex_unlock(&s->lock);
		if (b->data != NULL)
			return 0;
		b->room = (size + ROUND - 1) / ROUND * ROUND;
	}
	b->data = sys_malloc(b->room);
	if (b->data == NULL)
		b->room = 0;
	return b->data == NULL ? -ENOMEM : 0;
}

void
units_spares_give(struct units_spares *s, const struct units_spare *b)
{
	struct units_spare unwanted = *b;

	pthread_mutex_lock(&s->lock);
	if (b->room > SMALL && b->room <= s->limit) {
		unwanted.data = NULL;
		/* the others have been unused for longer */
		while (s->count == COUNT || s->bytes + b->room > s->limit) {
			sys_free(s->all[0].data);
			remove_at(s, 0);
		}
		s->all[s->count++] = *b;
		s->bytes += b->room;
	}
	pthread_mutex_unlock(&s->lock);
	sys_free(unwanted.data);
}

/* The fetcher */

struct units_decoder {
	struct layer_decoder *decoder;
	struct mac *mac;		/* NULL: no bytes are recognized */
	struct units_decoder *next;
};

struct units_fetcher {
	struct units_spares *spares;
	uint8_t key[MAC_KEY];
	bool has_key;

	pthread_mutex_t lock;		/* protects the counts, and the idle
					 * decoders and tags of sources */
	struct units_counts counts;
};

int
units_fetcher_open(struct units_fetcher **out, uint64_t spares)
{
	struct units_fetcher *f = sys_calloc(1, sizeof(*f));

	if (f == NULL || units_spares_open(&f->spares, spares) != 0) {
		sys_free(f);
		return -ENOMEM;
	}
	pthread_mutex_init(&f->lock, NULL);
	f->has_key = mac_key(f->key) == 0;
	*out = f;
	return 0;
}

void
units_fetcher_close(struct units_fetcher *f)
{
	units_spares_close(f->spares);
	pthread_mutex_destroy(&f->lock);
	sys_free(f);
}

void
units_fetcher_free(struct units_fetcher *f, const struct unit *n)
{
	units_spares_give(f->spares, &n->content);
}

void
units_fetcher_forget(struct vfs_source *source)
{
	struct units_decoder *next;

	for (struct units_decoder *d = source->idle; d != NULL; d = next) {
		next = d->next;
		layer_decoder_close(d->decoder);
		mac_close(d->mac);
		sys_free(d);
	}
	source->idle = NULL;
	sys_free(source->tags);
	source->tags = NULL;
}

void
units_fetcher_counted(struct units_fetcher *f, struct units_counts *c)
{
	pthread_mutex_lock(&f->lock);
	*c = f->counts;
	pthread_mutex_unlock(&f->lock);
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
decode_with(struct units_fetcher *f, struct units_decoder *d,
    struct unit_part *p)
{
	struct vfs_source *s = p->unit->id.source;
	uint32_t unit = p->unit->id.unit;
	uint64_t tag = 0;
	const char *why;
	size_t count;
	bool known;
	int rc = d->mac == NULL ? -ENOTSUP : mac_start(d->mac);

	for (size_t i = 0; rc == 0 && i < p->count; i++)
		rc = mac_add(d->mac, p->ranges[i].buf, p->ranges[i].length);
	if (rc == 0)
		rc = mac_end(d->mac, &tag);
	if (rc != 0)
		tag = 0;	/* there is none */
	pthread_mutex_lock(&f->lock);
	known = tag != 0 && s->tags != NULL && s->tags[unit] == tag;
	pthread_mutex_unlock(&f->lock);
	rc = (known ? layer_decode_again : layer_decode)(d->decoder, unit,
	    p->ranges, p->unit->content.data, &why);

	pthread_mutex_lock(&f->lock);
	f->counts.recognized += known;
	if (rc == 0 && !known) {
		/* the unit was decoded from these bytes and verified */
		(void)layer_units(s->layer, &count);
		if (s->tags == NULL)
			s->tags = sys_calloc(count, sizeof(*s->tags));
		if (s->tags != NULL)
			s->tags[unit] = tag;
	}
	pthread_mutex_unlock(&f->lock);
	return rc;
}

static int
decode_part(struct units_fetcher *f, struct unit_part *p)
{
	struct vfs_source *s = p->unit->id.source;
	struct units_decoder *d;
	int rc = 0;

	pthread_mutex_lock(&f->lock);
	d = s->idle;
	if (d != NULL)
		s->idle = d->next;
	pthread_mutex_unlock(&f->lock);
	if (d == NULL) {
		d = sys_calloc(1, sizeof(*d));
		if (d == NULL || layer_decoder_open(&d->decoder,
		    s->layer) != 0) {
			sys_free(d);
			return -ENOMEM;
		}
		if (f->has_key)
			(void)mac_open(&d->mac, f->key);
	}
	if (p->unit->content.data == NULL)
		rc = units_spares_take(f->spares, p->unit->size,
		    &p->unit->content);
	if (rc == 0)
		rc = decode_with(f, d, p);
	pthread_mutex_lock(&f->lock);
	d->next = s->idle;
	s->idle = d;
	f->counts.decoded += rc == 0;
	f->counts.wrong += rc == -EBADMSG;
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/*
 * Reads and decodes all parts, which belong to one layer; a unit whose data was
 * wrong is fetched again.
 */
static void
fetch_parts(struct units_fetcher *f, struct unit_part *parts, size_t count,
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
		rc = units_spares_take(f->spares, bytes, &p->stored);
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
		int one = rc == 0 ? decode_part(f, p) : rc;

		for (int t = 1; t < UNITS_TRIES && one == -EBADMSG; t++) {
			for (size_t k = 0; k < p->count; k++)
				vfs_source_forget(s, &p->ranges[k]);
			one = vfs_source_read(s, p->ranges, p->count, phase);
			if (one == 0)
				one = decode_part(f, p);
		}
		/* readers of a file do not expect -EBADMSG */
		p->unit->rc = one == -EBADMSG ? -EIO : one;
		units_spares_give(f->spares, &p->stored);
	}
}

void
units_fetcher_fetch(struct units_fetcher *f, struct unit *const *units,
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
		fetch_parts(f, parts, n, phase);
	}
	for (size_t i = 0; i < count; i++)
		failed += units[i]->rc != 0;
	pthread_mutex_lock(&f->lock);
	f->counts.failed += failed;
	pthread_mutex_unlock(&f->lock);
}
