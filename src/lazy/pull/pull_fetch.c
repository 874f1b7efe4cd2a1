/*
 * pull_fetch.c - fetching blobs in order, over several connections
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first span of the first large blob is short, because no other span is
 * requested before its reply shows whether the server knows ranges.
 */
#include "pull_fetch.h"

#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PROBE = 256 << 10 };

/* Memory for a span. */
struct held {
	enum { HELD_FREE, HELD_FETCHING, HELD_FULL } state;
	size_t blob;
	uint64_t offset;
	size_t length;
	int rc;				/* of fetching it */
	uint8_t *data;			/* PULL_SPAN bytes, or NULL */
};

/* A blob that is fetched or read. */
struct fetched {
	struct http_object *object;	/* or NULL */
	uint64_t used;			/* offset of the next byte to be read */
	struct held *reading;		/* the span passed to the caller, or
					 * NULL */
	char why[LAYER_WHY];
};

struct pull_fetch {
	struct pull_fetch_options o;
	pthread_mutex_t lock;		/* protects everything below */
	pthread_cond_t changed;
	bool stop;			/* fetch nothing more */
	bool has_ranges, no_ranges;	/* whether the server knows them, once
					 * that is clear */
	bool probing;			/* it is being tried */
	bool whole;			/* one thread fetches a whole blob */
	unsigned fetching;		/* number of spans being fetched */
	size_t blob;			/* the next span to be fetched: its */
	uint64_t offset;		/* blob, and the offset there */
	struct fetched *blobs;
	struct held *held;
	size_t held_count;
	pthread_t *threads;
	unsigned running;
	/* of the thread that fetches a whole blob */
	struct held *filling;
};

/* Returns memory for a span, or NULL if all is in use. */
static struct held *
find_free(struct pull_fetch *f)
{
	for (size_t i = 0; i < f->held_count; i++)
		if (f->held[i].state == HELD_FREE)
			return &f->held[i];
	return NULL;
}

/* Gives the next span, of at most `most` bytes, its memory. */
static int
take_span(struct pull_fetch *f, struct held *s, size_t most)
{
	uint64_t left = f->o.blobs[f->blob].size - f->offset;

	if (s->data == NULL)
		s->data = sys_malloc(PULL_SPAN);
	if (s->data == NULL)
		return -ENOMEM;
	s->state = HELD_FETCHING;
	s->blob = f->blob;
	s->offset = f->offset;
	s->length = left < most ? (size_t)left : most;
	s->rc = 0;
	f->offset += s->length;
	return 0;
}

static void
fill_span(struct pull_fetch *f, struct held *s, int rc)
{
	s->state = HELD_FULL;
	s->rc = rc;
	if (rc != 0)
		f->stop = true;
	pthread_cond_broadcast(&f->changed);
}

static int
open_object(struct pull_fetch *f, struct fetched *b, const char *hex)
{
	char url[8192];

	if (b->object != NULL)
		return 0;
	if ((size_t)snprintf(url, sizeof(url), "%s%s", f->o.base, hex) >=
	    sizeof(url))
		return -ENAMETOOLONG;
	return http_object_open(&b->object, f->o.http, url);
}

/* Fetching spans by their ranges */

/*
 * Fetches the next span into s.  The lock is held, but not while it is fetched.
 */
static void
fetch_span(struct pull_fetch *f, struct held *s)
{
	struct fetched *b = &f->blobs[f->blob];
	const struct oci_blob *of = &f->o.blobs[f->blob];
	bool probe = !f->has_ranges && !f->no_ranges && of->size > PROBE;
	struct layer_range r;
	uint64_t size = 0;
	int rc = open_object(f, b, of->hex);

	if (rc == 0)
		rc = take_span(f, s, probe ? PROBE : PULL_SPAN);
	if (rc != 0) {
		s->blob = f->blob;
		s->offset = f->offset;
		fill_span(f, s, rc);
		return;
	}
	f->probing = probe;
	f->fetching++;
	pthread_mutex_unlock(&f->lock);
	r = (struct layer_range){ .offset = s->offset, .length = s->length,
		.buf = s->data };
	rc = http_read(b->object, &r, 1, HTTP_READ);
	if (rc == 0)
		rc = http_size(b->object, &size);
	if (rc == 0)
		f->o.arrived(f->o.arg, s->length);
	pthread_mutex_lock(&f->lock);
	if (rc != 0)
		http_object_why(b->object, b->why);
	if (rc == 0 && size != of->size) {
		rc = -EBADMSG;
		snprintf(b->why, sizeof(b->why), "it has %" PRIu64 " bytes, but "
		    "the manifest says %" PRIu64, size, of->size);
	}
	f->fetching--;
	if (probe)
		f->probing = false;
	if (probe && rc == 0) {
		f->no_ranges = http_ignores_ranges(b->object);
		f->has_ranges = !f->no_ranges;
	}
	fill_span(f, s, rc);
}

