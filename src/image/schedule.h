/*
 * schedule.h - assigning jobs to threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Data unpacked by one thread and hashed by another has to move between
 * processor caches, which costs a quarter of the time for hashing and
 * unpacking.  So each thread has its own queues, buffers and files, and takes
 * work from other threads only when it has none left.
 */
#ifndef COLDPRESS_IMAGE_SCHEDULE_H
#define COLDPRESS_IMAGE_SCHEDULE_H

#include "image_impl.h"
#include "plan.h"

/* The source of a thread's jobs: an extent, from `next` onward. */
struct image_queue {
	size_t next, end;		/* jobs */
	size_t advised;			/* jobs already read ahead */
};

struct image_scheduler {
	const struct image *image;
	const struct image_plan *plan;
	unsigned threads, each;		/* queues per thread */
	pthread_mutex_t lock;		/* protects everything below */
	struct image_queue *queues;
	unsigned *turn;			/* the next queue of each thread */
	size_t next;			/* next extent */
	size_t advised;			/* extents whose beginnings are read
					 * ahead */
	size_t advised_jobs;		/* jobs in these */
};

/*
 * Opens the scheduler; `each` is the number of files that a thread should hash
 * at the same time.  Returns 0 or -ENOMEM; must be closed even on failure.
 */
int image_scheduler_open(struct image_scheduler *s, const struct image *m,
    const struct image_plan *p, unsigned threads, unsigned each);
void image_scheduler_close(struct image_scheduler *s);

/*
 * Returns a job for thread me, which has a buffer for it, or NULL if there are
 * no more.  alone is set if no other file is in any queue or will be added to
 * one.  Thread-safe.
 */
const struct image_job *image_scheduler_take(struct image_scheduler *s,
    unsigned me, bool *alone);

#endif
