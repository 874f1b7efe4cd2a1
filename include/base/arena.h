/*
 * arena.h - memory for many small things that all go at once
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * By one thread at a time.  All zero is an arena of nothing.
 */
#ifndef COLDPRESS_ARENA_H
#define COLDPRESS_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;	/* the one in use is first */
	size_t left;			/* bytes of it */
};

/*
 * size bytes, aligned for pointers and 64-bit integers, until arena_free();
 * NULL: no memory.
 */
void *arena_take(struct arena *a, size_t size);

/* Frees all that was taken; then it is an arena of nothing again. */
void arena_free(struct arena *a);

#endif
