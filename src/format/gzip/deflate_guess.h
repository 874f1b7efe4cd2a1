/*
 * deflate_guess.h - decoding the middle of a stream before what precedes it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream from another program is cut anywhere.  A worker looks for the first
 * block in its piece, decodes from there to the first block in the next piece,
 * and leaves open what it copied from the unknown output before: in s->spare each
 * byte takes two, and numbers from 256 up stand for that output.  The joiner
 * knows where the block before ended.  If that is where the worker began, the
 * result is right, and the joiner supplies the window; then a worker fills in
 * what was left open.  If all this is known while the worker is still decoding,
 * it needs to leave nothing open from there on.
 */
#ifndef COLDPRESS_DEFLATE_GUESS_H
#define COLDPRESS_DEFLATE_GUESS_H

#include "deflate_scan.h"
#include "engine/deflate/deflate_find.h"

/* The most memory that a piece takes besides its input, in bytes. */
enum { DEFLATE_GUESS_B = (8 << 20) * 3 + (4 << 16) };

/* What is known about the beginning of a piece, once the one before is joined. */
struct deflate_known {
	int64_t bit;			/* where a block begins in it */
	uint8_t window[INFLATER_WINDOW];
};

struct deflate_guesser {
	const struct deflate_finder *finder;
	struct inflater *inflater;
	/*
	 * Fills in `known`, and returns true, if the piece before s has been
	 * joined, and a block and a whole window are known.
	 */
	bool (*know)(void *arg, const struct slot *s,
	    struct deflate_known *known);
	void *arg;
	bool places;		/* note where blocks begin: deflate_marks.h */
};

/*
 * Implements pipeline_ops.work: decodes the piece in s, as far as note says.
 * Returns 0 or -ENOMEM.
 */
int deflate_guess(const struct deflate_guesser *g, struct slot *s);

/* Returns whether a block at this bit of the piece is the one guessed. */
bool deflate_guessed(struct slot *s, int64_t bit);

/*
 * Supplies the INFLATER_WINDOW bytes before the piece, and stores the *len bytes
 * that are the window after it, at most as many.  Called by the joiner.
 */
void deflate_guess_window(struct slot *s, const uint8_t *window,
    uint8_t *after, size_t *len);

/* Completes s->out, after deflate_guess_window(). */
void deflate_guess_fill(struct slot *s);

#endif
