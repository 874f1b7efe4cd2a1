/*
 * words.h - an invented language, with words sorted by frequency
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A struct words is constant after creation; any thread may read it.
 */
#ifndef COLDPRESS_WORDS_H
#define COLDPRESS_WORDS_H

#include "mail/prng.h"

#include <stdint.h>

enum { WORDS_OCTAVES = 14, WORDS = (1 << WORDS_OCTAVES) - 1, WORD_B = 20 };

struct word {
	uint8_t len;
	char text[WORD_B - 1];		/* Latin-1, lower case, no NUL */
};

struct words {
	struct word at[WORDS];		/* most frequent first */
};

/* Invents the words; if accents is set, some vowels get accents. */
void words_make(struct words *w, struct prng *p, bool accents);

/*
 * Returns the index of a word for a random number, from a stepwise
 * approximation of Zipf's law: the words from rank 2^k to 2^(k+1) - 1 are
 * equally frequent, and each k is equally likely, except for the last few.
 */
uint32_t words_pick(uint64_t r);

/*
 * Invents a capitalized name with the given number of syllables and at most
 * WORD_B - 1 bytes.
 */
void words_name(struct prng *p, unsigned syllables, char name[WORD_B]);

#endif
