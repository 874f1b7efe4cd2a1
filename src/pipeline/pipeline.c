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
 * no deadlock: the writer waits for a worker to finish its piece, which is done
 * before other work, the joiner waits for a worker or the writer, a worker for
 * the reader, and the reader for the oldest slot.
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
	const struct pipeline_params *params;
	uint64_t shown_B;		/* input bytes added to progress */
	struct slot *slots;
	unsigned count;
	struct pipeline_worker *worker;
	unsigned threads;		/* workers to start at most, and */
	unsigned workers;		/* those started; lock guards both once
					 * there is a reader */

	pthread_mutex_t lock;
	pthread_cond_t may_fill, may_work, may_join;
	uint64_t filled, taken, joined;	/* pieces so far */
	struct slot **later;		/* to be finished: those from */
	uint64_t finished, put_off;	/* number `finished` to put_off */
	bool ended;			/* the last piece has been filled, */
	bool all_joined;		/* or joined */
	bool stop;			/* an error occurred: all threads
					 * exit */
	uint64_t stall_work_ns, idle_ns;
	uint64_t fill_cpu_ns, work_cpu_ns, finish_cpu_ns, join_cpu_ns;
	unsigned waiting;		/* idle workers, */
	uint64_t waiting_ns;		/* the sum of the times at which they
					 * became idle */
	uint64_t began_ns;
	uint64_t absent_ns;		/* how long workers that were started
					 * later were not there */
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

