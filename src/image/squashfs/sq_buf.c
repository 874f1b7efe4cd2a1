/*
 * sq_buf.c - unpacked blocks in memory, as many as there is room for
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sq_walk.h"

#include "base/sys.h"

#include <errno.h>

/*
 * A thread has at most two files in its lanes, and for each of them there may
 * be a fragment block that waits for the file's other blocks.  One buffer more
 * would be enough for all to go on; one more for each lets all work.
 */
enum {
	POOL_B = 16 << 20,		/* of all buffers together, or so */
	POOL_MOST = 64,
	LEAST = 3
};

/* POOL_B are beside all that is counted. */
unsigned
sq_pool_threads(const struct sq_super *s, unsigned most)
{
	unsigned n = most;

	while (n > 1 && sq_take(s, (uint64_t)LEAST * n * s->block > POOL_B ?
	    (uint64_t)LEAST * n * s->block - POOL_B : 0) != 0)
		n--;
	return n;
}

int
sq_pool_open(struct sq_pool *p, size_t block, unsigned threads)
{
	size_t count = POOL_B / block;

	if (count > POOL_MOST)
		count = POOL_MOST;
	if (count < LEAST * (size_t)threads + 1)
		count = LEAST * (size_t)threads + 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->freed, NULL);
	p->all = sys_calloc(count, sizeof(*p->all));
	p->free = sys_calloc(threads, sizeof(*p->free));
	p->memory = sys_malloc(count * block);
	if (p->all == NULL || p->free == NULL || p->memory == NULL)
		return -ENOMEM;
	for (; p->count < count; p->count++) {
		struct sq_buf *b = &p->all[p->count];

		b->data = p->memory + p->count * block;
		b->owner = p->count % threads;
		b->next = p->free[b->owner];
		p->free[b->owner] = b;
	}
	atomic_store(&p->left, p->count);
	return 0;
}

void
sq_pool_close(struct sq_pool *p)
{
	sys_free(p->memory);
	sys_free(p->all);
	sys_free(p->free);
	pthread_cond_destroy(&p->freed);
	pthread_mutex_destroy(&p->lock);
}

/* Under the lock; his own, or another's. */
static struct sq_buf *
take(struct sq_walk *w, unsigned me)
{
	unsigned threads = w->o->threads;

	for (unsigned i = 0; i < threads; i++) {
		struct sq_buf **free = &w->pool.free[(me + i) % threads];
		struct sq_buf *b = *free;

		if (b == NULL)
			continue;
		*free = b->next;
		atomic_fetch_sub(&w->pool.left, 1);
		atomic_store(&b->users, 1);
		b->len = 0;
		b->err = 0;
		return b;
	}
	return NULL;
}

struct sq_buf *
sq_buf_take(struct sq_walk *w, unsigned me)
{
	struct sq_buf *b;

	pthread_mutex_lock(&w->pool.lock);
	b = take(w, me);
	pthread_mutex_unlock(&w->pool.lock);
	return b;
}

struct sq_buf *
sq_buf_wait(struct sq_walk *w, unsigned me)
{
	struct sq_buf *b;

	pthread_mutex_lock(&w->pool.lock);
	while ((b = take(w, me)) == NULL && !sq_ended(w))
		pthread_cond_wait(&w->pool.freed, &w->pool.lock);
	pthread_mutex_unlock(&w->pool.lock);
	return b;
}

bool
sq_buf_few(struct sq_walk *w)
{
	return atomic_load(&w->pool.left) < w->pool.count / 2;
}

void
sq_buf_use(struct sq_buf *b, unsigned times)
{
	atomic_fetch_add(&b->users, times);
}

void
sq_buf_done(struct sq_walk *w, struct sq_buf *b)
{
	struct sq_pool *p = &w->pool;

	if (atomic_fetch_sub(&b->users, 1) > 1)
		return;
	pthread_mutex_lock(&p->lock);
	b->next = p->free[b->owner];
	p->free[b->owner] = b;
	atomic_fetch_add(&p->left, 1);
	pthread_cond_signal(&p->freed);
	pthread_mutex_unlock(&p->lock);
}

void
sq_buf_wake(struct sq_walk *w)
{
	pthread_mutex_lock(&w->pool.lock);
	pthread_cond_broadcast(&w->pool.freed);
	pthread_mutex_unlock(&w->pool.lock);
}
