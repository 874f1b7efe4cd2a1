/*
 * pipeline.c - read, work on all cores, join in order, and write
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The pipeline is a ring of slots.  Piece k travels in slot k modulo the size
 * of the ring, and each slot's state indicates which stage owns it:
 *
 * 	FREE -> (reader) FILLED -> (a worker) DONE -> (joiner) OUT -> FREE
 *
 * Workers take pieces in order, and pieces are joined and written in order.
 * Therefore the oldest piece in the ring can always proceed, and there can be
 * no deadlock: the writer never waits for another stage, the joiner waits for a
 * worker or the writer, a worker for the reader, and the reader for the oldest
 * slot.
 *
 * One lock guards the states; pieces are hundreds of kilobytes long, so it is
 * taken at most a few thousand times a second.  An error stays in its slot
 * until the joiner reaches it, so which error is reported does not depend on
 * timing.  Only a failed write takes effect immediately.
 */
#include "pipeline/pipeline.h"

#include "base/sys.h"
#include "sink.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* The owner of a slot. */
enum { SLOT_FREE, SLOT_FILLED, SLOT_DONE, SLOT_OUT };

struct pipeline {
	const struct pipeline_ops *ops;
	void *job;
	struct input *in;
	struct sink *sink;
	struct progress *progress;
	uint64_t shown_B;		/* input bytes added to progress */
	struct slot *slots;
	unsigned count;
	unsigned workers;		/* running */

	pthread_mutex_t lock;
	pthread_cond_t may_fill, may_work, may_join;
	uint64_t filled, taken, joined;	/* pieces so far */
	bool ended;			/* the last piece has been filled */
	bool stop;			/* an error occurred: all threads
					 * exit */
	uint64_t stall_work_ns, idle_ns;
	unsigned waiting;		/* idle workers, */
	uint64_t waiting_ns;		/* the sum of the times at which they
					 * became idle */
	const struct pipeline_params *params;
};

struct pipeline_worker {
	struct pipeline *pl;
	void *ctx;
	pthread_t thread;
};

int
buf_reserve(struct buf *b, size_t cap)
{
	uint8_t *data;

	if (cap <= b->cap)
		return 0;
	data = sys_realloc(b->data, cap);
	if (data == NULL)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

void
pipeline_release(struct slot *s)
{
	struct pipeline *pl = s->owner;

	pthread_mutex_lock(&pl->lock);
	s->state = SLOT_FREE;
	pthread_cond_signal(&pl->may_fill);
	pthread_mutex_unlock(&pl->lock);
}

/* Waits on c and adds the time to *ns.  Called with the lock held. */
static void
wait_timed(struct pipeline *pl, pthread_cond_t *c, uint64_t *ns)
{
	uint64_t t0 = sys_now_ns();

	pthread_cond_wait(c, &pl->lock);
	*ns += sys_now_ns() - t0;
}

/* Calls watch; the idle time includes waits in progress. */
static void
tell_watch(struct pipeline *pl)
{
	struct pipeline_watch w = { .threads = pl->workers };

	if (pl->params->watch == NULL || pl->workers == 0)
		return;
	pthread_mutex_lock(&pl->lock);
	w.now_ns = sys_now_ns();
	w.idle_ns = pl->idle_ns + pl->waiting * w.now_ns - pl->waiting_ns;
	pthread_mutex_unlock(&pl->lock);
	pl->params->watch(pl->params->watch_arg, &w);
}

static void
fill_slot(struct pipeline *pl, struct slot *s)
{
	s->seq = pl->filled;
	s->in.len = s->out.len = 0;
	s->last = false;
	memset(&s->note, 0, sizeof(s->note));
	s->err = pl->ops->fill(pl->job, pl->in, s);
	s->last |= s->err != 0;
	s->read_B = pl->in->bytes;
}

static void *
read_pieces(void *arg)
{
	struct pipeline *pl = arg;

	pthread_mutex_lock(&pl->lock);
	while (!pl->ended && !pl->stop) {
		struct slot *s = &pl->slots[pl->filled % pl->count];

		if (s->state != SLOT_FREE) {
			wait_timed(pl, &pl->may_fill, &pl->stall_work_ns);
			continue;
		}
		pthread_mutex_unlock(&pl->lock);
		fill_slot(pl, s);
		pthread_mutex_lock(&pl->lock);
		s->state = pl->workers > 0 ? SLOT_FILLED : SLOT_DONE;
		pl->filled++;
		pl->ended = s->last;
		pthread_cond_signal(pl->workers > 0 ? &pl->may_work :
		    &pl->may_join);
	}
	pthread_cond_broadcast(&pl->may_work);
	pthread_mutex_unlock(&pl->lock);
	return NULL;
}

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

static void
work_on(struct pipeline *pl, void *ctx, struct slot *s)
{
	if (s->err == 0 && pl->ops->work != NULL)
		s->err = pl->ops->work(pl->job, ctx, s);
}

/* Processes pieces in order until none are left. */
static void *
work_loop(void *arg)
{
	const struct pipeline_worker *w = arg;
	struct pipeline *pl = w->pl;

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
		work_on(pl, w->ctx, s);
		pthread_mutex_lock(&pl->lock);
		s->state = SLOT_DONE;
		pthread_cond_signal(&pl->may_join);
	}
	pthread_mutex_unlock(&pl->lock);
	return NULL;
}

