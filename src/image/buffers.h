/*
 * buffers.h - a limited number of buffers for unpacked blocks
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_BUFFERS_H
#define COLDPRESS_IMAGE_BUFFERS_H

#include "image_impl.h"

/* An unpacked block, kept while it has users. */
struct image_buffer {
	uint8_t *data;
	size_t len;
	int err;			/* -errno if it could not be read */
	atomic_uint users;
	uint32_t block;			/* index in the stream waiting for it */
	unsigned owner;			/* thread */
	struct image_buffer *next;
};

struct image_buffers {
	struct image_ending *ending;
	unsigned threads, count;
	uint8_t *memory;		/* memory of all buffers */
	struct image_buffer *all;
	atomic_uint left;		/* number of free buffers */
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct image_buffer **free;	/* each owner's free buffers;
					 * protected by the lock */
};

/*
 * Returns the number of threads, at most `most`, for which there is enough
 * memory for buffers.
 */
unsigned image_buffers_threads(const struct image *m, unsigned most);

/*
 * Allocates as many buffers as the memory limit allows.  Returns 0 or -ENOMEM;
 * must be closed even on failure.
 */
int image_buffers_open(struct image_buffers *b, size_t block_B,
    unsigned threads, struct image_ending *e);
void image_buffers_close(struct image_buffers *b);

/* All calls below are thread-safe. */

/*
 * Returns a buffer, preferably one owned by thread me, with one user.  If none
 * is left, returns NULL or, if wait is set, waits until the walk has ended.
 */
struct image_buffer *image_buffers_take(struct image_buffers *b, unsigned me,
    bool wait);

/* Wakes waiting threads when a thread leaves. */
void image_buffers_wake(struct image_buffers *b);

/* Returns whether buffers are scarce and should be returned. */
bool image_buffers_few(struct image_buffers *b);

/* These add the given number of users, and remove one user. */
void image_buffer_use(struct image_buffer *b, unsigned times);
void image_buffer_done(struct image_buffers *all, struct image_buffer *b);

#endif
