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

int
http_read_whole(struct http *h, const char *base,
    const struct layer_range *ranges, size_t count, uint64_t *lengths,
    enum http_phase phase, char why[LAYER_WHY])
{
	struct whole *all = sys_calloc(count + 1, sizeof(*all));
	struct http_transfer *run[AT_ONCE];
	struct whole *of[AT_ONCE];
	struct http_patience patience;
	size_t left = count;
	bool paused;
	int rc = 0;

	if (all == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct whole *w = &all[i];
		int n = snprintf(w->url, sizeof(w->url), "%s/%s", base,
		    ranges[i].object);

		w->r = &ranges[i];
		w->length = &lengths[i];
		rc = n < 0 || (size_t)n >= sizeof(w->url) ? -ENAMETOOLONG : 0;
	}
	http_patience_start(&patience, h->o.timeout_s);
	/* each round requests some of the missing objects */
	while (rc == 0 && left > 0) {
		size_t n = 0;

		for (size_t i = 0; rc == 0 && i < count && n < AT_ONCE; i++) {
			struct whole *w = &all[i];

			if (w->done)
				continue;
			w->t = (struct http_transfer){ .begin = begin_object,
				.body = take_object, .arg = w };
			*w->length = 0;
			rc = http_transfer_open(&w->t, h, w->url, NULL, NULL);
			if (rc == 0 && patience.lost)
				http_transfer_renew(&w->t);
			of[n] = w;
			run[n++] = &w->t;
		}
		if (rc != 0)
			snprintf(why, LAYER_WHY, "%s", strerror(-rc));
		else
			http_run(h, run, n);
		patience.lost = paused = false;
		for (size_t i = 0; rc == 0 && i < n; i++) {
			struct whole *w = of[i];

			rc = http_judge(&w->t, why);
			http_transfer_count(h, &w->t, phase);
			if (rc == 0 || rc == -ECANCELED) {
				memset((char *)w->r->buf + *w->length, 0,
				    (size_t)(w->r->length - *w->length));
				pthread_mutex_lock(&h->lock);
				h->counts[phase].useful += *w->length;
				pthread_mutex_unlock(&h->lock);
				http_patience_renew(&patience);
				w->done = true;
				left--;
				rc = 0;
				continue;
			}
			/* possibly due to a proxy */
			if (rc == -EPROTO && w->t.reply.status < 400)
				rc = -EAGAIN;
			/* one pause in a round is enough */
			rc = paused ? 0 : http_again(h, &w->t, w->url, rc,
			    &patience, phase, why);
			paused = true;
		}
		for (size_t i = 0; i < n; i++)
			http_transfer_close(&of[i]->t);
	}
	sys_free(all);
	return rc;
}