static int
open_worker_ctx(struct pipeline *pl, void **ctx)
{
	*ctx = NULL;
	return pl->ops->worker_open == NULL ? 0 :
	    pl->ops->worker_open(pl->job, ctx);
}

static void
close_worker_ctx(struct pipeline *pl, void *ctx)
{
	if (pl->ops->worker_close != NULL && ctx != NULL)
		pl->ops->worker_close(ctx);
}

/*
 * Starts up to `threads` workers, and sets pl->workers to the number started.
 * Fails only if none can be started.  Returns 0 or -errno.
 */
static int
start_workers(struct pipeline *pl, struct pipeline_worker *w, unsigned threads)
{
	int rc = 0;

	for (unsigned i = 0; i < threads; i++) {
		w[i].pl = pl;
		rc = open_worker_ctx(pl, &w[i].ctx);
		if (rc == 0)
			rc = sys_thread(&w[i].thread, work_loop, &w[i]);
		if (rc != 0) {
			close_worker_ctx(pl, w[i].ctx);
			break;
		}
		pl->workers++;
	}
	return pl->workers > 0 ? 0 : rc;
}

static int
join_slot(struct pipeline *pl, struct slot *s)
{
	int rc = s->err;

	if (rc == 0)
		rc = pl->ops->join(pl->job, s, pl->sink);
	if (!sink_took_slot(pl->sink))
		pipeline_release(s);
	return rc;
}

static void
show(struct pipeline *pl, const struct slot *s)
{
	if (pl->progress == NULL)
		return;
	progress_add(pl->progress, s->read_B - pl->shown_B);
	pl->shown_B = s->read_B;
	progress_draw(pl->progress);
}

/*
 * Called by the sink's thread, because the joiner may be waiting for a piece.
 */
static void
sink_failed(void *arg)
{
	struct pipeline *pl = arg;

	pthread_mutex_lock(&pl->lock);
	pthread_cond_broadcast(&pl->may_join);
	pthread_mutex_unlock(&pl->lock);
}

/*
 * Waits for the next piece.  Data already joined is flushed first, because the
 * input may be a live pipe.
 */
static int
take_done(struct pipeline *pl, struct slot *s)
{
	bool flushed = false;
	int rc = 0;

	pthread_mutex_lock(&pl->lock);
	while (s->state != SLOT_DONE && rc == 0) {
		if (flushed) {
			rc = sink_error(pl->sink);
			if (rc == 0)
				pthread_cond_wait(&pl->may_join, &pl->lock);
			continue;
		}
		pthread_mutex_unlock(&pl->lock);
		rc = sink_flush(pl->sink);
		flushed = true;
		pthread_mutex_lock(&pl->lock);
	}
	s->state = rc == 0 ? SLOT_OUT : s->state;
	pthread_mutex_unlock(&pl->lock);
	return rc;
}

/*
 * Joins the pieces in order, until the last one or an error, in the caller's
 * thread.
 */
static int
joiner(struct pipeline *pl)
{
	bool last = false;
	int rc = 0;

	while (rc == 0 && !last) {
		struct slot *s = &pl->slots[pl->joined % pl->count];

		rc = take_done(pl, s);
		if (rc != 0)
			break;
		last = s->last;
		pl->joined++;
		show(pl, s);
		rc = join_slot(pl, s);
		tell_watch(pl);
		/* the rest is not needed once the window is complete */
		if (sink_enough(pl->sink))
			return -ECANCELED;
	}
	return rc;
}

static void
stop_all(struct pipeline *pl)
{
	pthread_mutex_lock(&pl->lock);
	pl->stop = true;
	pthread_cond_broadcast(&pl->may_fill);
	pthread_cond_broadcast(&pl->may_work);
	pthread_mutex_unlock(&pl->lock);
	input_cancel(pl->in);
}

