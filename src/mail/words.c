/*
 * words.c - an invented language, its words sorted by frequency
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A word has one to four syllables; rare words are long.  Sounds are drawn from
 * strings in which common sounds occur several times.
 */
#include "mail/words.h"

#include <string.h>

static const char onsets[] = "tttttnnnnsssrrrlllhhdddmmccppwwffbbgvkjyz";
static const char vowels[] = "eeeeeeaaaaaooooiiiiuu";
static const char accented[] = "\xe9\xe8\xe4\xf6\xfc\xe0\xf3\xed";
static const char codas[] = "nnnnrrrrssssttttlldddmg";

/* The word's octave (log2 of its rank) for each of 64 draws. */
static const uint8_t octave_of[64] = {
	0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3,
	4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7,
	8, 8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 11, 11, 11, 12, 12, 12, 13
};

static char
pick(struct prng *p, const char *from, size_t size)
{
	return from[prng_below(p, (uint32_t)size - 1)];
}

static unsigned
add_syllable(struct prng *p, char *s, bool accents)
{
	unsigned n = 0;

	if (prng_chance(p, PRNG_ONE * 7 / 8))
		s[n++] = pick(p, onsets, sizeof(onsets));
	if (accents && prng_chance(p, PRNG_ONE / 8))
		s[n++] = pick(p, accented, sizeof(accented));
	else
		s[n++] = pick(p, vowels, sizeof(vowels));
	if (prng_chance(p, PRNG_ONE / 3))
		s[n++] = pick(p, codas, sizeof(codas));
	return n;
}

static void
make_word(struct word *w, struct prng *p, uint32_t rank, unsigned octave,
    bool accents)
{
	/* frequent words are as long for each seed */
	unsigned syllables = 1 + (octave > 4 ? 1 : 0) +
	    (octave > 8 ? prng_below(p, 2) : 0) + rank % 2;

	memset(w, 0, sizeof(*w));
	for (unsigned i = 0; i < syllables; i++)
		w->len = (uint8_t)(w->len +
		    add_syllable(p, w->text + w->len, accents));
}

void
words_make(struct words *w, struct prng *p, bool accents)
{
	for (unsigned k = 0; k < WORDS_OCTAVES; k++)
		for (uint32_t i = (1u << k) - 1; i < (2u << k) - 1; i++)
			make_word(&w->at[i], p, i, k, accents);
}

uint32_t
words_pick(uint64_t r)
{
	unsigned k = octave_of[r >> 58];

	return (1u << k) - 1 + ((uint32_t)r & ((1u << k) - 1));
}

void
words_name(struct prng *p, unsigned syllables, char name[WORD_B])
{
	unsigned n = 0;

	for (unsigned i = 0; i < syllables && n + 4 < WORD_B; i++)
		n += add_syllable(p, name + n, false);
	name[n] = '\0';
	name[0] = (char)(name[0] - 'a' + 'A');
}
