/*
 * deflate_fast.c - finding matches cheaply
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each position has two candidates: the last position with the same hash of
 * seven bytes, and the last one with the same hash of four.  The better one is
 * used, unless it is short and the next position has a long one.  Positions are
 * stored modulo 65,536.  A stale position is harmless, because the bytes are
 * compared, and may still yield a match.
 */
#include "engine/deflate/deflate_fast.h"

#include "base/bytes.h"

enum {
	MOST = 258,		/* maximum length of a match */
	WORD = 8,		/* bytes compared at a time */
	WINDOW = 32768,
	MARGIN = 2 * WORD,	/* bytes examined after a position */
	PACE = 7		/* after 1 << PACE misses, every second byte is
				 * skipped */
};

static inline uint32_t
hash_long(uint64_t word)
{
	return (uint32_t)((word << 8) * UINT64_C(0x9e3779b185ebca87) >>
	    (64 - DEFLATE_FAST_BITS));
}

static inline uint32_t
hash_short(uint64_t word)
{
	return (uint32_t)word * UINT32_C(0x9e3779b1) >>
	    (32 - DEFLATE_FAST_BITS);
}

static inline void
insert_long(struct deflate_fast *f, size_t pos)
{
	f->by_long[hash_long(load_le64(f->in + pos))] = (uint16_t)pos;
}

static inline void
insert_short(struct deflate_fast *f, size_t pos)
{
	f->by_short[hash_short(load_le64(f->in + pos))] = (uint16_t)pos;
}

/*
 * Returns the last position before pos whose low 16 bits equal `low`, or pos if
 * there is none.
 */
static inline size_t
candidate(size_t pos, uint16_t low)
{
	size_t back = (uint16_t)(pos - low);

	return back <= WINDOW && back <= pos ? pos - back : pos;
}

/*
 * Returns a mask of the differing bits of the eight bytes, or only the lowest
 * bit if they are equal.
 */
static inline uint64_t
differing(const uint8_t *in, uint64_t word, size_t at, size_t pos)
{
	return at == pos ? 1 : load_le64(in + at) ^ word;
}

/*
 * Returns how many of `most` bytes are equal, given that the first words are.
 */
static inline size_t
extend(const uint8_t *a, const uint8_t *b, size_t most)
{
	size_t n = WORD;

	for (; n + WORD <= most; n += WORD) {
		uint64_t differ = load_le64(a + n) ^ load_le64(b + n);

		if (differ != 0)
			return n + (size_t)__builtin_ctzll(differ) / 8;
	}
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

static inline size_t
most_at(const struct deflate_fast *f, size_t pos)
{
	return f->len - pos < MOST ? f->len - pos : MOST;
}

struct match {
	size_t pos, at, length;
};

/* Uses the match at the next position instead if it covers a whole word. */
static inline void
look_ahead(struct deflate_fast *f, struct match *m)
{
	size_t pos = m->pos + 1, at;
	uint64_t word = load_le64(f->in + pos);
	uint16_t *last = &f->by_long[hash_long(word)];

	at = candidate(pos, *last);
	if (differing(f->in, word, at, pos) != 0)
		return;
	*last = (uint16_t)pos;
	m->pos = pos;
	m->at = at;
	m->length = extend(f->in + pos, f->in + at, most_at(f, pos));
}

/*
 * Chooses the longer of two matches, at least one of which covers a whole word.
 * In fast mode, chooses the first one that covers a word, which is usually the
 * longer of the two.
 */
static inline void
longer(const struct deflate_fast *f, struct match *m, uint64_t differ_a,
    size_t a, uint64_t differ_b, size_t b)
{
	const uint8_t *p = f->in + m->pos;
	size_t most = most_at(f, m->pos), other = 0;

	m->at = a;
	m->length = differ_a == 0 ? extend(p, f->in + a, most) : 0;
	if (differ_a != 0 ||
	    (f->more && differ_b == 0 && a != b && m->length < most))
		other = extend(p, f->in + b, most);
	if (other > m->length) {
		m->at = b;
		m->length = other;
	}
}

/* Finds the match at m->pos.  Returns false if there is none. */
static inline bool
match_here(struct deflate_fast *f, struct match *m)
{
	uint64_t word = load_le64(f->in + m->pos);
	uint16_t *last_a = &f->by_long[hash_long(word)];
	uint16_t *last_b = &f->by_short[hash_short(word)];
	size_t a = candidate(m->pos, *last_a), b = candidate(m->pos, *last_b);
	uint64_t differ_a = differing(f->in, word, a, m->pos);
	uint64_t differ_b = differing(f->in, word, b, m->pos);

	*last_a = *last_b = (uint16_t)m->pos;
	if ((uint32_t)differ_a != 0 && (uint32_t)differ_b != 0)
		return false;
	if (differ_a == 0 || differ_b == 0) {
		longer(f, m, differ_a, a, differ_b, b);
		return true;
	}
	/* the more bytes are equal, the higher the lowest bit set */
	if ((differ_b & -differ_b) > (differ_a & -differ_a)) {
		differ_a = differ_b;
		a = b;
	}
	m->at = a;
	m->length = (size_t)__builtin_ctzll(differ_a) / 8;
	look_ahead(f, m);
	return true;
}

/* Extends the match backwards over equal bytes, as far as `from`. */
static inline void
extend_back(const uint8_t *in, struct match *m, size_t from)
{
	while (m->pos > from && m->at > 0 && m->length < MOST &&
	    in[m->pos - 1] == in[m->at - 1]) {
		m->pos--;
		m->at--;
		m->length++;
	}
}

/* Inserts only some of the positions within a match, which is enough. */
static inline void
insert_match(struct deflate_fast *f, size_t pos, size_t next)
{
	insert_short(f, pos + 1);
	insert_short(f, pos + 2);
	insert_short(f, next - 1);
	if (f->more) {
		for (pos++; pos < next; pos++)
			insert_long(f, pos);
		return;
	}
	insert_long(f, pos + 1);
	insert_long(f, pos + 3);
	insert_long(f, next - 2);
	insert_long(f, next - 1);
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
	struct match m;

	for (m.pos = from; m.pos < end && n + 1 < room;) {
		if (!match_here(f, &m)) {
			m.pos += 1 + ((m.pos - from) >> PACE);
			continue;
		}
		if (f->more)
			extend_back(f->in, &m, from);
		seqs[n++] = (struct deflate_seq){ (uint32_t)(m.pos - from),
		    (uint16_t)m.length, (uint16_t)(m.pos - m.at) };
		from = m.pos + m.length;
		if (from < end)
			insert_match(f, m.pos, from);
		m.pos = from;
	}
	if (m.pos >= end && from < f->len) {
		seqs[n++] = (struct deflate_seq){ (uint32_t)(f->len - from),
		    0, 0 };
		from = f->len;
	}
	f->pos = from;
	return n;
}
