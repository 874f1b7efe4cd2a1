/*
 * deflate_fast.c - finding matches cheaply
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each position has two candidates: the last position with the same hash of
 * seven bytes, and the last one with the same hash of four.  The better one is
 * used, unless it is short and the next position has a long one.
 */
#include "engine/deflate/deflate_fast.h"

#include "deflate_words.h"

enum {
	MARGIN = 2 * WORD,	/* bytes examined after a position */
	PACE = 7		/* after 1 << PACE misses, every second byte is
				 * skipped */
};

/* Return the last position with the hash of a word's first bytes. */
static inline uint16_t *
long_of(struct deflate_fast *f, uint64_t word)
{
	return &f->by_long[words_hash7(word, DEFLATE_FAST_BITS)];
}

static inline uint16_t *
short_of(struct deflate_fast *f, uint64_t word)
{
	return &f->by_short[words_hash4(word, DEFLATE_FAST_BITS)];
}

static inline void
insert_long(struct deflate_fast *f, size_t pos)
{
	*long_of(f, load_le64(f->in + pos)) = (uint16_t)pos;
}

static inline void
insert_short(struct deflate_fast *f, size_t pos)
{
	*short_of(f, load_le64(f->in + pos)) = (uint16_t)pos;
}

/* Uses the match at the next position instead if it covers a whole word. */
static inline void
look_ahead(struct deflate_fast *f, struct words_match *m)
{
	size_t pos = m->pos + 1, at;
	uint64_t word = load_le64(f->in + pos);
	uint16_t *last = long_of(f, word);

	at = words_candidate(pos, *last);
	if (words_differ(f->in, word, at, pos) != 0)
		return;
	*last = (uint16_t)pos;
	m->pos = pos;
	m->at = at;
	m->length = words_extend(f->in + pos, f->in + at,
	    words_most_at(f->len, pos));
}

/* Finds the match at m->pos.  Returns false if there is none. */
static inline bool
match_here(struct deflate_fast *f, struct words_match *m)
{
	uint64_t word = load_le64(f->in + m->pos);
	uint16_t *last_a = long_of(f, word), *last_b = short_of(f, word);
	size_t a = words_candidate(m->pos, *last_a);
	size_t b = words_candidate(m->pos, *last_b);
	uint64_t differ_a = words_differ(f->in, word, a, m->pos);
	uint64_t differ_b = words_differ(f->in, word, b, m->pos);

	*last_a = *last_b = (uint16_t)m->pos;
	if ((uint32_t)differ_a != 0 && (uint32_t)differ_b != 0)
		return false;
	if (!words_longer(f->in, f->len, m, differ_a, a, differ_b, b, f->more))
		look_ahead(f, m);
	return true;
}

void
deflate_fast_begin(struct deflate_fast *f, const uint8_t *in, size_t len)
{
	f->in = in;
	f->len = len;
	f->pos = 0;
	memset(f->by_long, 0, sizeof(f->by_long));
	memset(f->by_short, 0, sizeof(f->by_short));
}

size_t
deflate_fast_find(struct deflate_fast *f, struct deflate_seq *seqs,
    size_t room)
{
	size_t end = f->len < MARGIN ? 0 : f->len - MARGIN;
	size_t from = f->pos, n = 0;
	struct words_match m;

	for (m.pos = from; m.pos < end && n + 1 < room;) {
		if (!match_here(f, &m)) {
			m.pos += 1 + ((m.pos - from) >> PACE);
			continue;
		}
		if (f->more)
			words_extend_back(f->in, &m, from);
		seqs[n++] = words_seq(&m, from);
		from = m.pos + m.length;
		if (from < end) {
			/* only some of the positions, which is enough */
			insert_short(f, m.pos + 1);
			insert_short(f, m.pos + 2);
			insert_short(f, from - 1);
			if (f->more) {
				while (++m.pos < from)
					insert_long(f, m.pos);
			} else {
				insert_long(f, m.pos + 1);
				insert_long(f, m.pos + 3);
				insert_long(f, from - 2);
				insert_long(f, from - 1);
			}
		}
		m.pos = from;
	}
	if (m.pos >= end && from < f->len) {
		seqs[n++] = words_rest(f->len - from);
		from = f->len;
	}
	f->pos = from;
	return n;
}
