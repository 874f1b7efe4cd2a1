/*
 * bz2_made.h - data and streams shared by the bzip2 tests
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Any error in these functions fails the test.
 */
#ifndef COLDPRESS_TESTS_BZ2_MADE_H
#define COLDPRESS_TESTS_BZ2_MADE_H

#include "bz2_judge.h"

enum {
	DATA_MAX = 3000000,
	PACKED_MAX = 4000000
};

struct state {
	struct bz2_decoder *dec;
	struct bz2_encoder *enc[BZ2_LEVEL_MAX + 1];
	uint8_t *data, *packed, *block, *bits;
	struct verdict own, lib;
	uint64_t seed;
};

/* These are for cmocka; *state is a struct state. */
int setup(void **state);
int teardown(void **state);

/* Returns the next number of xorshift64*, the same on every machine. */
uint32_t number(struct state *s);

/* Kinds of data. */
enum {
	ZEROS, NOISE, LETTERS, PAIRS, TRIPLES, WORDS, FIBONACCI, MORSE, RAMP,
	STEPS, RUNS, COUNTS, PERIOD, COPIES, ONE_OTHER, SKEWED, KINDS
};

/* Writes data of a kind to s->data[0..len). */
void make(struct state *s, int kind, size_t len);

/*
 * Compresses s->data[0..len) into s->packed, feeding the input in pieces;
 * returns the length.
 */
size_t pack(struct state *s, int level, size_t len, size_t piece);

/*
 * Decodes a stream with both decoders, into s->own and s->lib, which must
 * agree.
 */
void assert_same_verdict(struct state *s, const uint8_t *in, size_t len);

#endif
