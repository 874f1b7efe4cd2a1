/*
 * words.h - a made-up language, its words by frequency
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A struct words does not change once it is
 * made; any thread may read it.
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
	struct word at[WORDS];		/* the frequent first */
};

/* accents: some vowels have them. */
void words_make(struct words *w, struct prng *p, bool accents);

/*
 * The number of a word, by Zipf's law in steps: all words from rank 2^k to
 * 2^(k+1) - 1 are equally frequent, and so are all k but the last few.
 */
uint32_t words_draw(struct prng *p);

/* A made-up name of some syllables, capitalised; at most WORD_B - 1 bytes. */
void words_name(struct prng *p, unsigned syllables, char name[WORD_B]);

#endif
