/*
 * sq_pool.c - the buffers of a walk over a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The last one given back is the first one given out: it is still in the
 * cache of a CPU.
 */
#include "sq_walk.h"

#include "sys.h"

struct sq_buf *
sq_pool_get(struct sq_pool *p, pthread_mutex_t *lock, const atomic_bool *stop)
{
	struct sq_buf *b;

	while (p->free == NULL && p->left == 0 && !*stop) {
		p->waiting++;
		pthread_cond_wait(&p->some, lock);
		p->waiting--;
	}
	if (*stop)
		return NULL;
	b = p->free;
	if (b != NULL) {
		p->free = b->next;
		return b;
	}
	b = sys_malloc(sizeof(*b) + p->size);
	if (b != NULL)
		p->left--;
	return b;
}

void
sq_pool_put(struct sq_pool *p, struct sq_buf *b)
{
	b->next = p->free;
	p->free = b;
	if (p->waiting > 0)
		pthread_cond_signal(&p->some);
}

void
sq_pool_free(struct sq_pool *p)
{
	while (p->free != NULL) {
		struct sq_buf *b = p->free;

		p->free = b->next;
		sys_free(b);
	}
}
