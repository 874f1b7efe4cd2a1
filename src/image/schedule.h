/*
 * schedule.h - which thread has what to do
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What one thread unpacks and another hashes has to go from one processor's
 * cache to another's, which costs a quarter of hashing and unpacking.  So each
 * thread has queues, buffers and files of its own, and takes from others when
 * it has nothing left.
 */
#ifndef COLDPRESS_IMAGE_SCHEDULE_H
#define COLDPRESS_IMAGE_SCHEDULE_H

#include "readahead.h"

#include <pthread.h>

/* Where a thread's jobs come from: an extent, from next on. */
struct image_queue {
	size_t next, end;		/* jobs */
	size_t advised;			/* those that are read ahead */
};

struct image_scheduler {
	struct image_readahead ahead;
	unsigned threads, each;		/* queues of a thread */
	pthread_mutex_t lock;		/* of all that follows */
	struct image_queue *queues;
	unsigned *turn;			/* of each thread */
	size_t next;			/* extent */
	size_t advised;			/* extents whose beginnings are ahead */
	size_t advised_jobs;		/* jobs of these */
};

/*
 * each: files that a thread best hashes together.  0 or -ENOMEM; to be closed
 * in any case.
 */
int image_scheduler_open(struct image_scheduler *s, const struct image *m,
    const struct image_plan *p, unsigned threads, unsigned each);
void image_scheduler_close(struct image_scheduler *s);

/*
 * A job for thread me, who has a buffer for it; NULL: there is no more.
 * alone: no other file is in any queue, or will be.  Thread-safe.
 */
const struct image_job *image_scheduler_take(struct image_scheduler *s,
    unsigned me, bool *alone);

#endif
