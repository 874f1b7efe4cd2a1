/*
 * adapt.c - adjusting the level to the pipe's speed
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pipeline/adapt.h"

#include <stdio.h>

/*
 * The time between two checks, long enough for the idle percentage to be
 * meaningful.
 */
#define LOOK_NS UINT64_C(20000000)

int
adapt_look(struct adapt_state *a, uint64_t wall_ns, uint64_t idle_ns,
    unsigned threads)
{
	double all = (double)wall_ns * threads;
	double idle = 100 * (double)idle_ns;
	int move = 0;

	if (a->wait > 0) {
		a->wait--;
		return a->level;
	}
	if (idle >= ADAPT_IDLE_UP * all)
		move = a->level < a->max ? 1 : 0;
	else if (idle <= ADAPT_IDLE_DOWN * all)
		move = a->level > a->min ? -1 : 0;
	if (move == 0)
		return a->level;
	if (move == -a->direction) {
		a->hold = a->hold == 0 ? 1 : 2 * a->hold;
		if (a->hold > ADAPT_HOLD_MAX)
			a->hold = ADAPT_HOLD_MAX;
		a->wait = a->hold;
	} else {
		/*
		 * several moves in one direction: the pipe's speed has changed
		 */
		a->hold /= 2;
	}
	a->direction = move;
	a->level += move;
	return a->level;
}

void
adapt_start(struct adapt *a, int level, int min, int max)
{
	*a = (struct adapt){ .state = { .level = level < min ? min :
	    level > max ? max : level, .min = min, .max = max } };
	atomic_init(&a->level, a->state.level);
	for (int i = 0; i < ADAPT_LEVELS; i++)
		atomic_init(&a->blocks[i], 0);
}

int
adapt_take(struct adapt *a)
{
	int level = atomic_load_explicit(&a->level, memory_order_relaxed);

	atomic_fetch_add_explicit(&a->blocks[level], 1,
	    memory_order_relaxed);
	return level;
}

/*
 * Checks the workers once the number of pieces completed since the last check
 * has reached the number of workers.
 */
void
adapt_watch(void *arg, const struct pipeline_watch *w)
{
	struct adapt *a = arg;
	uint64_t wall_ns = w->now_ns - a->looked_ns;

	a->pieces++;
	if (a->looked_ns != 0) {
		if (a->pieces < w->threads || wall_ns < LOOK_NS)
			return;
		atomic_store_explicit(&a->level, adapt_look(&a->state,
		    wall_ns, w->idle_ns - a->looked_idle_ns, w->threads),
		    memory_order_relaxed);
	}
	a->looked_ns = w->now_ns;
	a->looked_idle_ns = w->idle_ns;
	a->pieces = 0;
}

void
adapt_text(const struct adapt *a, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < ADAPT_LEVELS && used < size; i++) {
		unsigned long long n = atomic_load(&a->blocks[i]);

		if (n > 0)
			used += (size_t)snprintf(text + used, size - used,
			    "%s%dx%llu", used > 0 ? " " : "", i, n);
	}
}
