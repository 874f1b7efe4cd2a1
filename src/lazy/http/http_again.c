/*
 * http_again.c - whether, and when, to retry a failed request
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_private.h"

#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_MS = 20, DOUBLINGS = 8 };

static const uint64_t second = 1000000000, millisecond = 1000000;

void
http_patience_start(struct http_patience *p, unsigned timeout_s)
{
	*p = (struct http_patience){ .limit_ns = timeout_s * second };
	p->deadline_ns = sys_now_ns() + p->limit_ns;
}

void
http_patience_renew(struct http_patience *p)
{
	p->tries = 0;
	p->answered = false;
	p->deadline_ns = sys_now_ns() + p->limit_ns;
}

int
http_patience_pause(struct http_patience *p, unsigned retry_after)
{
	unsigned doublings = p->tries < DOUBLINGS ? p->tries : DOUBLINGS;
	uint64_t now = sys_now_ns(), pause;

	/* clients that failed simultaneously should not retry simultaneously */
	pause = (FIRST_MS << doublings) * millisecond;
	pause = pause / 2 + now % (pause / 2);
	if (retry_after > 0)
		pause = retry_after * second;
	p->tries++;
	if (now + pause >= p->deadline_ns &&
	    (p->tries >= HTTP_TRIES || retry_after > 0))
		return -ETIMEDOUT;
	sys_sleep_ns(pause);
	return 0;
}

bool
http_is_own(const struct http_transfer *t, const char *url)
{
	char from[HTTP_URL];

	http_transfer_url(t, from);
	return http_same_server(url, from);
}

/*
 * Returns whether the server, or the network, is not there at all.  If there
 * has been a reply, that may change; before, its name or address is probably
 * wrong.
 */
static bool
is_absent(struct http *h, const struct http_transfer *t)
{
	bool reached;

	pthread_mutex_lock(&h->lock);
	reached = h->reached;
	pthread_mutex_unlock(&h->lock);
	return !reached && (t->code == CURLE_COULDNT_RESOLVE_HOST ||
	    t->code == CURLE_COULDNT_RESOLVE_PROXY ||
	    t->code == CURLE_COULDNT_CONNECT ||
	    /* it does not speak TLS */
	    strstr(t->error, "wrong version number") != NULL);
}

int
http_again(struct http *h, const struct http_transfer *t, const char *url,
    int rc, struct http_patience *p, enum http_phase phase,
    char why[LAYER_WHY])
{
	size_t used = strnlen(why, LAYER_WHY);

	p->lost = t->code != CURLE_OK;
	if (rc == -EACCES && t->reply.status == 401 && !p->answered &&
	    t->reply.challenge.scheme != HTTP_NO_SCHEME && http_is_own(t, url)) {
		p->answered = true;
		rc = http_auth_answer(h, url, &t->reply.challenge, why);
	} else if (rc == -EAGAIN && phase == HTTP_INDEX && is_absent(h, t)) {
		rc = -EHOSTUNREACH;
	} else if (rc == -EAGAIN) {
		rc = http_patience_pause(p, t->reply.retry_after);
		if (rc != 0)
			snprintf(why + used, LAYER_WHY - used,
			    " (gave up after %u s)", h->o.timeout_s);
	}
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&h->lock);
	h->counts[phase].retries++;
	pthread_mutex_unlock(&h->lock);
	return 0;
}
