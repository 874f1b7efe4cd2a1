/*
 * text.c - generating message text
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/text.h"

#include <stdbool.h>
#include <string.h>

static const uint64_t GOLDEN = 0x9e3779b97f4a7c15;

uint64_t
prng_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

void
prng_start(struct prng *p, uint64_t seed, uint64_t stream)
{
	uint64_t x = prng_mix(seed + GOLDEN) ^ prng_mix(~stream);

	for (int i = 0; i < 4; i++) {
		x += GOLDEN;
		p->s[i] = prng_mix(x);
	}
}

/*
 * A word has one to four syllables; rare words are long.  Common sounds occur
 * several times in the strings from which sounds are drawn.
 */
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

void
words_make(struct words *w, struct prng *p, bool accents)
{
	for (unsigned k = 0; k < WORDS_OCTAVES; k++)
		for (uint32_t i = (1u << k) - 1; i < (2u << k) - 1; i++) {
			struct word *v = &w->at[i];
			/* frequent words are as long for each seed */
			unsigned syllables = 1 + (k > 4 ? 1 : 0) +
			    (k > 8 ? prng_below(p, 2) : 0) + i % 2;

			memset(v, 0, sizeof(*v));
			for (; syllables > 0; syllables--)
				v->len = (uint8_t)(v->len + add_syllable(p,
				    v->text + v->len, accents));
		}
}

/*
 * Returns the index of a word for a random number, from a stepwise
 * approximation of Zipf's law: the words from rank 2^k to 2^(k+1) - 1 are
 * equally frequent, and each k is equally likely, except for the last few.
 */
static uint32_t
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

enum { WIDTH = 66, DEPTH_MOST = 5 };

/*
 * The maximum number of words in a repeated phrase, and the increase in
 * repetition that makes it one word longer.
 */
enum { PHRASE = 5, LONGER = PRNG_ONE / 64 };

/* How many words often follow the same word, and belong to a topic. */
enum { FOLLOWERS = 8, TOPIC_WORDS = 512 };

void
text_start(struct text *t, const struct words *w, struct prng *p,
    const struct text_like *like)
{
	t->words = w;
	t->prng = p;
	t->like = *like;
	t->salt = like->novel > 0 ? prng_next(p) : 0;
	t->topic = 0;
	t->break_line = "\n";
	t->break_par = "\n\n";
	t->column = t->left = t->copies = t->copy = 0;
	t->count = 0;
}

/*
 * Adds the next word: one that is repeated or, in this order of preference, a
 * novel word, one of the words of the topic, some of which are more frequent,
 * one that often follows the last one, or any other.
 */
static void
add_word(struct text *t, struct strbuf *b, bool capital)
{
	static const char signs[] = "0123456789abcdefghijklmnopqrstuv";
	uint32_t n, kept = t->count < TEXT_MEMORY ? t->count : TEXT_MEMORY;
	const struct text_like *like = &t->like;
	uint32_t repeat = like->repeat, last, nth, most = PHRASE +
	    (repeat > PRNG_ONE / 2 ? (repeat - PRNG_ONE / 2) / LONGER : 0);
	unsigned len, bits;
	uint64_t r;
	char *p;

	if (t->copies == 0 && kept > PHRASE + 3 &&
	    prng_chance(t->prng, repeat)) {
		most = most < kept - 3 ? most : kept - 3;
		t->copies = prng_range(t->prng, 2, most);
		t->copy = t->count - kept + prng_below(t->prng, kept - most);
	}
	if (t->copies > 0) {
		t->copies--;
		n = t->said[t->copy++ % TEXT_MEMORY];
	} else if (like->novel > 0 && prng_chance(t->prng, like->novel)) {
		n = prng_range(t->prng, WORDS, UINT16_MAX);
	} else if (like->topic > 0 && prng_chance(t->prng, like->topic)) {
		nth = prng_below(t->prng, 1 + prng_below(t->prng,
		    TOPIC_WORDS));
		n = (uint32_t)(prng_mix(prng_mix(t->topic) + nth) % WORDS);
	} else if (t->count > 0 && like->phrase > 0 &&
	    prng_chance(t->prng, like->phrase)) {
		last = t->said[(t->count - 1) % TEXT_MEMORY];
		nth = prng_below(t->prng, FOLLOWERS);
		n = words_pick(prng_mix((uint64_t)last << 32 | nth));
	} else
		n = words_pick(prng_next(t->prng));
	t->said[t->count++ % TEXT_MEMORY] = (uint16_t)n;
	p = strbuf_room(b, WORD_B);
	if (p == NULL)
		return;
	if (n >= WORDS) {
		/* a number, an identifier or the like */
		r = prng_mix(t->salt + n);
		len = 3 + (unsigned)(r >> 61);
		bits = r >> 60 & 1 ? 3 : 5;
		for (unsigned i = 0; i < len; i++, r >>= bits)
			p[i] = signs[r & ((1u << bits) - 1)];
	} else {
		memcpy(p, t->words->at[n].text, WORD_B - 1);
		len = t->words->at[n].len;
		if (capital)
			p[0] = (char)(p[0] & ~0x20);
	}
	b->len += len;
	t->column += len;
}

