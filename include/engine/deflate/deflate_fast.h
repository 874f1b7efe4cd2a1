/*
 * deflate_fast.h - finding matches cheaply
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is the front half of the fastest levels of our own deflate encoder.  The
 * matches depend only on the input.
 */
#ifndef COLDPRESS_DEFLATE_FAST_H
#define COLDPRESS_DEFLATE_FAST_H

#include "engine/deflate/deflate_blocks.h"

#include <stdbool.h>
#include <stddef.h>

enum { DEFLATE_FAST_BITS = 15 };

struct deflate_fast {
	bool more;		/* set by the caller: search a little harder */
	const uint8_t *in;
	size_t len, pos;
	/* last position with each hash, modulo 65,536 */
	uint16_t by_long[1 << DEFLATE_FAST_BITS];
	uint16_t by_short[1 << DEFLATE_FAST_BITS];
};

/* Starts on the len bytes at `in`, without any history. */
void deflate_fast_begin(struct deflate_fast *f, const uint8_t *in,
    size_t len);

/*
 * Fills seqs, which has room for at least two, with the next sequences from
 * f->pos onward, and advances f->pos.  Returns their number, 0 at the end of
 * the input.
 */
size_t deflate_fast_find(struct deflate_fast *f, struct deflate_seq *seqs,
    size_t room);

#endif