static int
run_threads(struct pipeline *pl, const struct pipeline_params *params)
{
	unsigned threads = pl->ops->work == NULL ? 0 : params->threads;
	struct pipeline_worker *w = sys_calloc(threads + 1, sizeof(*w));
	pthread_t reading;
	int rc;

	if (w == NULL)
		return -ENOMEM;
	rc = sink_start(pl->sink);
	if (rc != 0)
		goto stop;
	rc = start_workers(pl, w, threads);
	if (rc != 0)
		goto stop;
	rc = sys_thread(&reading, read_pieces, pl);
	if (rc != 0)
		goto stop;
	rc = joiner(pl);
	if (rc != 0)
		stop_all(pl);
	pthread_join(reading, NULL);
	goto out;
stop:
	stop_all(pl);
out:
	for (unsigned i = 0; i < pl->workers; i++) {
		pthread_join(w[i].thread, NULL);
		close_worker_ctx(pl, w[i].ctx);
	}
	sys_free(w);
	return rc;
}

/* Runs the job.  The first piece is filled before any thread is started. */
static int
run_job(struct pipeline *pl, const struct pipeline_params *params)
{
	struct slot *s = &pl->slots[0];
	void *ctx = NULL;
	int rc;

	fill_slot(pl, s);
	if (s->last) {
		if (s->err == 0)
			s->err = open_worker_ctx(pl, &ctx);
		work_on(pl, ctx, s);
		rc = join_slot(pl, s);
		close_worker_ctx(pl, ctx);
		return rc;
	}
	s->state = pl->ops->work == NULL ? SLOT_DONE : SLOT_FILLED;
	pl->filled = 1;
	return run_threads(pl, params);
}

static void
free_slots(struct pipeline *pl)
{
	for (unsigned i = 0; i < pl->count; i++) {
		sys_free(pl->slots[i].in.data);
		sys_free(pl->slots[i].out.data);
	}
	sys_free(pl->slots);
}

static int
run_with(const struct pipeline_ops *ops, void *job, struct input *in,
    const struct pipeline_params *params, struct pipeline_stats *stats)
{
	struct pipeline pl = { .ops = ops, .job = job, .in = in,
	    .count = params->slots, .progress = params->progress,
	    .params = params };
	int rc, out;

	pl.slots = sys_calloc(pl.count, sizeof(*pl.slots));
	if (pl.slots == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < pl.count; i++)
		pl.slots[i].owner = &pl;
	rc = sink_open(&pl.sink, params->out_fd, params->slots, sink_failed,
	    &pl);
	if (rc != 0) {
		sys_free(pl.slots);
		return rc;
	}
	sink_window(pl.sink, &params->window);
	pthread_mutex_init(&pl.lock, NULL);
	pthread_cond_init(&pl.may_fill, NULL);
	pthread_cond_init(&pl.may_work, NULL);
	pthread_cond_init(&pl.may_join, NULL);

	rc = run_job(&pl, params);
	if (sink_enough(pl.sink))
		rc = 0;
	/* write everything decoded from a truncated stream */
	out = sink_close(pl.sink, rc != 0 && rc != -ENODATA, stats);
	if (out != 0) {
		rc = out;
		stats->failed = PIPELINE_OUT;
	}
	stats->in_bytes += in->bytes;
	stats->stall_in_ns += in->wait_ns;
	stats->stall_work_ns += pl.stall_work_ns;
	stats->idle_ns += pl.idle_ns;

	pthread_cond_destroy(&pl.may_fill);
	pthread_cond_destroy(&pl.may_work);
	pthread_cond_destroy(&pl.may_join);
	pthread_mutex_destroy(&pl.lock);
	free_slots(&pl);
	return rc;
}

/* The input of jobs that read from elsewhere. */
static ssize_t
nothing(void *arg, void *buf, size_t len)
{
	(void)arg;
	(void)buf;
	(void)len;
	return 0;
}

int
pipeline_run(const struct pipeline_ops *ops, void *job, struct input *in,
    const struct pipeline_params *params, struct pipeline_stats *stats)
{
	struct input none;
	int rc;

	if (in != NULL)
		return run_with(ops, job, in, params, stats);
	rc = input_open_from(&none, nothing, NULL);
	if (rc == 0)
		rc = run_with(ops, job, &none, params, stats);
	input_close(&none);
	return rc;
}

unsigned
pipeline_slots(unsigned threads)
{
	return threads + (threads + 3) / 2;
}
