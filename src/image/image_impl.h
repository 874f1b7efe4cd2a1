/*
 * image_impl.h - declarations shared by the files that walk an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_IMPL_H
#define COLDPRESS_IMAGE_IMPL_H

#include "image/source.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { IMAGE_PATH_MAX = 64 << 10 };

/*
 * Returns a path from the root, at the end of buf, which has IMAGE_PATH_MAX
 * bytes; NULL if it is too long.  The directory must not be the root.
 */
const char *image_file_path(const struct image *m, uint32_t file, char *buf);
const char *image_dir_path(const struct image *m, size_t dir, char *buf);

struct image_ending {
	atomic_int err;			/* the error that ends the walk */
	const atomic_bool *cancel;	/* the caller's, or NULL */
};

/*
 * Ends the walk in all of its threads; the first error is kept.  Thread-safe,
 * as is the next function.
 */
static inline void
image_end(struct image_ending *e, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&e->err, &none, err);
}

static inline bool
image_ended(struct image_ending *e)
{
	if (e->cancel != NULL && atomic_load(e->cancel))
		image_end(e, -ECANCELED);
	return atomic_load(&e->err) != 0;
}

/*
 * Initializes a lock that is held only briefly: it spins if the C library
 * supports it, which is cheaper than sleeping.
 */
static inline void
image_lock_init(pthread_mutex_t *lock)
{
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &a);
	pthread_mutexattr_destroy(&a);
#else
	pthread_mutex_init(lock, NULL);
#endif
}

#endif
