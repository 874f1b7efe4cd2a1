/*
 * pipeline_work.c - the workers of a pipeline
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pipeline_impl.h"

#include "base/sys.h"

/* Waits for work; called with the lock held. */
static void
wait_idle(struct pipeline *pl)
{
	uint64_t t0 = sys_now_ns();

	pl->waiting++;
	pl->waiting_ns += t0;
	pthread_cond_wait(&pl->may_work, &pl->lock);
	pl->waiting--;
	pl->waiting_ns -= t0;
	pl->idle_ns += sys_now_ns() - t0;
}

void
pipeline_work(struct pipeline *pl, void *ctx, struct slot *s)
{
	if (s->err == 0 && pl->ops->work != NULL)
		s->err = pl->ops->work(pl->job, ctx, s);
}

/* Processes pieces in order until none are left. */
static void
work_loop(struct pipeline *pl, void *ctx)
{
	pthread_mutex_lock(&pl->lock);
	while (!pl->stop) {
		struct slot *s = &pl->slots[pl->taken % pl->count];

		if (pl->taken == pl->filled) {
			if (pl->ended)
				break;
			wait_idle(pl);
			continue;
		}
		pl->taken++;
		pthread_mutex_unlock(&pl->lock);
		pipeline_work(pl, ctx, s);
		pthread_mutex_lock(&pl->lock);
		s->state = SLOT_DONE;
		pthread_cond_signal(&pl->may_join);
	}
	pthread_mutex_unlock(&pl->lock);
}

int
pipeline_worker_open(struct pipeline *pl, void **ctx)
{
	*ctx = NULL;
	return pl->ops->worker_open == NULL ? 0 :
	    pl->ops->worker_open(pl->job, ctx);
}

void
pipeline_worker_close(struct pipeline *pl, void *ctx)
{
	if (pl->ops->worker_close != NULL && ctx != NULL)
		pl->ops->worker_close(ctx);
}

static void *
worker(void *arg)
{
	struct pipeline_worker *w = arg;

	work_loop(w->pl, w->ctx);
	return NULL;
}

int
pipeline_start(struct pipeline *pl, struct pipeline_worker *w, unsigned threads)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < threads; i++) {
		w[i].pl = pl;
		rc = pipeline_worker_open(pl, &w[i].ctx);
		if (rc == 0)
			rc = sys_thread(&w[i].thread, worker, &w[i]);
		if (rc == 0)
			pl->workers++;
		else
			pipeline_worker_close(pl, w[i].ctx);
	}
	return pl->workers > 0 ? 0 : rc;
}
