/*
 * http_all.c - reading an object from its beginning to its end
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For servers that send the whole object whatever range is requested.
 */
#include "http_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PROGRESS = 64 << 10 };		/* bytes that count as progress */

struct reading_all {
	struct http_transfer t;
	uint64_t at;			/* offset of the next byte */
	int (*take)(void *arg, uint64_t offset, const void *data, size_t len);
	void *arg;
	int taken;			/* the last result of take() */
};

static int
begin_all(void *arg, const struct http_reply *r)
{
	struct reading_all *a = arg;

	a->at = 0;
	return r->status == 200 ? http_transfer_plain(&a->t, r) :
	    http_transfer_refuse(&a->t, -EPROTO, "the server sent part of the "
	    "object, but all of it was requested");
}

static int
take_all(void *arg, const void *data, size_t len)
{
	struct reading_all *a = arg;

	a->taken = a->take(a->arg, a->at, data, len);
	a->at += len;
	return a->taken;
}

bool
http_ignores_ranges(struct http_object *o)
{
	bool whole;

	pthread_mutex_lock(&o->h->lock);
	whole = o->whole;
	pthread_mutex_unlock(&o->h->lock);
	return whole;
}

int
http_read_all(struct http_object *o, int (*take)(void *arg, uint64_t offset,
    const void *data, size_t len), void *arg, enum http_phase phase)
{
	struct http *h = o->h;
	struct reading_all a = { .take = take, .arg = arg };
	struct http_transfer *all = &a.t;
	struct http_patience patience;
	uint64_t most = 0;
	char why[LAYER_WHY] = "";
	int rc, end = 0;

	http_patience_start(&patience, h->o.timeout_s);
	do {
		a.t = (struct http_transfer){ .begin = begin_all,
			.body = take_all, .arg = &a };
		rc = http_transfer_open(&a.t, h, o->url, NULL, NULL);
		if (rc != 0) {
			end = rc;
			snprintf(why, sizeof(why), "%s", strerror(-rc));
		} else {
			if (patience.lost)
				http_transfer_renew(&a.t);
			patience.lost = false;
			http_run(h, &all, 1);
			http_transfer_count(h, &a.t, phase);
			if (a.at >= most + PROGRESS) {
				most = a.at;
				http_patience_renew(&patience);
			}
			rc = http_judge(&a.t, why);
			if (a.taken != 0)
				end = a.taken;
			else if (rc != 0)
				end = http_again(h, &a.t, o->url, rc,
				    &patience, phase, why);
		}
		http_transfer_close(&a.t);
	} while (rc != 0 && end == 0);
	pthread_mutex_lock(&h->lock);
	if (end == 0)
		h->counts[phase].useful += a.at;
	else
		snprintf(o->why, sizeof(o->why), "%s", *why != '\0' ?
		    why : strerror(-rc));
	pthread_mutex_unlock(&h->lock);
	return end;
}
