/*
 * lock.h - locks held only briefly
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_LOCK_H
#define COLDPRESS_IMAGE_LOCK_H

#include <pthread.h>

/*
 * Initializes a lock that spins if the C library supports it, which is cheaper
 * than sleeping.
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
