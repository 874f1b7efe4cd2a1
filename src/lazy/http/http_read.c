/*
 * http_read.c - reading ranges of an object, with as many requests as necessary
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_private.h"

#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	/* another range costs about 100 bytes of header and boundary */
	GAP_MANY = 256,
	/* another request costs more, plus a round trip */
	GAP_ONE = 16 << 10,
	SPAN_MAX = 4 << 20,
	AT_ONCE = 16,			/* concurrent requests of a read */
	PROGRESS = 64 << 10		/* bytes that count as progress */
};

struct reading {
	struct http_object *o;
	enum http_phase phase;
	struct http_spans spans;
	struct http_patience patience;
	struct http_request *requests;
	char why[LAYER_WHY];
};

/* Prepares the next requests. Returns the number of requests, or -errno. */
static int
open_requests(struct reading *r)
{
	int n = 0, rc = 0;

	for (size_t i = 0; rc == 0 && i < r->spans.count && n < AT_ONCE; ) {
		if (r->spans.spans[i].got == r->spans.spans[i].length) {
			i++;
			continue;
		}
		rc = http_request_open(&r->requests[n], r->o, &r->spans, i);
		if (rc == 0 && r->patience.lost)
			http_transfer_renew(&r->requests[n].t);
		i += r->requests[n++].count;
	}
	r->patience.lost = false;
	if (rc == 0)
		return n;
	while (n-- > 0)
		http_request_close(&r->requests[n]);
	snprintf(r->why, sizeof(r->why), "%s", strerror(-rc));
	return rc;
}

/* Requests the missing bytes once.  Returns 0 or the final -errno. */
static int
round_of(struct reading *r)
{
	struct http_transfer *all[AT_ONCE];
	int n = open_requests(r), rc = 0;
	bool paused = false, answered = r->patience.answered;
	uint64_t taken = 0;

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		all[i] = &r->requests[i].t;
	http_run(r->o->h, all, (size_t)n);
	for (int i = 0; i < n; i++) {
		http_transfer_count(r->o->h, all[i], r->phase);
		taken += r->requests[i].taken;
	}
	if (taken >= PROGRESS) {
		http_patience_renew(&r->patience);
		answered = false;
	}
	for (int i = 0; i < n && rc == 0; i++) {
		const struct http_request *q = &r->requests[i];

		rc = http_request_judge(&r->requests[i], r->why);
		/*
		 * one pause after failures, and one answer to a challenge, are
		 * for all requests of the round
		 */
		if (rc == -EREMCHG || (rc == -EAGAIN && paused) ||
		    (q->t.reply.status == 401 && r->patience.answered &&
		    !answered))
			rc = 0;
		if (rc == 0)
			continue;
		rc = http_again(r->o->h, &q->t, q->url, rc, &r->patience,
		    r->phase, r->why);
		paused = true;
	}
	for (int i = 0; i < n; i++)
		http_request_close(&r->requests[i]);
	return rc;
}

static uint64_t
gap_of(struct http_object *o)
{
	bool many;

	pthread_mutex_lock(&o->h->lock);
	many = o->host->ranges == HTTP_MANY;
	pthread_mutex_unlock(&o->h->lock);
	return many ? GAP_MANY : GAP_ONE;
}

/*
 * Returns whether a range extends past the end of the object, if its size is
 * known.
 */
static bool
is_beyond(struct http_object *o, const struct http_spans *s)
{
	const struct http_span *last = &s->spans[s->count - 1];
	bool beyond;

	pthread_mutex_lock(&o->h->lock);
	beyond = o->has_size && last->offset + last->length > o->size;
	pthread_mutex_unlock(&o->h->lock);
	return beyond;
}

static void
end_reading(struct reading *r, int rc)
{
	pthread_mutex_lock(&r->o->h->lock);
	if (rc == 0)
		r->o->h->counts[r->phase].useful += r->spans.wanted;
	else
		snprintf(r->o->why, sizeof(r->o->why), "%s", r->why);
	pthread_mutex_unlock(&r->o->h->lock);
}

int
http_read(struct http_object *o, const struct layer_range *ranges,
    size_t count, enum http_phase phase)
{
	struct reading r = { .o = o, .phase = phase };
	int rc = http_spans_plan(&r.spans, ranges, count, gap_of(o), SPAN_MAX);

	if (rc != 0 || r.spans.count == 0)
		goto out;
	if (is_beyond(o, &r.spans)) {
		snprintf(r.why, sizeof(r.why), "a range extends past the end "
		    "of the object");
		rc = -ENODATA;
		goto out;
	}
	rc = -ENOMEM;
	r.requests = sys_calloc(AT_ONCE, sizeof(*r.requests));
	if (r.requests == NULL)
		goto out;
	http_patience_start(&r.patience, o->h->o.timeout_s);
	do
		rc = round_of(&r);
	while (rc == 0 && http_spans_left(&r.spans) > 0);
out:
	end_reading(&r, rc);
	sys_free(r.requests);
	http_spans_free(&r.spans);
	return rc;
}

int
http_size(struct http_object *o, uint64_t *size)
{
	char byte;
	struct layer_range first = { .length = 1, .buf = &byte };
	bool known;
	int rc;

	for (int tries = 0; ; tries++) {
		pthread_mutex_lock(&o->h->lock);
		known = o->has_size;
		*size = o->size;
		pthread_mutex_unlock(&o->h->lock);
		if (known)
			return 0;
		if (tries == 1) {
			pthread_mutex_lock(&o->h->lock);
			snprintf(o->why, sizeof(o->why), "the server does not "
			    "state the object's size (Content-Range or "
			    "Content-Length)");
			pthread_mutex_unlock(&o->h->lock);
			return -EPROTO;
		}
		rc = http_read(o, &first, 1, HTTP_INDEX);
		if (rc != 0)
			return rc;
	}
}
