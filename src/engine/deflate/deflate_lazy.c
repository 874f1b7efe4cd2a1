/*
 * deflate_lazy.c - finding matches in binaries
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each position has three candidates: the last positions with the same hash of
 * seven, four and three bytes.  A short match is deferred if a better one
 * begins a byte later.  On machine code, this finds as much as a short search
 * through chains of four bytes does, in less time, because the candidates'
 * bytes can be loaded at once.  On text, chains find more.
 */
#include "deflate_lazy.h"

#include "base/bytes.h"
#include "deflate_words.h"

#include <stdbool.h>

enum {
	MARGIN = 3 * WORD,	/* bytes examined after a position */
	FAR_THREE = 4096,	/* beyond this distance, three literals are
				 * cheaper */
	LAZY = 12,		/* defer matches shorter than this */
	/* after 1 << PACE misses, some positions are skipped */
	PACE = 5,
	SKIP_MOST = 4
};

/* Return the last position with the hash of a word's first bytes. */
static inline uint16_t *
seven_of(struct deflate_lazy *f, uint64_t word)
{
	return &f->by_seven[words_hash7(word, DEFLATE_LAZY_BITS)];
}

static inline uint16_t *
four_of(struct deflate_lazy *f, uint64_t word)
{
	return &f->by_four[words_hash4(word, DEFLATE_LAZY_BITS)];
}

static inline uint16_t *
three_of(struct deflate_lazy *f, uint64_t word)
{
	return &f->by_three[words_hash3(word, DEFLATE_LAZY_BITS3)];
}

static inline bool
three(const struct deflate_lazy *f, uint64_t word, uint16_t low,
    struct words_match *m)
{
	size_t back = (uint16_t)(m->pos - low);

	if (back == 0 || back > FAR_THREE || back > m->pos ||
	    (load_le32(f->in + m->pos - back) ^ (uint32_t)word) << 8 != 0)
		return false;
	m->at = m->pos - back;
	m->length = 3;
	return true;
}

/* Chooses the longer of two matches, at least one of which covers a word. */
static inline void
longer(const struct deflate_lazy *f, struct words_match *m, uint64_t differ_a,
    size_t a, uint64_t differ_b, size_t b)
{
	const uint8_t *p = f->in + m->pos;
	size_t most = words_most_at(f->len, m->pos), n = 0;

	m->at = a;
	m->length = differ_a == 0 ? words_extend(p, f->in + a, most) : 0;
	if (differ_b == 0 && a != b && m->length < most)
		n = words_extend(p, f->in + b, most);
	if (n > m->length) {
		m->at = b;
		m->length = n;
	}
}

/*
 * Finds the match at pos and inserts the position.  Returns false if there
 * is none, or none longer than three bytes if `shortest` is 4.
 */
static inline bool
match_at(struct deflate_lazy *f, size_t pos, struct words_match *m,
    unsigned shortest)
{
	uint64_t word = load_le64(f->in + pos);
	uint16_t *seven = seven_of(f, word), *four = four_of(f, word);
	uint16_t *last3 = three_of(f, word), c = *last3;
	size_t a = words_candidate(pos, *seven);
	size_t b = words_candidate(pos, *four);
	uint64_t differ_a = words_differ(f->in, word, a, pos);
	uint64_t differ_b = words_differ(f->in, word, b, pos);

	*seven = *four = *last3 = (uint16_t)pos;
	m->pos = pos;
	if ((uint32_t)differ_a != 0 && (uint32_t)differ_b != 0)
		return shortest == 3 && three(f, word, c, m);
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
	return true;
}

static inline int
log2_of(size_t v)
{
	return 31 - __builtin_clz((uint32_t)v);
}

/* Returns whether it pays to move on to b, which begins after a. */
static inline bool
better(const struct words_match *b, const struct words_match *a)
{
	return 4 * ((int)b->length - (int)a->length) +
	    log2_of(a->pos - a->at) >= 3 + log2_of(b->pos - b->at);
}

/*
 * Moves on as long as a better match begins at the next position.  Returns the
 * first position that has not been inserted.
 */
static inline size_t
wait(struct deflate_lazy *f, struct words_match *m, size_t end)
{
	size_t pos = m->pos + 1;

	while (m->length < LAZY && pos < end) {
		struct words_match next;

		if (!match_at(f, pos++, &next, 4) || !better(&next, m))
			break;
		*m = next;
	}
	return pos;
}

/*
 * Finds the first match at or after `from`.  Returns false if there is none
 * before `end`.  The inner loop has only one condition, because most of its
 * positions have no match.
 */
static inline bool
next_match(struct deflate_lazy *f, size_t from, size_t end,
    struct words_match *m)
{
	size_t stop = from + (1 << PACE) + 1, skip;

	for (size_t pos = from; pos < end; pos += skip, stop = pos + 1) {
		for (stop = stop < end ? stop : end; pos < stop; pos++)
			if (match_at(f, pos, m, 3))
				return true;
		skip = (pos - 1 - from) >> PACE;
		skip = skip < SKIP_MOST ? skip : SKIP_MOST;
	}
	return false;
}

/*
 * Inserts the rest of a match, but not for matches of three bytes: those would
 * take more time than they save space.
 */
static inline void
insert(struct deflate_lazy *f, size_t pos, size_t end)
{
	for (; pos < end; pos++) {
		uint64_t word = load_le64(f->in + pos);

		*seven_of(f, word) = *four_of(f, word) = (uint16_t)pos;
	}
}

void
deflate_lazy_begin(struct deflate_lazy *f, const uint8_t *in, size_t len)
{
	f->in = in;
	f->len = len;
	f->pos = 0;
	memset(f->by_seven, 0, sizeof(f->by_seven));
	memset(f->by_four, 0, sizeof(f->by_four));
	memset(f->by_three, 0, sizeof(f->by_three));
}

size_t
deflate_lazy_find(struct deflate_lazy *f, struct deflate_seq *seqs,
    size_t room)
{
	size_t end = f->len < MARGIN ? 0 : f->len - MARGIN;
	size_t from = f->pos, next, n = 0;
	struct words_match m;

	while (n + 1 < room && next_match(f, from, end, &m)) {
		next = wait(f, &m, end);
		/* the match may begin earlier if positions were skipped */
		if ((m.pos - from) >> PACE != 0)
			words_extend_back(f->in, &m, from);
		seqs[n++] = words_seq(&m, from);
		from = m.pos + m.length;
		insert(f, next, from < end ? from : end);
	}
	if (n + 1 < room && from < f->len) {
		seqs[n++] = words_rest(f->len - from);
		from = f->len;
	}
	f->pos = from;
	return n;
}
