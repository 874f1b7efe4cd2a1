/*
 * units_spares.c - buffers that are kept for reuse
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "units_spares.h"

#include "base/sys.h"

#include <errno.h>
#include <pthread.h>

enum { COUNT = 16, SMALL = 128 << 10, ROUND = 256 << 10 };

struct units_spares {
	uint64_t limit;

	pthread_mutex_t lock;		/* of what follows */
	struct units_spare all[COUNT];
	size_t count;
	uint64_t bytes;
};

int
units_spares_open(struct units_spares **out, uint64_t limit)
{
	struct units_spares *s = sys_calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	s->limit = limit;
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

void
units_spares_close(struct units_spares *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->count; i++)
		sys_free(s->all[i].data);
	pthread_mutex_destroy(&s->lock);
	sys_free(s);
}

/* Removes a kept buffer.  Called with the lock held. */
static void
remove_at(struct units_spares *s, size_t i)
{
	s->bytes -= s->all[i].room;
	s->all[i] = s->all[--s->count];
}

int
units_spares_take(struct units_spares *s, size_t size, struct units_spare *b)
{
	*b = (struct units_spare){ .room = size + 1 };
	if (size >= SMALL) {
		/* a kept buffer that is large enough, but not much larger */
		pthread_mutex_lock(&s->lock);
		for (size_t i = s->count; b->data == NULL && i-- > 0; )
			if (s->all[i].room >= size &&
			    s->all[i].room <= size + size / 2 + ROUND) {
				*b = s->all[i];
				remove_at(s, i);
			}
		pthread_mutex_unlock(&s->lock);
		if (b->data != NULL)
			return 0;
		b->room = (size + ROUND - 1) / ROUND * ROUND;
	}
	b->data = sys_malloc(b->room);
	if (b->data == NULL)
		b->room = 0;
	return b->data == NULL ? -ENOMEM : 0;
}

void
units_spares_give(struct units_spares *s, const struct units_spare *b)
{
	struct units_spare unwanted = *b;

	pthread_mutex_lock(&s->lock);
	if (b->room > SMALL && b->room <= s->limit) {
		unwanted.data = NULL;
		/* the others have been unused for longer */
		while (s->count == COUNT || s->bytes + b->room > s->limit) {
			sys_free(s->all[0].data);
			remove_at(s, 0);
		}
		s->all[s->count++] = *b;
		s->bytes += b->room;
	}
	pthread_mutex_unlock(&s->lock);
	sys_free(unwanted.data);
}
