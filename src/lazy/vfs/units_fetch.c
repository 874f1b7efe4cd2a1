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
#include "units_fetch.h"

#include "base/sys.h"
#include "engine/digest/mac.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct units_decoder {
	struct layer_decoder *decoder;
	struct mac *mac;		/* NULL: no bytes are recognized */
	struct units_decoder *next;
};

struct fetcher {
	struct spares *spares;
	uint8_t key[MAC_KEY];
	bool has_key;

	pthread_mutex_t lock;		/* protects the counts, and the idle
					 * decoders and tags of sources */
	struct units_counts counts;
};

int
fetcher_open(struct fetcher **out, uint64_t spares)
{
	struct fetcher *f = sys_calloc(1, sizeof(*f));

	if (f == NULL || spares_open(&f->spares, spares) != 0) {
		sys_free(f);
		return -ENOMEM;
	}
	pthread_mutex_init(&f->lock, NULL);
	f->has_key = mac_key(f->key) == 0;
	*out = f;
	return 0;
}

void
fetcher_close(struct fetcher *f)
{
	spares_close(f->spares);
	pthread_mutex_destroy(&f->lock);
	sys_free(f);
}

void
fetcher_free(struct fetcher *f, const struct unit *n)
{
	spares_give(f->spares, &n->content);
}

static void
decoder_close(struct units_decoder *d)
{
	layer_decoder_close(d->decoder);
	mac_close(d->mac);
	sys_free(d);
}

void
fetcher_forget(struct units_source *source)
{
	struct units_decoder *next;

	for (struct units_decoder *d = source->idle; d != NULL; d = next) {
		next = d->next;
		decoder_close(d);
	}
	source->idle = NULL;
	sys_free(source->tags);
	source->tags = NULL;
}

void
fetcher_counted(struct fetcher *f, struct units_counts *c)
{
	pthread_mutex_lock(&f->lock);
	*c = f->counts;
	pthread_mutex_unlock(&f->lock);
}

/* Decoders */

static struct units_decoder *
take_decoder(struct fetcher *f, struct units_source *source)
{
	struct units_decoder *d;

	pthread_mutex_lock(&f->lock);
	d = source->idle;
	if (d != NULL)
		source->idle = d->next;
	pthread_mutex_unlock(&f->lock);
	if (d != NULL)
		return d;
	d = sys_calloc(1, sizeof(*d));
	if (d != NULL && layer_decoder_open(&d->decoder, source->layer) != 0) {
		sys_free(d);
		return NULL;
	}
	if (d != NULL && f->has_key)
		(void)mac_open(&d->mac, f->key);
	return d;
}

static void
give_decoder(struct fetcher *f, struct units_source *source,
    struct units_decoder *d)
{
	pthread_mutex_lock(&f->lock);
	d->next = source->idle;
	source->idle = d;
	pthread_mutex_unlock(&f->lock);
}

/* Fetching */

/* The ranges of one unit, and the buffers for their data. */
struct part {
	struct unit *unit;
	struct layer_range ranges[LAYER_RANGES_MAX];
	size_t count;
	struct spare stored;
};

static int
prepare(struct fetcher *f, struct part *p)
{
	const struct units_source *s = p->unit->id.source;
	uint64_t bytes = 0, at = 0;

	p->count = layer_ranges(s->layer, p->unit->id.unit, p->ranges);
	for (size_t i = 0; i < p->count; i++)
		bytes += p->ranges[i].length;
	if (spares_take(f->spares, bytes, &p->stored) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < p->count; i++) {
		p->ranges[i].buf = p->stored.data + at;
		at += p->ranges[i].length;
	}
	return 0;
}

/* Returns the tag of a unit's stored bytes, or 0 if there is none. */
static uint64_t
tag_of(struct units_decoder *d, const struct part *p)
{
	uint64_t tag;
	int rc = d->mac == NULL ? -ENOTSUP : mac_start(d->mac);

	for (size_t i = 0; rc == 0 && i < p->count; i++)
		rc = mac_add(d->mac, p->ranges[i].buf, p->ranges[i].length);
	if (rc == 0)
		rc = mac_end(d->mac, &tag);
	return rc == 0 ? tag : 0;
}

