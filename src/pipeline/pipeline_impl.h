/*
 * pipeline_impl.h - the state shared by the threads of a pipeline
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_PIPELINE_IMPL_H
#define COLDPRESS_PIPELINE_IMPL_H

#include "pipeline/pipeline.h"

#include <pthread.h>

/* The owner of a slot; see pipeline.c. */
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

/* These functions are also used in a pipeline without threads. */
int pipeline_worker_open(struct pipeline *pl, void **ctx);
void pipeline_worker_close(struct pipeline *pl, void *ctx);
void pipeline_work(struct pipeline *pl, void *ctx, struct slot *s);

/*
 * Starts up to `threads` workers, and sets pl->workers to the number started.
 * Fails only if none can be started.  Returns 0 or -errno.
 */
int pipeline_start(struct pipeline *pl, struct pipeline_worker *w,
    unsigned threads);

#endif
