/*
 * unlzma_symbols.h - decoding the symbols of LZMA
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_UNLZMA_SYMBOLS_H
#define COLDPRESS_UNLZMA_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The bytes of input and of output that must be there so that no step of a
 * symbol needs a check: a match with a distance takes at most 22 bits of at most
 * 6.05 bits each, 26 of one bit, and what is left of a byte; and a match has at
 * most 273 bytes, after which its copy may write 32.
 */
enum { UNLZMA_FAST_IN = 24, UNLZMA_MATCH_MAX = 273, UNLZMA_COPIED = 32,
    UNLZMA_FAST_OUT = UNLZMA_MATCH_MAX + UNLZMA_COPIED };

enum { UNLZMA_STATES = 12, UNLZMA_POSITIONS = 16, UNLZMA_LITERALS = 16 };

struct unlzma_lengths {
	uint16_t choice, choice_2;
	uint16_t low[UNLZMA_POSITIONS][8], mid[UNLZMA_POSITIONS][8];
	uint16_t high[256];
};

/* Of a zero, in 2048ths */
struct unlzma_probabilities {
	uint16_t is_match[UNLZMA_STATES][UNLZMA_POSITIONS];
	uint16_t is_rep[UNLZMA_STATES], is_rep0[UNLZMA_STATES];
	uint16_t is_rep1[UNLZMA_STATES], is_rep2[UNLZMA_STATES];
	uint16_t is_long[UNLZMA_STATES][UNLZMA_POSITIONS];
	uint16_t slot[4][64];
	uint16_t special[128];		/* by the smallest distance of a slot */
	uint16_t align[16];
	struct unlzma_lengths match, rep;
	uint16_t literal[UNLZMA_LITERALS][3 * 256];
};

struct unlzma_place {
	const uint8_t *in;
	uint8_t *out;
	uint8_t *begin;			/* what is before it is unknown, or at
					 * the end of the ring */
	size_t ring;			/* bytes in the ring, if all of them
					 * are known; or 0 */
	uint32_t window;		/* the largest distance */
	uint32_t range, code;
	uint32_t reps[4];		/* the last distances, less 1 */
	uint8_t state;
	uint8_t last;			/* byte before out, or 0 at the start */
	uint8_t lc, lp, pb;		/* bits of context */
	struct unlzma_probabilities p;
};

enum unlzma_why {
	UNLZMA_LIMIT,			/* a limit was reached, or passed,
					 * before a symbol */
	UNLZMA_MARKER,			/* the end marker was decoded */
	UNLZMA_SHORT,			/* the input ended inside a symbol */
	UNLZMA_BAD			/* invalid distance, or a match is too
					 * long */
};

/*
 * Decodes symbols until `in` is at or beyond in_stop, or `out` at or beyond
 * out_stop.  UNLZMA_FAST_IN bytes must be readable at in_stop, and
 * UNLZMA_FAST_OUT writable at out_stop.
 */
enum unlzma_why unlzma_fast(struct unlzma_place *s, const uint8_t *in_stop,
    const uint8_t *out_stop);

/*
 * Decodes symbols until `out` is at or beyond out_stop, and reads and writes
 * nothing at the two ends or beyond.
 */
enum unlzma_why unlzma_careful(struct unlzma_place *s, const uint8_t *in_end,
    const uint8_t *out_stop, const uint8_t *out_end);

#endif
