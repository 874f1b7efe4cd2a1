/*
 * adapt.h - adjusting the level to the pipe's speed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Compression should neither slow down a pipe nor leave processors idle.
 * Workers that wait for input, or for output to be read, have time for a higher
 * level; workers that never wait slow down the pipe.
 *
 * Workers read the level; one thread changes it.
 */
#ifndef COLDPRESS_ADAPT_H
#define COLDPRESS_ADAPT_H

#include "pipeline/pipeline.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
	ADAPT_LEVELS = 23,
	/* idle percentages above which the level rises, below which it falls */
	ADAPT_IDLE_UP = 40,
	ADAPT_IDLE_DOWN = 15,
	ADAPT_HOLD_MAX = 8	/* maximum number of checks skipped after a
				 * reversal */
};

/* The state of the controller. */
struct adapt_state {
	int level, min, max;
	int direction;		/* direction of the last change */
	unsigned hold;		/* checks to skip after the next reversal */
	unsigned wait;		/* checks still to be skipped */
};

/*
 * Checks the workers: during wall_ns, the given number of threads waited for
 * idle_ns in total.  Returns the level to use from now on.  After a reversal of
 * direction, a growing number of checks is skipped, so that the level settles.
 * Has no effect other than on *a.
 */
int adapt_look(struct adapt_state *a, uint64_t wall_ns, uint64_t idle_ns,
    unsigned threads);

struct adapt {
	struct adapt_state state;
	uint64_t looked_ns, looked_idle_ns;
	unsigned pieces;		/* pieces completed since the last
					 * check */
	atomic_int level;
	atomic_ullong blocks[ADAPT_LEVELS];	/* compressed, by level */
};

/*
 * Starts at the given level, in the range min..max.  Call this from one thread,
 * before any other function.
 */
void adapt_start(struct adapt *a, int level, int min, int max);

/* Returns the level for the next block, and counts that block.  Thread-safe. */
int adapt_take(struct adapt *a);

/* For pipeline_params.watch; arg is a struct adapt. */
void adapt_watch(void *arg, const struct pipeline_watch *w);

/*
 * Writes the number of blocks compressed at each level, as in "1x20 5x3",
 * truncated to size - 1.
 */
void adapt_text(const struct adapt *a, char *text, size_t size);

#endif
