/*
 * arena.h - many small allocations that are freed together
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An arena belongs to one thread at a time.  A zeroed struct is an empty arena.
 */
#ifndef COLDPRESS_ARENA_H
#define COLDPRESS_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;	/* list, current chunk first */
	size_t left;			/* bytes free in the current chunk */
};

/*
 * Allocates size bytes, aligned for pointers and 64-bit integers and valid
 * until arena_free().  Returns NULL if out of memory.
 */
void *arena_take(struct arena *a, size_t size);

/*
 * Copies len bytes and adds a NUL; copies are packed without gaps.  Returns
 * NULL if out of memory.
 */
char *arena_copy(struct arena *a, const void *data, size_t len);

/* Frees everything allocated from the arena, which is then empty again. */
void arena_free(struct arena *a);

#endif
