/*
 * block_made.h - deflate blocks written bit by bit, valid or not, for the tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_BLOCK_MADE_H
#define COLDPRESS_TESTS_BLOCK_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { END = 256, NO_CODE = -1 };

struct bits {
	uint8_t *p;
	size_t len;		/* in bits; all later bytes are zero */
};

/*
 * A symbol whose code length differs from that in a good block; 0 means none.
 */
struct change {
	unsigned symbol, bits;
};

/* A block under construction, and how it differs from a good one. */
struct block {
	const char *name;
	unsigned type;			/* 0: dynamic */
	unsigned more_lengths, more_distances;	/* in addition to 286 and 30 */
	/* of the match; 0 for 257 and 3 */
	int length_symbol, distance_symbol;
	unsigned raw_bits, raw;		/* instead of the distance */
	struct change pre, literal, distance;
	unsigned repeat;		/* instead of the last length */
	bool one_distance, no_distance;
};

void put_byte_boundary(struct bits *b);

void put_stored(struct bits *b, const uint8_t *p, size_t len, bool final);

/* Writes literals, a match, more literals, and the end. */
void put_block(struct bits *b, const struct block *k, bool final);

#endif
