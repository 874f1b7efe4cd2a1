/*
 * schedule.c - assigning jobs to threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread has one queue for each file that it should hash at the same time.  A
 * queue contains one extent, and is refilled with the next extent when all of
 * its jobs have been taken; jobs are taken from the queues in turn.  So small
 * files are read in disk order, and large files a few at a time.  When there
 * are no more extents, a thread takes jobs from the queues of other threads, so
 * a large file is hashed by one thread and unpacked by all others.
 */
#include "schedule.h"

#include "base/sys.h"
#include "lock.h"

#include <errno.h>

/*
 * The read-ahead, in bytes of unpacked data.  Short steps start earlier; long
 * steps, in files that are long enough, are better for disks that have to seek.
 */
enum {
	AHEAD_B = 8 << 20,
	STEP_B = 1 << 20,
	LONG_STEP_B = 4 << 20
};

/* Ranges to request from the kernel after the lock is released. */
struct ahead {
	size_t extent, extent_end;
	size_t job, job_end;
};

int
image_scheduler_open(struct image_scheduler *s, const struct image *m,
    const struct image_plan *p, unsigned threads, unsigned each)
{
	*s = (struct image_scheduler){ .ahead = { m, p }, .threads = threads,
	    .each = each };
	image_lock_init(&s->lock);
	s->queues = sys_calloc((size_t)threads * each, sizeof(*s->queues));
	s->turn = sys_calloc(threads, sizeof(*s->turn));
	return s->queues == NULL || s->turn == NULL ? -ENOMEM : 0;
}

void
image_scheduler_close(struct image_scheduler *s)
{
	sys_free(s->queues);
	sys_free(s->turn);
	pthread_mutex_destroy(&s->lock);
}

static size_t
jobs_of(const struct image_scheduler *s, size_t bytes)
{
	return bytes / s->ahead.image->block_B;
}

/*
 * Returns the number of jobs of an extent that are read ahead before its first
 * job is taken.
 */
static size_t
beginning(const struct image_scheduler *s, const struct image_extent *e)
{
	size_t most = jobs_of(s, STEP_B);

	return e->count < most ? e->count : most;
}

/*
 * Refills the queue with the next extent, the beginning of which has been read
 * ahead.
 */
static void
refill_queue(struct image_scheduler *s, struct image_queue *q)
{
	const struct image_extent *e = &s->ahead.plan->extents[s->next++];
	size_t begun = beginning(s, e);

	q->next = e->first;
	q->end = e->first + e->count;
	q->advised = e->first + begun;
	s->advised_jobs -= begun;
}

/* Returns the thread's next queue in turn, refilled if necessary, or NULL. */
static struct image_queue *
own_queue(struct image_scheduler *s, unsigned me)
{
	for (unsigned i = 0; i < s->each; i++) {
		unsigned turn = s->turn[me]++ % s->each;
		struct image_queue *q = &s->queues[me * s->each + turn];

		if (q->next == q->end && s->next < s->ahead.plan->extent_count)
			refill_queue(s, q);
		if (q->next < q->end)
			return q;
	}
	return NULL;
}

/* Returns the queue with the most remaining work, or NULL. */
static struct image_queue *
longest_queue(struct image_scheduler *s)
{
	unsigned count = s->threads * s->each;
	struct image_queue *best = &s->queues[0];

	for (unsigned i = 1; i < count; i++)
		if (s->queues[i].end - s->queues[i].next >
		    best->end - best->next)
			best = &s->queues[i];
	return best->next < best->end ? best : NULL;
}

static bool
is_alone(struct image_scheduler *s)
{
	unsigned count = s->threads * s->each, files = 0;

	if (s->next < s->ahead.plan->extent_count)
		return false;
	for (unsigned i = 0; i < count; i++)
		files += s->queues[i].next < s->queues[i].end;
	return files < 2;
}

/*
 * Reads ahead the beginnings of extents, so that AHEAD_B bytes are always read
 * ahead.
 */
static void
plan_extents(struct image_scheduler *s, struct ahead *a)
{
	const struct image_plan *p = s->ahead.plan;

	a->extent = a->extent_end = s->advised;
	if (s->advised_jobs + jobs_of(s, STEP_B) > jobs_of(s, AHEAD_B))
		return;
	while (s->advised < p->extent_count &&
	    s->advised_jobs < jobs_of(s, AHEAD_B))
		s->advised_jobs += beginning(s, &p->extents[s->advised++]);
	a->extent_end = s->advised;
}

/* Reads ahead the rest of a queue's extent. */
static void
plan_jobs(struct image_scheduler *s, struct image_queue *q, struct ahead *a)
{
	size_t step = jobs_of(s, LONG_STEP_B);

	a->job = a->job_end = q->advised;
	if (q->advised == q->end ||
	    q->advised - q->next + step > jobs_of(s, AHEAD_B))
		return;
	q->advised = q->end - q->advised < step ? q->end : q->advised + step;
	a->job_end = q->advised;
}

const struct image_job *
image_scheduler_take(struct image_scheduler *s, unsigned me, bool *alone)
{
	const struct image_job *j = NULL;
	struct image_queue *q;
	struct ahead a = { 0 };

	pthread_mutex_lock(&s->lock);
	plan_extents(s, &a);
	*alone = is_alone(s);
	q = own_queue(s, me);
	if (q == NULL)
		q = longest_queue(s);
	if (q != NULL) {
		j = &s->ahead.plan->jobs[q->next++];
		plan_jobs(s, q, &a);
	}
	pthread_mutex_unlock(&s->lock);
	image_readahead_extents(&s->ahead, a.extent, a.extent_end,
	    jobs_of(s, STEP_B));
	image_readahead_jobs(&s->ahead, a.job, a.job_end);
	return j;
}
