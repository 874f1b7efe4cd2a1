/*
 * inflater_impl.h - the state of an inflater
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_INFLATER_IMPL_H
#define COLDPRESS_INFLATER_IMPL_H

#include "engine/deflate/inflater.h"

#include "inflate_fast.h"
#include "inflate_header.h"

enum inflater_state { INFLATER_HEADER, INFLATER_STORED, INFLATER_SYMBOLS,
    INFLATER_ENDED };

struct inflater {
	enum inflater_state state;
	bool final;			/* this is the last block */
	struct inflate_place at;	/* the pointers in it are valid only
					 * during this call */
	size_t stored;			/* bytes left in the block */
	size_t stop_after;		/* bytes in this call; SIZE_MAX:
					 * never */
	size_t copy_len, copy_back;	/* rest of a match that ran out of
					 * room */
	inflate_fast_fn *fast;
	struct inflate_codes codes;
	size_t held_len;
	uint8_t held[INFLATE_HEADER_MAX];	/* the part of a header read
						 * so far */
	size_t window_len;
	uint8_t window[INFLATER_WINDOW];	/* the last output, at the end
						 * of the array */
};

/*
 * An additional result besides STREAM_MORE, STREAM_END and INFLATER_BLOCK: call
 * inflater_step() again.
 */
enum { INFLATER_AGAIN = 2 };

/*
 * Decodes a header, stored bytes, one symbol near an edge, or as many symbols
 * as inflate_fast.c can.  Returns one of these results, or -EBADMSG.
 */
int inflater_step(struct inflater *f);

#endif
