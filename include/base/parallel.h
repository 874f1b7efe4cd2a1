/*
 * parallel.h - running one function in several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Both calls run fn(arg, i) for i = 0, 1, and so on, each in its own thread,
 * and return when all threads have finished.  The caller is thread 0.  fn must
 * divide the work itself.  Thread-safe.
 */
#ifndef COLDPRESS_PARALLEL_H
#define COLDPRESS_PARALLEL_H

enum { PARALLEL_MAX = 1024 };	/* threads per call, including the caller */

typedef void parallel_fn(void *arg, unsigned i);

/*
 * Runs the given number of threads, or fewer if some cannot be started, but
 * always the caller's.  Returns the number of threads that ran; i is less than
 * that number in every call of fn.
 */
unsigned parallel_run(unsigned threads, parallel_fn *fn, void *arg);

/*
 * Runs exactly the given number of threads, or none.  Returns 0 or, without
 * having called fn, -EINVAL (0 or more than PARALLEL_MAX), -ENOMEM or -errno
 * from pthread_create(3).
 */
int parallel_run_all(unsigned threads, parallel_fn *fn, void *arg);

#endif
