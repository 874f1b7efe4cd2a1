/*
 * inflate_fast.h - decoding the symbols of a deflate block, while there is room
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_INFLATE_FAST_H
#define COLDPRESS_INFLATE_FAST_H

#include "inflate_codes.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The number of bytes of `in`, and of units of out, that must be available so
 * that no step needs a check.
 */
enum { INFLATE_FAST_IN = 32, INFLATE_FAST_OUT = 258 + 64 };

/* The decoder's position. */
struct inflate_place {
	const uint8_t *in, *in_end;
	uint8_t *out, *out_end;
	unsigned unit;			/* bytes that each byte of output takes,
					 * 1 or 2 */
	uint64_t bits;			/* read from `in`, lowest first; bits
					 * above `count` are zero */
	unsigned count;			/* number of valid bits, at most 63 */

	const uint8_t *begin;		/* start of the output before out */
	const uint8_t *window_end;	/* end of the output before begin, */
	size_t window_len;		/* and its length */
	uint8_t *used_end;		/* NULL, or the end of an array of
					 * flags, set for each window byte that
					 * is copied */
};

/* Stores a byte of output. */
static inline void
inflate_put(uint8_t *out, unsigned unit, uint8_t byte)
{
	uint16_t wide = byte;

	if (unit == 1)
		*out = byte;
	else
		memcpy(out, &wide, sizeof(wide));
}

enum inflate_why {
	INFLATE_NEAR_END,		/* near the end of `in` or `out`, before
					 * a symbol */
	INFLATE_BLOCK_END,
	INFLATE_BAD,			/* invalid code, or distance too far
					 * back */
};

typedef enum inflate_why inflate_fast_fn(struct inflate_place *p,
    const struct inflate_codes *c);

/* Returns the best version for this processor and this unit. */
inflate_fast_fn *inflate_fast_choose(unsigned unit);

/*
 * Copies len bytes from `distance` bytes back, at least some of which are in
 * the window.  There must be room for them.  The unit must be 1.
 */
void inflate_copy_window(struct inflate_place *p, size_t distance,
    size_t len);

#endif
