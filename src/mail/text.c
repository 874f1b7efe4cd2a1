/*
 * text.c - generating message text
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/text.h"

#include <stdbool.h>
#include <string.h>

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

/* Draws one of the words that often follow the last one. */
static uint32_t
follower(struct text *t)
{
	uint32_t last = t->said[(t->count - 1) % TEXT_MEMORY];
	uint32_t nth = prng_below(t->prng, FOLLOWERS);

	return words_pick(prng_mix((uint64_t)last << 32 | nth));
}

/* Draws one of the words of the topic, some of which are more frequent. */
static uint32_t
topical(struct text *t)
{
	uint32_t nth = prng_below(t->prng, 1 + prng_below(t->prng,
	    TOPIC_WORDS));

	return (uint32_t)(prng_mix(prng_mix(t->topic) + nth) % WORDS);
}

static uint32_t
new_word(struct text *t)
{
	if (t->like.novel > 0 && prng_chance(t->prng, t->like.novel))
		return prng_range(t->prng, WORDS, UINT16_MAX);
	if (t->like.topic > 0 && prng_chance(t->prng, t->like.topic))
		return topical(t);
	if (t->count > 0 && t->like.phrase > 0 &&
	    prng_chance(t->prng, t->like.phrase))
		return follower(t);
	return words_pick(prng_next(t->prng));
}

static uint32_t
next_word(struct text *t)
{
	uint32_t n, kept = t->count < TEXT_MEMORY ? t->count : TEXT_MEMORY;
	uint32_t repeat = t->like.repeat, most = PHRASE +
	    (repeat > PRNG_ONE / 2 ? (repeat - PRNG_ONE / 2) / LONGER : 0);

	if (t->copies == 0 && kept > PHRASE + 3 &&
	    prng_chance(t->prng, repeat)) {
		most = most < kept - 3 ? most : kept - 3;
		t->copies = prng_range(t->prng, 2, most);
		t->copy = t->count - kept + prng_below(t->prng, kept - most);
	}
	if (t->copies > 0) {
		t->copies--;
		n = t->said[t->copy++ % TEXT_MEMORY];
	} else
		n = new_word(t);
	t->said[t->count++ % TEXT_MEMORY] = (uint16_t)n;
	return n;
}

/* Writes a novel word: a number, an identifier or the like. */
static unsigned
novel(const struct text *t, uint32_t n, char *p)
{
	static const char signs[] = "0123456789abcdefghijklmnopqrstuv";
	uint64_t r = prng_mix(t->salt + n);
	unsigned len = 3 + (unsigned)(r >> 61), bits = r >> 60 & 1 ? 3 : 5;

	for (unsigned i = 0; i < len; i++, r >>= bits)
		p[i] = signs[r & ((1u << bits) - 1)];
	return len;
}

static void
add_word(struct text *t, struct strbuf *b, bool capital)
{
	uint32_t n = next_word(t);
	char *p = strbuf_room(b, WORD_B);
	unsigned len;

	if (p == NULL)
		return;
	if (n >= WORDS) {
		len = novel(t, n, p);
	} else {
		memcpy(p, t->words->at[n].text, WORD_B - 1);
		len = t->words->at[n].len;
		if (capital)
			p[0] = (char)(p[0] & ~0x20);
	}
	b->len += len;
	t->column += len;
}

static void
space(struct text *t, struct strbuf *b)
{
	if (t->column >= WIDTH) {
		strbuf_str(b, t->break_line);
		t->column = 0;
	} else {
		strbuf_char(b, ' ');
		t->column++;
	}
}

/* Writes one word and the separator before it. */
static void
step(struct text *t, struct strbuf *b, bool *begin)
{
	bool first = t->left == 0;

	if (first)
		t->left = prng_range(t->prng, 5, 18);
	if (!*begin)
		space(t, b);
	*begin = false;
	add_word(t, b, first);
	t->left--;
	if (t->left == 0)
		strbuf_str(b, prng_chance(t->prng, PRNG_ONE / 8) ? "?" : ".");
	else if (prng_chance(t->prng, PRNG_ONE / 16))
		strbuf_char(b, ',');
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
	    (b->len < soft || t->left != 0))
		step(t, b, &begin);
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

/* Returns how many times a line has already been quoted. */
static unsigned
depth_of(const char *line, size_t len)
{
	unsigned depth = 0;

	for (size_t i = 0; i < len && (line[i] == '>' || line[i] == ' '); i++)
		depth += line[i] == '>';
	return depth;
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

		if (b->len + n + 3 > end)
			break;
		if (at >= skip && depth_of(body + at, n) < DEPTH_MOST) {
			strbuf_str(b, n > 0 && body[at] == '>' ? ">" : "> ");
			strbuf_add(b, body + at, n);
			strbuf_char(b, '\n');
		}
		at += n + 1;
	}
}
