/*
 * buffers.c - a limited number of buffers for unpacked blocks
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "buffers.h"

#include "base/sys.h"

/*
 * A thread has at most two files in its queues, and each file may have a
 * fragment block that waits for the file's other blocks.  One additional buffer
 * would be enough to avoid a deadlock; with one additional buffer per thread,
 * all threads can work.
 */
enum {
	ALL_B = 16 << 20,		/* approximate size of all buffers */
	MOST = 64,
	LEAST = 3
};

/* ALL_B is in addition to all memory counted so far. */
unsigned
image_buffers_threads(const struct image *m, unsigned most)
{
	unsigned n = most;

	while (n > 1 && image_take(m->memory,
	    (uint64_t)LEAST * n * m->block_B > ALL_B ?
	    (uint64_t)LEAST * n * m->block_B - ALL_B : 0) != 0)
		n--;
	return n;
}

int
image_buffers_open(struct image_buffers *b, size_t block_B, unsigned threads,
    struct image_ending *e)
{
	size_t count = ALL_B / block_B;

	if (count > MOST)
		count = MOST;
	if (count < LEAST * (size_t)threads + 1)
		count = LEAST * (size_t)threads + 1;
	*b = (struct image_buffers){ .ending = e, .threads = threads };
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->freed, NULL);
	b->all = sys_calloc(count, sizeof(*b->all));
	b->free = sys_calloc(threads, sizeof(*b->free));
	b->memory = sys_malloc(count * block_B);
	if (b->all == NULL || b->free == NULL || b->memory == NULL)
		return -ENOMEM;
	for (; b->count < count; b->count++) {
		struct image_buffer *one = &b->all[b->count];

		one->data = b->memory + b->count * block_B;
		one->owner = b->count % threads;
		one->next = b->free[one->owner];
		b->free[one->owner] = one;
	}
	atomic_store(&b->left, b->count);
	return 0;
}

void
image_buffers_close(struct image_buffers *b)
{
	sys_free(b->memory);
	sys_free(b->all);
	sys_free(b->free);
	pthread_cond_destroy(&b->freed);
	pthread_mutex_destroy(&b->lock);
}

struct image_buffer *
image_buffers_take(struct image_buffers *b, unsigned me, bool wait)
{
	struct image_buffer *one = NULL;

	pthread_mutex_lock(&b->lock);
	for (;;) {
		for (unsigned i = 0; i < b->threads && one == NULL; i++) {
			struct image_buffer **free =
			    &b->free[(me + i) % b->threads];

			one = *free;
			if (one != NULL)
				*free = one->next;
		}
		if (one != NULL || !wait || image_ended(b->ending))
			break;
		pthread_cond_wait(&b->freed, &b->lock);
	}
	if (one != NULL) {
		atomic_fetch_sub(&b->left, 1);
		atomic_store(&one->users, 1);
		one->len = 0;
		one->err = 0;
	}
	pthread_mutex_unlock(&b->lock);
	return one;
}

void
image_buffers_wake(struct image_buffers *b)
{
	pthread_mutex_lock(&b->lock);
	pthread_cond_broadcast(&b->freed);
	pthread_mutex_unlock(&b->lock);
}

bool
image_buffers_few(struct image_buffers *b)
{
	return atomic_load(&b->left) < b->count / 2;
}

void
image_buffer_use(struct image_buffer *b, unsigned times)
{
	atomic_fetch_add(&b->users, times);
}

void
image_buffer_done(struct image_buffers *all, struct image_buffer *b)
{
	if (atomic_fetch_sub(&b->users, 1) > 1)
		return;
	pthread_mutex_lock(&all->lock);
	b->next = all->free[b->owner];
	all->free[b->owner] = b;
	atomic_fetch_add(&all->left, 1);
	pthread_cond_signal(&all->freed);
	pthread_mutex_unlock(&all->lock);
}