/* Fetching a whole blob */

/* Passed the blob's bytes, in the HTTP client's thread. */
static int
take_bytes(void *arg, uint64_t offset, const void *data, size_t len)
{
	struct pull_fetch *f = arg;
	const uint8_t *p = data;
	size_t n;
	int rc = 0;

	pthread_mutex_lock(&f->lock);
	while (len > 0 && rc == 0) {
		struct held *s = f->filling;
		uint64_t at = f->offset;

		if (offset < at) {	/* were passed before */
			n = at - offset < len ? (size_t)(at - offset) : len;
		} else if (at == f->o.blobs[f->blob].size) {
			rc = -EFBIG;
			break;
		} else {
			while (s == NULL && !f->stop) {
				s = find_free(f);
				if (s == NULL)
					pthread_cond_wait(&f->changed,
					    &f->lock);
			}
			if (f->stop) {
				rc = -ECANCELED;
				break;
			}
			if (f->filling == NULL) {
				rc = take_span(f, s, PULL_SPAN);
				if (rc != 0)
					break;
				f->offset = s->offset;
				f->filling = s;
			}
			n = s->length - (size_t)(at - s->offset);
			n = n < len ? n : len;
			memcpy(s->data + (at - s->offset), p, n);
			f->offset += n;
			if (f->offset == s->offset + s->length) {
				f->filling = NULL;
				f->o.arrived(f->o.arg, s->length);
				fill_span(f, s, 0);
			}
		}
		offset += n;
		p += n;
		len -= n;
	}
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/*
 * Fetches the rest of the blob, when nothing else is being fetched: take_bytes()
 * keeps the HTTP client waiting.
 */
static void
fetch_whole(struct pull_fetch *f)
{
	size_t n = f->blob;
	struct fetched *b = &f->blobs[n];
	int rc = open_object(f, b, f->o.blobs[n].hex);

	f->whole = true;
	if (rc == 0) {
		pthread_mutex_unlock(&f->lock);
		rc = http_read_all(b->object, take_bytes, f, HTTP_READ);
		pthread_mutex_lock(&f->lock);
		http_object_why(b->object, b->why);
	}
	if (rc == -EFBIG)
		snprintf(b->why, sizeof(b->why), "it is longer than its "
		    "manifest says");
	if (rc == 0 && f->offset < f->o.blobs[n].size) {
		rc = -ENODATA;
		snprintf(b->why, sizeof(b->why), "it is shorter than its "
		    "manifest says");
	}
	f->whole = false;
	if (rc != 0) {
		struct held *s = f->filling;

		/* a span for the error */
		while (s == NULL && !f->stop) {
			s = find_free(f);
			if (s == NULL)
				pthread_cond_wait(&f->changed, &f->lock);
		}
		if (s != NULL) {
			s->blob = n;
			if (s != f->filling)
				s->offset = f->offset;
			fill_span(f, s, rc);
		}
		f->filling = NULL;
		f->stop = true;
	}
	pthread_cond_broadcast(&f->changed);
}

/* The threads */

/* Returns whether the next span is had only together with all others. */
static bool
needs_whole(const struct pull_fetch *f)
{
	struct http_object *o = f->blobs[f->blob].object;

	return o != NULL ? http_ignores_ranges(o) && f->offset > 0 :
	    f->no_ranges && f->o.blobs[f->blob].size > PROBE;
}

static void *
fetch_spans(void *arg)
{
	struct pull_fetch *f = arg;
	struct held *s;
	bool whole;

	pthread_mutex_lock(&f->lock);
	for (;;) {
		while (f->blob < f->o.count && !f->whole &&
		    f->offset == f->o.blobs[f->blob].size) {
			f->blob++;
			f->offset = 0;
			pthread_cond_broadcast(&f->changed);
		}
		if (f->stop || f->blob == f->o.count)
			break;
		whole = needs_whole(f);
		s = f->whole || f->probing || whole ? NULL : find_free(f);
		if (s != NULL)
			fetch_span(f, s);
		else if (whole && !f->whole && f->fetching == 0)
			fetch_whole(f);
		else
			pthread_cond_wait(&f->changed, &f->lock);
	}
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

int
pull_fetch_open(struct pull_fetch **out, const struct pull_fetch_options *o)
{
	struct pull_fetch *f = sys_calloc(1, sizeof(*f));
	int rc = 0;

	if (f == NULL)
		return -ENOMEM;
	f->o = *o;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	f->held_count = 2 * (size_t)o->connections;
	f->blobs = sys_calloc(o->count + 1, sizeof(*f->blobs));
	f->held = sys_calloc(f->held_count, sizeof(*f->held));
	f->threads = sys_calloc(o->connections, sizeof(*f->threads));
	if (f->blobs == NULL || f->held == NULL || f->threads == NULL)
		rc = -ENOMEM;
	while (rc == 0 && f->running < o->connections) {
		rc = sys_thread(&f->threads[f->running], fetch_spans, f);
		f->running += rc == 0;
	}
	if (rc == 0)
		*out = f;
	else
		pull_fetch_close(f);
	return rc;
}

void
pull_fetch_stop(struct pull_fetch *f)
{
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

void
pull_fetch_close(struct pull_fetch *f)
{
	if (f == NULL)
		return;
	pull_fetch_stop(f);
	for (unsigned i = 0; i < f->running; i++)
		pthread_join(f->threads[i], NULL);
	for (size_t i = 0; f->blobs != NULL && i < f->o.count; i++)
		http_object_close(f->blobs[i].object);
	for (size_t i = 0; f->held != NULL && i < f->held_count; i++)
		sys_free(f->held[i].data);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	sys_free(f->blobs);
	sys_free(f->held);
	sys_free(f->threads);
	sys_free(f);
}

/* Returns the span of a blob at an offset, or NULL. */
static struct held *
find_span(struct pull_fetch *f, size_t blob, uint64_t offset)
{
	for (size_t i = 0; i < f->held_count; i++)
		if (f->held[i].state != HELD_FREE &&
		    f->held[i].blob == blob && f->held[i].offset == offset)
			return &f->held[i];
	return NULL;
}

ssize_t
pull_fetch_next(struct pull_fetch *f, size_t blob, const uint8_t **data)
{
	struct fetched *b = &f->blobs[blob];
	struct held *s = NULL;
	ssize_t n;

	pthread_mutex_lock(&f->lock);
	if (b->reading != NULL) {
		b->reading->state = HELD_FREE;
		b->reading = NULL;
		pthread_cond_broadcast(&f->changed);
	}
	while (b->used < f->o.blobs[blob].size) {
		s = find_span(f, blob, b->used);
		if (s != NULL && s->state == HELD_FULL)
			break;
		if (s == NULL && f->stop)
			break;
		/* what is being fetched ends, or is cut off */
		pthread_cond_wait(&f->changed, &f->lock);
	}
	if (b->used == f->o.blobs[blob].size) {
		n = 0;
	} else if (s == NULL) {
		n = -ECANCELED;
	} else if (s->rc != 0) {
		n = s->rc;
	} else {
		*data = s->data;
		n = (ssize_t)s->length;
		b->used += s->length;
		b->reading = s;
	}
	pthread_mutex_unlock(&f->lock);
	return n;
}

void
pull_fetch_why(struct pull_fetch *f, size_t blob, char why[LAYER_WHY])
{
	pthread_mutex_lock(&f->lock);
	strcpy(why, f->blobs[blob].why);
	pthread_mutex_unlock(&f->lock);
}
