/*
 * http.c - the HTTP client, its thread, and its objects
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Active libcurl handles belong to the thread, so connections are shared and
 * kept alive.  Other threads add transfers to a queue, wake the thread, and
 * wait.
 *
 * In libcurl a transfer may wait indefinitely for a connection.  Here such a
 * transfer is ended if no data has been received on any connection for some
 * time.  A rejected certificate is data, too.
 */
#include "http_private.h"

#include "base/strbuf.h"
#include "base/sys.h"
#include "lazy/http/http_servers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The thread */

/* The interval between checks for stalled transfers. */
enum { POLL_MS = 200, IDLE_MS = 60000 };

static void
end_transfer(struct http *h, struct http_transfer *t, CURLcode code)
{
	struct http_transfer **at = &h->running;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	pthread_mutex_lock(&h->lock);
	t->code = code;
	t->done = true;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

/*
 * Whether no connection has come about in time, or none has become free while
 * nothing was received from anywhere.
 */
static bool
waits_too_long(const struct http *h, struct http_transfer *t)
{
	uint64_t ns = sys_now_ns(), heard_ns = h->heard_ns > t->queued_ns ?
	    h->heard_ns : t->queued_ns;

	return http_transfer_unconnected(t, ns) ||
	    (t->since_ns == 0 && ns - heard_ns >= t->stall_ns);
}

static void *
transfer_all(void *arg)
{
	struct http *h = arg;
	struct http_transfer *t, *next;
	CURLMsg *m;
	int running, more;
	bool stop;

	for (;;) {
		pthread_mutex_lock(&h->lock);
		t = h->queue;
		h->queue = NULL;
		stop = h->stop;
		pthread_mutex_unlock(&h->lock);
		for (; t != NULL; t = next) {
			next = t->next;
			t->queued_ns = sys_now_ns();
			t->next = h->running;
			h->running = t;
			if (curl_multi_add_handle(h->multi, t->easy) !=
			    CURLM_OK)
				end_transfer(h, t, CURLE_OUT_OF_MEMORY);
		}
		if (stop)
			return NULL;
		curl_multi_perform(h->multi, &running);
		while ((m = curl_multi_info_read(h->multi, &more)) != NULL) {
			CURLcode code = m->data.result;

			if (m->msg != CURLMSG_DONE)
				continue;
			curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE,
			    &t);
			curl_multi_remove_handle(h->multi, t->easy);
			if (code == CURLE_PEER_FAILED_VERIFICATION)
				h->heard_ns = sys_now_ns();
			end_transfer(h, t, code);
		}
		/* transfers that have waited too long for a connection */
		for (t = h->running; t != NULL; t = next) {
			next = t->next;
			if (!waits_too_long(h, t))
				continue;
			curl_multi_remove_handle(h->multi, t->easy);
			t->stalled = true;
			end_transfer(h, t, CURLE_OPERATION_TIMEDOUT);
		}
		curl_multi_poll(h->multi, NULL, 0, running > 0 ? POLL_MS :
		    IDLE_MS, NULL);
	}
}

/* Gives the transfers to the thread. */
static void
enqueue(struct http *h, struct http_transfer *const *t, size_t count)
{
	pthread_mutex_lock(&h->lock);
	/* the queue is a stack, so push in reverse order */
	for (size_t i = count; i-- > 0; ) {
		t[i]->done = t[i]->rc != 0;
		if (t[i]->done)
			continue;
		t[i]->next = h->queue;
		h->queue = t[i];
	}
	pthread_mutex_unlock(&h->lock);
	curl_multi_wakeup(h->multi);
}

void
http_run(struct http *h, struct http_transfer *const *t, size_t count)
{
	size_t left = count;

	enqueue(h, t, count);
	pthread_mutex_lock(&h->lock);
	while (left > 0) {
		struct http_transfer *ended = NULL;

		for (size_t i = 0; i < count && ended == NULL; i++)
			if (t[i]->done && !t[i]->complete)
				ended = t[i];
		if (ended == NULL) {
			pthread_cond_wait(&h->changed, &h->lock);
			continue;
		}
		pthread_mutex_unlock(&h->lock);
		if (http_transfer_follow(ended)) {
			enqueue(h, &ended, 1);
		} else {
			ended->complete = true;
			left--;
		}
		pthread_mutex_lock(&h->lock);
	}
	pthread_mutex_unlock(&h->lock);
}

/* Opening and closing */

static int
copy_text(char **to, const char *s)
{
	if (s == NULL)
		return 0;
	*to = strcopy(s);
	return *to == NULL ? -ENOMEM : 0;
}

