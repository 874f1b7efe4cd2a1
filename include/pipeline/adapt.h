/*
 * adapt.h - a level that follows the pipe
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Compression shall not be what a pipe waits for, nor have time to spare.
 * Workers that wait, because little comes in or little is taken away, have
 * time for a higher level; workers that never wait make the others wait.
 *
 * Workers read the level; one thread moves it.
 */
#ifndef COLDPRESS_ADAPT_H
#define COLDPRESS_ADAPT_H

#include "pipeline/pipeline.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
	ADAPT_LEVELS = 23,
	ADAPT_IDLE_UP = 40,	/* percent of the workers' time: enough to */
	ADAPT_IDLE_DOWN = 15,	/* go up; little enough to go down */
	ADAPT_HOLD_MAX = 8	/* looks without a move after a turn, at most */
};

/* The controller alone. */
struct adapt_state {
	int level, min, max;
	int direction;		/* of the last move */
	unsigned hold;		/* after the next turn */
	unsigned wait;		/* looks that are still to be passed over */
};

/*
 * A look at the workers: of wall_ns, in which there were threads of them,
 * they waited for idle_ns, summed.  The level from now on.  After a move that
 * reverses the previous one, looks are skipped, more of them each time, so that
 * the level settles.  Pure.
 */
int adapt_look(struct adapt_state *a, uint64_t wall_ns, uint64_t idle_ns,
    unsigned threads);

struct adapt {
	struct adapt_state state;
	uint64_t looked_ns, looked_idle_ns;
	unsigned pieces;		/* since then */
	atomic_int level;
	atomic_ullong blocks[ADAPT_LEVELS];	/* compressed at each */
};

/* Begins at level, in min..max.  By one thread, before any other call. */
void adapt_start(struct adapt *a, int level, int min, int max);

/* The level for a block now, which is counted.  Thread-safe. */
int adapt_take(struct adapt *a);

/* For pipeline_params.watch; arg is a struct adapt. */
void adapt_watch(void *arg, const struct pipeline_watch *w);

/*
 * "1x20 5x3": how many blocks each level had, into text; cut to size - 1.
 */
void adapt_text(const struct adapt *a, char *text, size_t size);

#endif
