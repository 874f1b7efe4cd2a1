/*
 * buffers.h - unpacked blocks in memory, as many as there is room for
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_BUFFERS_H
#define COLDPRESS_IMAGE_BUFFERS_H

#include "ending.h"
#include "image/source.h"

#include <pthread.h>

/* An unpacked block, until nobody has use for it. */
struct image_buffer {
	uint8_t *data;
	size_t len;
	int err;			/* -errno: it is lost */
	atomic_uint users;
	uint32_t block;			/* of the stream it waits in */
	unsigned owner;			/* thread */
	struct image_buffer *next;
};

struct image_buffers {
	struct image_ending *ending;
	unsigned threads, count;
	uint8_t *memory;		/* of all */
	struct image_buffer *all;
	atomic_uint left;		/* free ones of all */
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct image_buffer **free;	/* under the lock: of each owner */
};

/* How many threads have buffers in the memory there is: most, or fewer. */
unsigned image_buffers_threads(const struct image *m, unsigned most);

/* So many as some memory holds; 0 or -ENOMEM; to be closed in any case. */
int image_buffers_open(struct image_buffers *b, size_t block_B,
    unsigned threads, struct image_ending *e);
void image_buffers_close(struct image_buffers *b);

/* All calls that follow are thread-safe. */

/* One for thread me, with one user; NULL if there is none left. */
struct image_buffer *image_buffers_take(struct image_buffers *b, unsigned me);

/* Waits for one; NULL once the walk has ended. */
struct image_buffer *image_buffers_wait(struct image_buffers *b, unsigned me);

/* For those that wait, when somebody leaves. */
void image_buffers_wake(struct image_buffers *b);

/* Whether it is time to give some back. */
bool image_buffers_few(struct image_buffers *b);

/* Another so many users; one user less. */
void image_buffer_use(struct image_buffer *b, unsigned times);
void image_buffer_done(struct image_buffers *all, struct image_buffer *b);

#endif
