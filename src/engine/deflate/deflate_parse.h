/*
 * deflate_parse.h - parsing bytes into the sequences of a deflate stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is the front half of our own deflate encoder.  The output depends only
 * on the input, not on the machine.
 */
#ifndef COLDPRESS_DEFLATE_PARSE_H
#define COLDPRESS_DEFLATE_PARSE_H

#include "engine/deflate/deflate_blocks.h"

#include <stddef.h>
#include <stdint.h>

enum {
	MATCH_WINDOW = 32768,
	MATCH_MOST = 258,	/* the longest possible match */
	MATCH_BYTES = 4,	/* bytes hashed: the minimum match length,
				 * except for 3 */
	MATCH_HASH_BITS = 18,
	MATCH_HASH3_BITS = 14,
	MATCH_POSITIONS = 65536	/* positions are stored modulo this */
};

/*
 * Positions before `linked` are linked to the last one before them that has the
 * same hash of four bytes, and of three.
 */
struct deflate_links {
	uint16_t head[1 << MATCH_HASH_BITS];
	uint16_t head3[1 << MATCH_HASH3_BITS];
	uint16_t prev[MATCH_POSITIONS];
	uint16_t prev3[MATCH_POSITIONS];
	uint32_t linked;
};

/* All values are at least 1; nice and lazy are at most MATCH_MOST. */
struct deflate_effort {
	uint16_t tries;		/* positions to examine for a match of four, */
	uint16_t steps;		/* for a longer one, */
	uint16_t lazy_steps;	/* and for a better match one byte later */
	uint16_t good;		/* examine only a quarter as many after a match
				 * of this length */
	uint16_t nice;		/* stop searching after a match of this
				 * length */
	uint16_t lazy;		/* defer matches shorter than this */
};

struct deflate_parse {
	struct deflate_links links;
	struct deflate_effort effort;
	const uint8_t *in;
	uint32_t len;
	uint32_t pos;		/* everything before this position has been
				 * parsed */
};

/* Starts parsing len bytes at `in`, which must remain valid. */
void deflate_parse_begin(struct deflate_parse *p,
    const struct deflate_effort *effort, const uint8_t *in, uint32_t len);

/*
 * Finds the next sequences, up to `room`.  Returns the number found, or 0 at
 * the end of the input.
 */
size_t deflate_parse_run(struct deflate_parse *p, struct deflate_seq *seqs,
    size_t room);

#endif