static void
work_on(struct pipeline *pl, void *ctx, struct slot *s)
{
	if (s->err == 0 && pl->ops->work != NULL)
		s->err = pl->ops->work(pl->job, ctx, s);
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

/* Finishes a piece, and hands it to the sink. */
static void
finish_slot(struct pipeline *pl, void *ctx, struct slot *s)
{
	sink_finished(pl->sink, s, pl->ops->finish(pl->job, ctx, s));
}

/*
 * Processes pieces in order until none are left.  Those to be finished come
 * first, and are finished in any case, because the sink waits for them.
 */
static void *
work_loop(void *arg)
{
	const struct pipeline_worker *w = arg;
	struct pipeline *pl = w->pl;
	uint64_t finish_ns = 0;

	pthread_mutex_lock(&pl->lock);
	for (;;) {
		struct slot *s = &pl->slots[pl->taken % pl->count];

		if (pl->finished < pl->put_off) {
			s = pl->later[pl->finished++ % pl->count];
			pthread_mutex_unlock(&pl->lock);
			finish_ns -= sys_cpu_ns();
			finish_slot(pl, w->ctx, s);
			finish_ns += sys_cpu_ns();
			pthread_mutex_lock(&pl->lock);
			continue;
		}
		if (pl->stop)
			break;
		if (pl->taken == pl->filled) {
			uint64_t t0;

			if (pl->ended &&
			    (pl->all_joined || pl->ops->finish == NULL))
				break;
			t0 = sys_now_ns();
			pl->waiting++;
			pl->waiting_ns += t0;
			pthread_cond_wait(&pl->may_work, &pl->lock);
			pl->waiting--;
			pl->waiting_ns -= t0;
			pl->idle_ns += sys_now_ns() - t0;
			continue;
		}
		pl->taken++;
		pthread_mutex_unlock(&pl->lock);
		work_on(pl, w->ctx, s);
		pthread_mutex_lock(&pl->lock);
		s->state = SLOT_DONE;
		pthread_cond_signal(&pl->may_join);
	}
	pl->finish_cpu_ns += finish_ns;
	pl->work_cpu_ns += sys_cpu_ns() - finish_ns;
	pthread_mutex_unlock(&pl->lock);
	return NULL;
}

/* Starts the next worker.  Called by one thread at a time, without the lock. */
static int
start_worker(struct pipeline *pl)
{
	struct pipeline_worker *w = &pl->worker[pl->workers];
	int rc;

	w->pl = pl;
	rc = open_worker_ctx(pl, &w->ctx);
	if (rc == 0)
		rc = sys_thread(&w->thread, work_loop, w);
	if (rc != 0)
		close_worker_ctx(pl, w->ctx);
	pthread_mutex_lock(&pl->lock);
	if (rc == 0) {
		pl->workers++;
		pl->absent_ns += sys_now_ns() - pl->began_ns;
	} else {
		/* those that there are will do */
		pl->threads = pl->workers;
	}
	pthread_mutex_unlock(&pl->lock);
	return rc;
}

/*
 * Reads all pieces.  Another worker is started once there are more pieces to be
 * taken than idle workers.
 */
static void *
read_pieces(void *arg)
{
	struct pipeline *pl = arg;
	bool worked = pl->ops->work != NULL;

	pthread_mutex_lock(&pl->lock);
	while (!pl->ended && !pl->stop) {
		struct slot *s = &pl->slots[pl->filled % pl->count];

		if (s->state != SLOT_FREE) {
			uint64_t t0 = sys_now_ns();

			pthread_cond_wait(&pl->may_fill, &pl->lock);
			pl->stall_work_ns += sys_now_ns() - t0;
			continue;
		}
		pthread_mutex_unlock(&pl->lock);
		fill_slot(pl, s);
		pthread_mutex_lock(&pl->lock);
		s->state = worked ? SLOT_FILLED : SLOT_DONE;
		pl->filled++;
		pl->ended = s->last;
		pthread_cond_signal(worked ? &pl->may_work : &pl->may_join);
		if (pl->filled - pl->taken > pl->waiting &&
		    pl->workers < pl->threads) {
			pthread_mutex_unlock(&pl->lock);
			start_worker(pl);
			pthread_mutex_lock(&pl->lock);
		}
	}
	pthread_cond_broadcast(&pl->may_work);
	pl->fill_cpu_ns = sys_cpu_ns();
	pthread_mutex_unlock(&pl->lock);
	return NULL;
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

/* Has a worker finish a piece.  Called by the joiner, for the sink. */
static void
put_off(void *arg, struct slot *s)
{
	struct pipeline *pl = arg;

	pthread_mutex_lock(&pl->lock);
	pl->later[pl->put_off++ % pl->count] = s;
	pthread_cond_signal(&pl->may_work);
	pthread_mutex_unlock(&pl->lock);
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
	const struct pipeline_params *params = pl->params;
	bool last = false;
	int rc = 0;

	while (rc == 0 && !last) {
		struct slot *s = &pl->slots[pl->joined % pl->count];
		struct pipeline_watch w;

		rc = take_done(pl, s);
		if (rc != 0)
			break;
		last = s->last;
		pl->joined++;
		if (params->progress != NULL) {
			progress_add(params->progress, s->read_B - pl->shown_B);
			pl->shown_B = s->read_B;
			progress_draw(params->progress);
		}
		rc = join_slot(pl, s);
		if (params->watch != NULL && pl->ops->work != NULL) {
			/*
			 * The idle time includes waits in progress, and workers
			 * that are not there because they are not needed.
			 */
			pthread_mutex_lock(&pl->lock);
			w.threads = pl->threads;
			w.now_ns = sys_now_ns();
			w.idle_ns = pl->idle_ns + pl->waiting * w.now_ns -
			    pl->waiting_ns + pl->absent_ns +
			    (pl->threads - pl->workers) *
			    (w.now_ns - pl->began_ns);
			pthread_mutex_unlock(&pl->lock);
			params->watch(params->watch_arg, &w);
		}
		/* the rest is not needed once the window is complete */
		if (sink_enough(pl->sink))
			return -ECANCELED;
	}
	return rc;
}

/* Lets the workers end, and all threads, if not all is done. */
static void
end_all(struct pipeline *pl, bool stop)
{
	pthread_mutex_lock(&pl->lock);
	pl->all_joined = true;
	pl->stop = stop;
	pthread_cond_broadcast(&pl->may_fill);
	pthread_cond_broadcast(&pl->may_work);
	pthread_mutex_unlock(&pl->lock);
	if (stop)
		input_cancel(pl->in);
}

/*
 * Runs the job with one worker, and as many more, up to params->threads, as
 * there are pieces for; one is enough.  Returns 0 or -errno.
 */
static int
run_threads(struct pipeline *pl)
{
	pthread_t reading;
	int rc;

	pl->threads = pl->ops->work == NULL ? 0 : pl->params->threads;
	pl->worker = sys_calloc(pl->threads + 1, sizeof(*pl->worker));
	if (pl->worker == NULL)
		return -ENOMEM;
	pl->began_ns = sys_now_ns();
	rc = sink_start(pl->sink);
	if (rc == 0 && pl->threads > 0)
		rc = start_worker(pl);
	if (rc == 0)
		rc = sys_thread(&reading, read_pieces, pl);
	if (rc != 0) {
		end_all(pl, true);
		goto out;
	}
	pl->join_cpu_ns = sys_cpu_ns();
	rc = joiner(pl);
	pl->join_cpu_ns = sys_cpu_ns() - pl->join_cpu_ns;
	end_all(pl, rc != 0);
	pthread_join(reading, NULL);
out:
	for (unsigned i = 0; i < pl->workers; i++) {
		pthread_join(pl->worker[i].thread, NULL);
		close_worker_ctx(pl, pl->worker[i].ctx);
	}
	sys_free(pl->worker);
	return rc;
}

int
pipeline_run(const struct pipeline_ops *ops, void *job, struct input *in,
    const struct pipeline_params *params, struct pipeline_stats *stats)
{
	struct pipeline pl = { .ops = ops, .job = job, .in = in,
	    .count = params->slots, .params = params };
	const struct sink_owner owner = { &pl, sink_failed, put_off };
	struct slot *first;
	struct input none;
	void *ctx = NULL;
	int rc = 0, out;

	if (in == NULL) {
		/* the input of jobs that read from elsewhere */
		rc = input_open_from(&none, NULL, NULL);
		none.ended = true;
		pl.in = &none;
	}
	if (rc != 0)
		goto close_input;
	pl.slots = sys_calloc(pl.count, sizeof(*pl.slots));
	pl.later = sys_calloc(pl.count, sizeof(*pl.later));
	if (pl.slots == NULL || pl.later == NULL) {
		rc = -ENOMEM;
		goto free_slots;
	}
	for (unsigned i = 0; i < pl.count; i++)
		pl.slots[i].owner = &pl;
	rc = sink_open(&pl.sink, params, &owner);
	if (rc != 0)
		goto free_slots;
	pthread_mutex_init(&pl.lock, NULL);
	pthread_cond_init(&pl.may_fill, NULL);
	pthread_cond_init(&pl.may_work, NULL);
	pthread_cond_init(&pl.may_join, NULL);

	/* the first piece is filled before any thread is started */
	first = &pl.slots[0];
	fill_slot(&pl, first);
	if (first->last) {
		if (first->err == 0)
			first->err = open_worker_ctx(&pl, &ctx);
		work_on(&pl, ctx, first);
		rc = join_slot(&pl, first);
		close_worker_ctx(&pl, ctx);
	} else {
		first->state = ops->work == NULL ? SLOT_DONE : SLOT_FILLED;
		pl.filled = 1;
		rc = run_threads(&pl);
	}
	if (sink_enough(pl.sink))
		rc = 0;
	/* write everything decoded from a truncated stream */
	out = sink_close(pl.sink, rc != 0 && rc != -ENODATA, stats);
	if (out != 0) {
		rc = out;
		stats->failed = PIPELINE_OUT;
	}
	stats->in_bytes += pl.in->bytes;
	stats->stall_in_ns += pl.in->wait_ns;
	stats->stall_work_ns += pl.stall_work_ns;
	stats->idle_ns += pl.idle_ns;
	stats->fill_cpu_ns += pl.fill_cpu_ns;
	stats->work_cpu_ns += pl.work_cpu_ns;
	stats->finish_cpu_ns += pl.finish_cpu_ns;
	stats->join_cpu_ns += pl.join_cpu_ns;

	pthread_cond_destroy(&pl.may_fill);
	pthread_cond_destroy(&pl.may_work);
	pthread_cond_destroy(&pl.may_join);
	pthread_mutex_destroy(&pl.lock);
free_slots:
	for (unsigned i = 0; pl.slots != NULL && i < pl.count; i++) {
		sys_free(pl.slots[i].in.data);
		sys_free(pl.slots[i].out.data);
		sys_free(pl.slots[i].spare.data);
	}
	sys_free(pl.slots);
	sys_free(pl.later);
close_input:
	if (in == NULL)
		input_close(&none);
	return rc;
}

unsigned
pipeline_slots(unsigned threads)
{
	return threads + (threads + 3) / 2;
}
