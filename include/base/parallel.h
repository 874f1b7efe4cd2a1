/*
 * parallel.h - the same work by several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Both calls run fn(arg, i), i from 0 on, each in a thread, and return when
 * all have ended.  The caller is thread 0.  What they work on is for fn to
 * share out.  Thread-safe.
 */
#ifndef COLDPRESS_PARALLEL_H
#define COLDPRESS_PARALLEL_H

enum { PARALLEL_MAX = 1024 };	/* threads of one call, this one among them */

typedef void parallel_fn(void *arg, unsigned i);

/*
 * Up to that many threads; fewer where they cannot be started, at least the
 * caller.  How many ran: i was below it.
 */
unsigned parallel_run(unsigned threads, parallel_fn *fn, void *arg);

/*
 * Exactly that many, or none: 0, -EINVAL (none, or more than PARALLEL_MAX),
 * -ENOMEM or -errno of pthread_create(3), and then fn was not called.
 */
int parallel_run_all(unsigned threads, parallel_fn *fn, void *arg);

#endif
