/*
 * http_whole.c - reading whole objects of unknown size
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Objects are requested without ranges, so that any proxy can cache them, and
 * several at a time.
 */
#include "http_private.h"

#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { AT_ONCE = 16 };

/* An object, and the request for it. */
struct whole {
	struct http_transfer t;
	const struct layer_range *r;
	uint64_t *length;		/* so far */
	char url[HTTP_URL];
	bool done;
};

struct reading {
	struct http *h;
	enum http_phase phase;
	struct http_patience patience;
	struct whole *all;
	size_t count;
	char *why;
};

static int
begin_object(void *arg, const struct http_reply *r)
{
	struct whole *w = arg;

	*w->length = 0;
	return r->status == 200 ? http_transfer_plain(&w->t, r) :
	    http_transfer_refuse(&w->t, -EPROTO, "the server sent part of the "
	    "object, but all of it was requested");
}

static int
take_object(void *arg, const void *data, size_t len)
{
	struct whole *w = arg;
	uint64_t room = w->r->length - *w->length;
	size_t n = len < room ? len : (size_t)room;

	memcpy((char *)w->r->buf + *w->length, data, n);
	*w->length += n;
	/* an oversized object has the wrong content */
	return n < len ? -ECANCELED : 0;
}

static int
request_object(struct reading *x, struct whole *w)
{
	int rc;

	w->t = (struct http_transfer){ .begin = begin_object,
		.body = take_object, .arg = w };
	*w->length = 0;
	rc = http_transfer_open(&w->t, x->h, w->url, NULL, NULL);
	if (rc == 0 && x->patience.lost)
		http_transfer_renew(&w->t);
	if (rc != 0)
		snprintf(x->why, LAYER_WHY, "%s", strerror(-rc));
	return rc;
}

/* Records a complete object, and fills the rest of its buffer with zeros. */
static void
end_object(struct reading *x, struct whole *w)
{
	memset((char *)w->r->buf + *w->length, 0,
	    (size_t)(w->r->length - *w->length));
	pthread_mutex_lock(&x->h->lock);
	x->h->counts[x->phase].useful += *w->length;
	pthread_mutex_unlock(&x->h->lock);
	w->done = true;
}

/*
 * Handles the result of a request.  Returns 0, even if the request should be
 * retried, or -errno.  There is at most one pause in each round.
 */
static int
judge_object(struct reading *x, struct whole *w, bool *paused)
{
	int rc = http_judge(&w->t, x->why);

	http_transfer_count(x->h, &w->t, x->phase);
	if (rc == 0 || rc == -ECANCELED) {
		end_object(x, w);
		http_patience_renew(&x->patience);
		return 0;
	}
	/* possibly due to a proxy */
	if (rc == -EPROTO && w->t.reply.status < 400)
		rc = -EAGAIN;
	if (*paused)
		return 0;
	*paused = true;
	return http_again(x->h, &w->t, w->url, rc, &x->patience, x->phase,
	    x->why);
}

/* Requests up to AT_ONCE of the missing objects.  Returns 0 or -errno. */
static int
round_of(struct reading *x)
{
	struct http_transfer *run[AT_ONCE];
	struct whole *of[AT_ONCE];
	bool paused = false;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < x->count && n < AT_ONCE; i++)
		if (!x->all[i].done) {
			rc = request_object(x, &x->all[i]);
			of[n] = &x->all[i];
			run[n++] = &x->all[i].t;
		}
	x->patience.lost = false;
	if (rc == 0)
		http_run(x->h, run, n);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			rc = judge_object(x, of[i], &paused);
		http_transfer_close(&of[i]->t);
	}
	return rc;
}

static bool
is_complete(const struct reading *x)
{
	for (size_t i = 0; i < x->count; i++)
		if (!x->all[i].done)
			return false;
	return true;
}

int
http_read_whole(struct http *h, const char *base,
    const struct layer_range *ranges, size_t count, uint64_t *lengths,
    enum http_phase phase, char why[LAYER_WHY])
{
	struct reading x = { .h = h, .phase = phase, .count = count,
		.why = why };
	int rc = 0;

	x.all = sys_calloc(count + 1, sizeof(*x.all));
	if (x.all == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct whole *w = &x.all[i];
		int n = snprintf(w->url, sizeof(w->url), "%s/%s", base,
		    ranges[i].object);

		w->r = &ranges[i];
		w->length = &lengths[i];
		rc = n < 0 || (size_t)n >= sizeof(w->url) ? -ENAMETOOLONG : 0;
	}
	http_patience_start(&x.patience, h->o.timeout_s);
	while (rc == 0 && !is_complete(&x))
		rc = round_of(&x);
	sys_free(x.all);
	return rc;
}
