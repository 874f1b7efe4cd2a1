/*
 * deflate_lazy.h - finding matches in binaries
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is the front half of our own deflate encoder for machine code.  The
 * matches depend only on the input.
 */
#ifndef COLDPRESS_DEFLATE_LAZY_H
#define COLDPRESS_DEFLATE_LAZY_H

#include "engine/deflate/deflate_seq.h"

#include <stddef.h>

enum {
	DEFLATE_LAZY_BITS = 15,
	DEFLATE_LAZY_BITS3 = 14
};

struct deflate_lazy {
	const uint8_t *in;
	size_t len, pos;
	/* last position with each hash, modulo 65,536 */
	uint16_t by_seven[1 << DEFLATE_LAZY_BITS];
	uint16_t by_four[1 << DEFLATE_LAZY_BITS];
	uint16_t by_three[1 << DEFLATE_LAZY_BITS3];
};

/* Starts on the len bytes at `in`, without any history. */
void deflate_lazy_begin(struct deflate_lazy *f, const uint8_t *in,
    size_t len);

/*
 * Fills seqs, which has room for at least two, with the next sequences from
 * f->pos onward, and advances f->pos.  Returns their number, 0 at the end of
 * the input.
 */
size_t deflate_lazy_find(struct deflate_lazy *f, struct deflate_seq *seqs,
    size_t room);

#endif
