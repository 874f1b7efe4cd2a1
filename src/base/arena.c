/*
 * arena.c - many small allocations that are freed together
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/arena.h"

#include "base/sys.h"

#include <stdint.h>
#include <string.h>

enum { CHUNK_B = 256 << 10, ALIGN = 8 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
	uint64_t data[];
};

/* Allocates a chunk of at least the given size. */
static int
add_chunk(struct arena *a, size_t size)
{
	struct arena_chunk *c;

	if (size < CHUNK_B - sizeof(*c))
		size = CHUNK_B - sizeof(*c);
	c = sys_malloc(sizeof(*c) + size);
	if (c == NULL)
		return -1;
	c->next = a->chunks;
	c->size = size;
	a->chunks = c;
	a->left = size;
	return 0;
}

void *
arena_take(struct arena *a, size_t size)
{
	size_t n = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	uint8_t *end;

	if (n < size || n > SIZE_MAX / 2 ||
	    (n > a->left && add_chunk(a, n) != 0) || a->chunks == NULL)
		return NULL;
	end = (uint8_t *)a->chunks->data + a->chunks->size;
	a->left -= n;
	return end - a->left - n;
}

/* Takes the bytes from the end of the chunk, where nothing needs alignment. */
char *
arena_copy(struct arena *a, const void *data, size_t len)
{
	char *copy;

	if (len > SIZE_MAX / 2 ||
	    (len >= a->left && add_chunk(a, len + 1) != 0))
		return NULL;
	a->chunks->size -= len + 1;
	a->left -= len + 1;
	copy = (char *)a->chunks->data + a->chunks->size;
	if (len > 0)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return copy;
}

void
arena_free(struct arena *a)
{
	while (a->chunks != NULL) {
		struct arena_chunk *c = a->chunks;

		a->chunks = c->next;
		sys_free(c);
	}
	a->left = 0;
}
