/*
 * text.h - generating the text of messages
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The text is Latin-1: sentences of invented words, broken into lines and
 * paragraphs.  Text in a message repeats: with probability `repeat' the next
 * two to five words (more if `repeat' exceeds one half) are copied from earlier
 * text.  This makes a message as compressible as a real one; word frequencies
 * alone do not.
 *
 * A struct text belongs to one thread.
 */
#ifndef COLDPRESS_TEXT_H
#define COLDPRESS_TEXT_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A random number generator with the same output on every machine.
 *
 * xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", 2021), its state initialized by SplitMix64 (Steele, Lea and
 * Flood, 2014).  Uses only integers.
 *
 * A struct prng belongs to one thread at a time.
 */

struct prng {
	uint64_t s[4];
};

/* Probabilities are fractions of this. */
enum { PRNG_ONE = 1 << 16 };

/*
 * Applies the finalizer of SplitMix64: every input bit affects every output
 * bit.
 */
uint64_t prng_mix(uint64_t x);

/* Starts a different sequence for each pair of seed and stream. */
void prng_start(struct prng *p, uint64_t seed, uint64_t stream);

static inline uint64_t
prng_next(struct prng *p)
{
	uint64_t x = p->s[1] * 5, t = p->s[1] << 17;

	p->s[2] ^= p->s[0];
	p->s[3] ^= p->s[1];
	p->s[1] ^= p->s[2];
	p->s[0] ^= p->s[3];
	p->s[2] ^= t;
	p->s[3] = p->s[3] << 45 | p->s[3] >> 19;
	return (x << 7 | x >> 57) * 9;
}

/* Returns a number in 0..n-1; n is at least 1. */
static inline uint32_t
prng_below(struct prng *p, uint32_t n)
{
	return (uint32_t)((prng_next(p) >> 32) * n >> 32);
}

/* Returns a number in lo..hi. */
static inline uint32_t
prng_range(struct prng *p, uint32_t lo, uint32_t hi)
{
	return lo + prng_below(p, hi - lo + 1);
}

/* Returns true with a probability of part / PRNG_ONE. */
static inline bool
prng_chance(struct prng *p, uint32_t part)
{
	return prng_below(p, PRNG_ONE) < part;
}

/*
 * An invented language, with words sorted by frequency.
 *
 * A struct words is constant after creation; any thread may read it.
 */

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
 * Invents a capitalized name with the given number of syllables and at most
 * WORD_B - 1 bytes.
 */
void words_name(struct prng *p, unsigned syllables, char name[WORD_B]);

enum { TEXT_MEMORY = 4096 };		/* words */

/* The properties of text; probabilities are in units of 1 / PRNG_ONE. */
struct text_like {
	uint32_t repeat;		/* the next words repeat earlier ones
					 * of the message */
	uint32_t phrase;		/* the next word is one of the
					 * followers of the last word, which
					 * are the same in all messages */
	uint32_t novel;			/* the next word is in no other
					 * message */
	uint32_t topic;			/* the next word is one of the few that
					 * belong to the topic */
};

struct text {
	const struct words *words;
	struct prng *prng;
	struct text_like like;
	uint64_t salt;			/* determines the novel words */
	uint64_t topic;			/* determines the words of the topic */
	const char *break_line;		/* separator between lines, */
	const char *break_par;		/* separator between paragraphs */
	unsigned column;
	unsigned left;			/* words left in the sentence */
	unsigned copy, copies;		/* next word to copy, words left to
					 * copy */
	uint32_t count;			/* words so far */
	uint16_t said[TEXT_MEMORY];	/* from WORDS on: novel words */
};

/*
 * Starts a message, discarding earlier text.  Set t->topic afterwards if the
 * text has one.
 */
void text_start(struct text *t, const struct words *w, struct prng *p,
    const struct text_like *like);

/*
 * Appends paragraphs of about len bytes in total, with a break after the last.
 */
void text_write(struct text *t, struct strbuf *b, size_t len);

/*
 * Appends count words in one line, the first one capitalized, without a
 * newline.
 */
void text_line(struct text *t, struct strbuf *b, unsigned count);

/*
 * Quotes some lines of a body, each prefixed with "> ", at most len bytes in
 * total.  Lines that have already been quoted several times are omitted.
 */
void text_quote(struct prng *p, struct strbuf *b, const char *body, size_t size,
    size_t len);

#endif