static void
client_free(struct http *h)
{
	struct http_host *next;

	for (struct http_host *i = h->hosts; i != NULL; i = next) {
		next = i->next;
		sys_free(i->origin);
		sys_free(i);
	}
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
	curl_multi_cleanup(h->multi);
	http_auth_free(h);
	sys_free(h->credentials);
	sys_free(h->credentials_for);
	sys_free(h->ca_file);
	sys_free(h);
}

void
http_prepare(const char **ca_file, const char **ca_dir)
{
	const curl_version_info_data *v;

	curl_global_init(CURL_GLOBAL_ALL);
	v = curl_version_info(CURLVERSION_NOW);
	*ca_file = v->cainfo;
	*ca_dir = v->capath;
}

int
http_open(struct http **out, const struct http_options *o,
    char why[LAYER_WHY])
{
	struct http *h = sys_calloc(1, sizeof(*h));
	int rc = -ENOMEM;

	snprintf(why, LAYER_WHY, "%s", strerror(ENOMEM));
	if (h == NULL)
		return rc;
	h->o = *o;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	if (curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK ||
	    copy_text(&h->credentials, o->credentials) != 0 ||
	    copy_text(&h->credentials_for, o->credentials_for) != 0 ||
	    copy_text(&h->ca_file, o->ca_file) != 0)
		goto fail;
	if (o->auth_file != NULL) {
		rc = http_auth_load(h, o->auth_file, why);
		if (rc != 0)
			goto fail;
	}
	rc = -ENOMEM;
	if (o->servers != NULL)
		http_servers_trust(o->servers, o->ca_file != NULL ?
		    o->ca_file : curl_version_info(CURLVERSION_NOW)->cainfo);
	h->multi = curl_multi_init();
	if (h->multi == NULL)
		goto fail;
	curl_multi_setopt(h->multi, CURLMOPT_PIPELINING,
	    (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(h->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
	    (long)h->o.connections);
	rc = sys_thread(&h->thread, transfer_all, h);
	if (rc != 0) {
		snprintf(why, LAYER_WHY, "%s", strerror(-rc));
		goto fail;
	}
	*out = h;
	return 0;
fail:
	client_free(h);
	return rc;
}

void
http_close(struct http *h)
{
	if (h == NULL)
		return;
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_mutex_unlock(&h->lock);
	curl_multi_wakeup(h->multi);
	pthread_join(h->thread, NULL);
	client_free(h);
}

/* Objects */

int
http_object_open(struct http_object **out, struct http *h, const char *url)
{
	char origin[HTTP_URL];
	struct http_object *o;
	struct http_host *i;

	if (strlen(url) >= HTTP_URL || !http_origin(url, origin))
		return -EINVAL;
	o = sys_calloc(1, sizeof(*o));
	if (o == NULL || copy_text(&o->url, url) != 0) {
		http_object_close(o);
		return -ENOMEM;
	}
	o->h = h;
	/* its host, added if it is new */
	pthread_mutex_lock(&h->lock);
	for (i = h->hosts; i != NULL && strcmp(i->origin, origin) != 0; )
		i = i->next;
	if (i == NULL && (i = sys_calloc(1, sizeof(*i))) != NULL) {
		if (copy_text(&i->origin, origin) == 0) {
			i->next = h->hosts;
			h->hosts = i;
		} else {
			sys_free(i);
			i = NULL;
		}
	}
	o->host = i;
	pthread_mutex_unlock(&h->lock);
	if (i == NULL) {
		http_object_close(o);
		return -ENOMEM;
	}
	*out = o;
	return 0;
}

void
http_object_close(struct http_object *o)
{
	if (o == NULL)
		return;
	sys_free(o->url);
	sys_free(o);
}

void
http_object_why(struct http_object *o, char why[LAYER_WHY])
{
	pthread_mutex_lock(&o->h->lock);
	strcpy(why, o->why);
	pthread_mutex_unlock(&o->h->lock);
}

void
http_validator(struct http_object *o, char *text, size_t size)
{
	pthread_mutex_lock(&o->h->lock);
	snprintf(text, size, "%s", o->validator);
	pthread_mutex_unlock(&o->h->lock);
}

void
http_counted(struct http *h, struct http_counts c[HTTP_PHASES])
{
	pthread_mutex_lock(&h->lock);
	memcpy(c, h->counts, sizeof(h->counts));
	pthread_mutex_unlock(&h->lock);
}