/* Writes up to len bytes; a sentence that does not fit is cut short. */
static void
paragraph(struct text *t, struct strbuf *b, size_t len)
{
	size_t end = b->len + len;
	size_t soft = b->len + prng_range(t->prng, 120, 600);
	bool begin = true;

	t->column = t->left = 0;
	while (b->len + 8 < end && !b->failed &&
	    (b->len < soft || t->left != 0)) {
		bool first = t->left == 0;

		if (first)
			t->left = prng_range(t->prng, 5, 18);
		if (!begin && t->column >= WIDTH) {
			strbuf_str(b, t->break_line);
			t->column = 0;
		} else if (!begin) {
			strbuf_char(b, ' ');
			t->column++;
		}
		begin = false;
		add_word(t, b, first);
		t->left--;
		if (t->left == 0)
			strbuf_str(b, prng_chance(t->prng, PRNG_ONE / 8) ?
			    "?" : ".");
		else if (prng_chance(t->prng, PRNG_ONE / 16))
			strbuf_char(b, ',');
	}
	if (t->left != 0 && b->len > 0 && b->data[b->len - 1] == ',')
		b->len--;
	if (t->left != 0)
		strbuf_char(b, '.');
	t->left = 0;
}

void
text_write(struct text *t, struct strbuf *b, size_t len)
{
	size_t end = b->len + len;

	while (b->len + 10 < end && !b->failed) {
		paragraph(t, b, end - b->len);
		strbuf_str(b, b->len + 24 < end ? t->break_par : "\n");
	}
}

void
text_line(struct text *t, struct strbuf *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (i > 0)
			strbuf_char(b, ' ');
		add_word(t, b, i == 0);
	}
}

void
text_quote(struct prng *p, struct strbuf *b, const char *body, size_t size,
    size_t len)
{
	size_t at = 0, end = b->len + len;
	/*
	 * half of all messages quote from the top, and the others from a random
	 * position, if there is text to omit
	 */
	size_t skip = size > len && prng_chance(p, PRNG_ONE / 2) ?
	    prng_below(p, (uint32_t)(size - len)) : 0;

	while (at < size && !b->failed) {
		const char *nl = memchr(body + at, '\n', size - at);
		size_t n = nl == NULL ? size - at : (size_t)(nl - body) - at;
		unsigned depth = 0;	/* how often it was already quoted */

		if (b->len + n + 3 > end)
			break;
		for (size_t i = at; i < at + n &&
		    (body[i] == '>' || body[i] == ' '); i++)
			depth += body[i] == '>';
		if (at >= skip && depth < DEPTH_MOST) {
			strbuf_str(b, n > 0 && body[at] == '>' ? ">" : "> ");
			strbuf_add(b, body + at, n);
			strbuf_char(b, '\n');
		}
		at += n + 1;
	}
}
