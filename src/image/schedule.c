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

#include <errno.h>
#include <fcntl.h>

/*
 * The read-ahead, in bytes of unpacked data.  Short steps start earlier; long
 * steps, in files that are long enough, are better for disks that have to seek.
 */
enum {
	AHEAD_B = 8 << 20,
	STEP_B = 1 << 20,
	LONG_STEP_B = 4 << 20,
	GAP_B = 64 << 10,		/* maximum gap read to merge two
					 * pieces */
	REQUEST_B = 512 << 10
};

/* A part of the image. */
struct part {
	uint64_t from, to;
};

int
image_scheduler_open(struct image_scheduler *s, const struct image *m,
    const struct image_plan *p, unsigned threads, unsigned each)
{
	*s = (struct image_scheduler){ .image = m, .plan = p,
	    .threads = threads, .each = each };
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
	return bytes / s->image->block_B;
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

/* Returns the thread's next queue in turn, refilled if necessary, or NULL. */
static struct image_queue *
own_queue(struct image_scheduler *s, unsigned me)
{
	for (unsigned i = 0; i < s->each; i++) {
		unsigned turn = s->turn[me]++ % s->each;
		struct image_queue *q = &s->queues[me * s->each + turn];

		if (q->next == q->end && s->next < s->plan->extent_count) {
			const struct image_extent *e =
			    &s->plan->extents[s->next++];
			size_t begun = beginning(s, e);

			q->next = e->first;
			q->end = e->first + e->count;
			q->advised = e->first + begun;
			s->advised_jobs -= begun;
		}
		if (q->next < q->end)
			return q;
	}
	return NULL;
}

/*
 * Requests a part in steps, because for a longer range the kernel reads only as
 * much as fits into one disk request.  The kernel's own read-ahead does not
 * detect several threads reading several files alternately.
 */
static void
request_part(const struct image *m, const struct part *p)
{
	for (uint64_t at = p->from; at < p->to && at < m->length;
	    at += REQUEST_B)
		posix_fadvise(m->fd, (off_t)(m->offset + at),
		    p->to - at < REQUEST_B ? (off_t)(p->to - at) : REQUEST_B,
		    POSIX_FADV_WILLNEED);
}

/* Extends p by these jobs, or requests it and starts another. */
static void
extend_part(const struct image_scheduler *s, struct part *p, size_t from,
    size_t count)
{
	for (size_t i = from; i < from + count; i++) {
		const struct image_job *j = &s->plan->jobs[i];
		uint64_t end = j->at + image_stored_B(j->word);

		if (j->at >= p->to && j->at - p->to <= GAP_B) {
			p->to = end;
			continue;
		}
		request_part(s->image, p);
		*p = (struct part){ j->at, end };
	}
}

const struct image_job *
image_scheduler_take(struct image_scheduler *s, unsigned me, bool *alone)
{
	const struct image_plan *p = s->plan;
	const struct image_job *j = NULL;
	struct image_queue *q, *longest = &s->queues[0];
	size_t extent, extent_end, job = 0, jobs = 0;
	size_t most = jobs_of(s, AHEAD_B), step = jobs_of(s, LONG_STEP_B);
	struct part part = { 0, 0 };
	unsigned files = 0;

	pthread_mutex_lock(&s->lock);
	/*
	 * read ahead the beginnings of extents, so that AHEAD_B bytes are
	 * always read ahead
	 */
	extent = s->advised;
	if (s->advised_jobs + jobs_of(s, STEP_B) <= most)
		while (s->advised < p->extent_count && s->advised_jobs < most)
			s->advised_jobs += beginning(s,
			    &p->extents[s->advised++]);
	extent_end = s->advised;
	for (unsigned i = 0; i < s->threads * s->each; i++)
		files += s->queues[i].next < s->queues[i].end;
	*alone = s->next == p->extent_count && files < 2;
	q = own_queue(s, me);
	if (q == NULL) {
		/* the queue with the most remaining work */
		for (unsigned i = 1; i < s->threads * s->each; i++)
			if (s->queues[i].end - s->queues[i].next >
			    longest->end - longest->next)
				longest = &s->queues[i];
		q = longest->next < longest->end ? longest : NULL;
	}
	if (q != NULL) {
		j = &p->jobs[q->next++];
		/* the rest of the queue's extent */
		job = q->advised;
		if (q->advised - q->next + step <= most)
			jobs = q->end - job < step ? q->end - job : step;
		q->advised += jobs;
	}
	pthread_mutex_unlock(&s->lock);
	for (; extent < extent_end; extent++)
		extend_part(s, &part, p->extents[extent].first,
		    beginning(s, &p->extents[extent]));
	request_part(s->image, &part);
	part = (struct part){ 0, 0 };
	extend_part(s, &part, job, jobs);
	request_part(s->image, &part);
	return j;
}