/* Keeps the tag of bytes from which a unit was decoded and verified. */
static void
keep_tag(struct units_source *s, uint32_t unit, uint64_t tag)
{
	size_t count;

	(void)layer_units(s->layer, &count);
	if (s->tags == NULL)
		s->tags = sys_calloc(count, sizeof(*s->tags));
	if (s->tags != NULL)
		s->tags[unit] = tag;
}

static bool
has_tag(struct fetcher *f, const struct units_source *s, uint32_t unit,
    uint64_t tag)
{
	bool has;

	pthread_mutex_lock(&f->lock);
	has = tag != 0 && s->tags != NULL && s->tags[unit] == tag;
	pthread_mutex_unlock(&f->lock);
	return has;
}

/* Decodes a unit, comparing digests unless the bytes are recognized. */
static int
decode_with(struct fetcher *f, struct units_decoder *d, struct part *p)
{
	struct units_source *s = p->unit->id.source;
	uint32_t unit = p->unit->id.unit;
	uint64_t tag = tag_of(d, p);
	bool known = has_tag(f, s, unit, tag);
	const char *why;
	int rc = (known ? layer_decode_again : layer_decode)(d->decoder, unit,
	    p->ranges, p->unit->content.data, &why);

	pthread_mutex_lock(&f->lock);
	f->counts.recognized += known;
	if (rc == 0 && !known)
		keep_tag(s, unit, tag);
	pthread_mutex_unlock(&f->lock);
	return rc;
}

static int
decode(struct fetcher *f, struct part *p)
{
	struct units_source *s = p->unit->id.source;
	struct units_decoder *d = take_decoder(f, s);
	int rc = d == NULL ? -ENOMEM : 0;

	if (rc == 0 && p->unit->content.data == NULL)
		rc = spares_take(f->spares, p->unit->size,
		    &p->unit->content);
	if (rc == 0)
		rc = decode_with(f, d, p);
	if (d != NULL)
		give_decoder(f, s, d);
	pthread_mutex_lock(&f->lock);
	f->counts.decoded += rc == 0;
	f->counts.wrong += rc == -EBADMSG;
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/* Fetches a single unit again, because its data was wrong. */
static int
repeat(struct fetcher *f, struct part *p, enum http_phase phase)
{
	const struct units_source *s = p->unit->id.source;
	int rc = -EBADMSG;

	for (int i = 1; i < UNITS_TRIES && rc == -EBADMSG; i++) {
		for (size_t k = 0; k < p->count; k++)
			s->forget(s->arg, &p->ranges[k]);
		rc = s->read(s->arg, p->ranges, p->count, phase);
		if (rc == 0)
			rc = decode(f, p);
	}
	/* readers of a file do not expect -EBADMSG */
	return rc == -EBADMSG ? -EIO : rc;
}

/* Reads and decodes all parts, which belong to one layer. */
static void
fetch_parts(struct fetcher *f, struct part *p, size_t count,
    enum http_phase phase)
{
	const struct units_source *s = p->unit->id.source;
	struct layer_range all[UNITS_MAX * LAYER_RANGES_MAX];
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = prepare(f, &p[i]);
		memcpy(all + n, p[i].ranges, p[i].count * sizeof(*all));
		n += p[i].count;
	}
	if (rc == 0)
		rc = s->read(s->arg, all, n, phase);
	for (size_t i = 0; i < count; i++) {
		int one = rc == 0 ? decode(f, &p[i]) : rc;

		if (one == -EBADMSG)
			one = repeat(f, &p[i], phase);
		p[i].unit->rc = one;
		spares_give(f->spares, &p[i].stored);
	}
}

void
fetcher_fetch(struct fetcher *f, struct unit *const *units, size_t count,
    enum http_phase phase)
{
	struct part parts[UNITS_MAX];
	size_t failed = 0;

	memset(parts, 0, sizeof(parts));
	for (size_t i = 0; i < count; ) {
		size_t n = 0;

		while (i < count && units[i]->id.source ==
		    units[i - n]->id.source) {
			parts[n++] = (struct part){ .unit = units[i] };
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
