/*
 * http_thread.c - the transfer thread, and its queue
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Active libcurl handles belong to this thread, so connections are shared and
 * kept alive.  Other threads add transfers to a queue, wake this thread, and
 * wait.
 *
 * In libcurl a transfer may wait indefinitely for a connection.  Here such a
 * transfer is ended if no data has been received on any connection for some
 * time.  A rejected certificate is data, too.
 */
#include "http_private.h"

#include "base/sys.h"

#include <errno.h>

/* The interval between checks for stalled transfers. */
enum { POLL_MS = 200, IDLE_MS = 60000 };

static void
finish(struct http *h, struct http_transfer *t, CURLcode code)
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

/* Starts the queued transfers. Returns whether the thread should continue. */
static bool
begin_queued(struct http *h)
{
	struct http_transfer *t, *next;
	bool stop;

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
		if (curl_multi_add_handle(h->multi, t->easy) != CURLM_OK)
			finish(h, t, CURLE_OUT_OF_MEMORY);
	}
	return !stop;
}

static void
end_finished(struct http *h)
{
	struct http_transfer *t;
	CURLMsg *m;
	int more;

	while ((m = curl_multi_info_read(h->multi, &more)) != NULL) {
		CURLcode code = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
		curl_multi_remove_handle(h->multi, t->easy);
		if (code == CURLE_PEER_FAILED_VERIFICATION)
			h->heard_ns = sys_now_ns();
		finish(h, t, code);
	}
}

static bool
is_stuck(const struct http *h, const struct http_transfer *t)
{
	uint64_t heard_ns = h->heard_ns > t->queued_ns ? h->heard_ns :
	    t->queued_ns;

	return t->since_ns == 0 && sys_now_ns() - heard_ns >= t->stall_ns;
}

/* Ends transfers that have waited too long for a connection. */
static void
end_stuck(struct http *h)
{
	struct http_transfer *next;

	for (struct http_transfer *t = h->running; t != NULL; t = next) {
		next = t->next;
		if (!is_stuck(h, t))
			continue;
		curl_multi_remove_handle(h->multi, t->easy);
		t->stalled = true;
		finish(h, t, CURLE_OPERATION_TIMEDOUT);
	}
}

static void *
transfer_all(void *arg)
{
	struct http *h = arg;
	int running;

	while (begin_queued(h)) {
		curl_multi_perform(h->multi, &running);
		end_finished(h);
		end_stuck(h);
		curl_multi_poll(h->multi, NULL, 0, running > 0 ? POLL_MS :
		    IDLE_MS, NULL);
	}
	return NULL;
}

int
http_thread_start(struct http *h)
{
	int rc;

	h->multi = curl_multi_init();
	if (h->multi == NULL)
		return -ENOMEM;
	curl_multi_setopt(h->multi, CURLMOPT_PIPELINING,
	    (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(h->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
	    (long)h->o.connections);
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	rc = sys_thread(&h->thread, transfer_all, h);
	if (rc != 0) {
		pthread_cond_destroy(&h->changed);
		pthread_mutex_destroy(&h->lock);
		curl_multi_cleanup(h->multi);
	}
	return rc;
}

void
http_thread_stop(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_mutex_unlock(&h->lock);
	curl_multi_wakeup(h->multi);
	pthread_join(h->thread, NULL);
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
	curl_multi_cleanup(h->multi);
}

void
http_run(struct http *h, struct http_transfer *const *t, size_t count)
{
	pthread_mutex_lock(&h->lock);
	/* the queue is a stack, so push in reverse order */
	for (size_t i = count; i-- > 0; ) {
		t[i]->next = h->queue;
		h->queue = t[i];
	}
	pthread_mutex_unlock(&h->lock);
	curl_multi_wakeup(h->multi);
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < count; i++)
		while (!t[i]->done)
			pthread_cond_wait(&h->changed, &h->lock);
	pthread_mutex_unlock(&h->lock);
}
