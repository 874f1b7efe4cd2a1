/*
 * deflate_parse.c - parsing bytes into the sequences of a deflate stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsing is lazy: a match is deferred if a better one begins a byte later.
 *
 * Positions with the same hash of four bytes are chained, some thousand of them
 * at a time and before the search comes to them: that is one loop that is never
 * mispredicted, and the search then reads its links one after the other.
 *
 * Nearly every match begins with the first position of its chain that is looked
 * at, so that no more are tried until there is one.  A longer match contains
 * every group of four bytes in the best match so far, not only the first group,
 * so the search for it follows the chain of the group that occurred least
 * recently.  The chain is chosen again after every better match, and for a
 * match that begins one byte later.  This needs far fewer steps than the chain
 * of the first four bytes.
 *
 * Positions are stored modulo MATCH_POSITIONS.  A stale position is harmless,
 * because the bytes are compared, and may still yield a match.  A chain ends
 * where it no longer leads further back.
 */
#include "deflate_parse.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <string.h>

enum {
	FAR_THREE = 4096,	/* beyond this distance, three literals are
				 * cheaper */
	/* after 1 << SKIP_LOG literals in a row, some positions are skipped */
	SKIP_LOG = 7,
	SKIP_MOST = 4,
	/* positions that are linked together, and at least so many beyond the
	 * one at which a search begins */
	LINK_BATCH = 4096,
	LINK_AHEAD = 1024
};

/* matches are deferred to, and extend to, positions that are linked */
_Static_assert((1 << SKIP_LOG) + 1 + 2 * MATCH_MOST <= LINK_AHEAD, "");
_Static_assert(MATCH_WINDOW + LINK_BATCH + LINK_AHEAD <= MATCH_POSITIONS, "");

struct match {
	uint32_t length;
	uint32_t distance;	/* 0: no match was found */
};

static inline uint32_t
match_hash(uint32_t bytes)
{
	return bytes * 0x9e3779b1U >> (32 - MATCH_HASH_BITS);
}

/* Returns the hash of the first three bytes. */
static inline uint32_t
match_hash3(uint32_t bytes)
{
	return (bytes << 8) * 0x9e3779b1U >> (32 - MATCH_HASH3_BITS);
}

/*
 * Returns how many of `most` bytes at a and b are equal, given that the first n
 * are.
 */
static inline uint32_t
match_extend(const uint8_t *a, const uint8_t *b, uint32_t n, uint32_t most)
{
	while (n + 8 <= most) {
		uint64_t differ = load_le64(a + n) ^ load_le64(b + n);

		if (differ != 0)
			return n + (uint32_t)__builtin_ctzll(differ) / 8;
		n += 8;
	}
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

/* Links the positions before `to`, and a batch more, as far as there are bytes. */
static void
match_link(struct deflate_links *l, const uint8_t *in, uint32_t len,
    uint64_t to)
{
	uint32_t pos = l->linked, end = len - (MATCH_BYTES - 1);

	if (to + LINK_BATCH < end)
		end = (uint32_t)to + LINK_BATCH;
#pragma GCC unroll 4
	for (; pos < end; pos++) {
		uint32_t bytes = load_le32(in + pos);
		uint32_t h = match_hash(bytes), h3 = match_hash3(bytes);

		l->prev[pos % MATCH_POSITIONS] = l->head[h];
		l->head[h] = (uint16_t)pos;
		l->prev3[pos % MATCH_POSITIONS] = l->head3[h3];
		l->head3[h3] = (uint16_t)pos;
	}
	l->linked = end;
}

/* A chain for the bytes at offset `off` in the match. */
struct match_chain {
	uint32_t off, bytes, at;
};

static inline struct match_chain
match_chain(const struct deflate_links *l, const uint8_t *in, uint32_t pos,
    uint32_t off)
{
	return (struct match_chain){ off, load_le32(in + pos + off),
	    l->prev[(pos + off) % MATCH_POSITIONS] };
}

/*
 * Returns the chain to follow for a match at pos of more than `length` bytes.
 */
static inline struct match_chain
match_choose(const struct deflate_links *l, const uint8_t *in, uint32_t pos,
    uint32_t length)
{
	uint32_t off = length + 1 - MATCH_BYTES;
	struct match_chain best = match_chain(l, in, pos, off);

	for (uint32_t i = 1; i <= 2 && i <= off; i++) {
		struct match_chain c = match_chain(l, in, pos, off - i);
		bool older = (uint16_t)(pos + c.off - c.at) >
		    (uint16_t)(pos + best.off - best.at);

		best.off = older ? c.off : best.off;
		best.bytes = older ? c.bytes : best.bytes;
		best.at = older ? c.at : best.at;
	}
	return best;
}

/*
 * Returns whether n bytes at distance d are a better match.  One more byte
 * outweighs a distance 16 times as large.
 */
static inline bool
match_better(const struct match *best, uint32_t n, uint32_t d)
{
	uint32_t more = n - best->length;

	return n > best->length && (best->distance == 0 || more > 3 ||
	    d >> 4 * more < best->distance);
}

/* How far back a match at pos may begin. */
static inline uint32_t
match_reach(uint32_t pos)
{
	return pos < MATCH_WINDOW ? pos : MATCH_WINDOW;
}

/*
 * Searches for a match at pos that is longer than best->length, which is 4 or
 * more and less than `most`: the remaining bytes, or MATCH_MOST.  Examines at
 * most `steps` positions, and stops after a match of `nice` bytes.
 */
static __attribute__((noinline)) void
match_longer(const struct deflate_links *l, const uint8_t *in, uint32_t pos,
    uint32_t most, uint32_t nice, uint32_t steps, struct match *best)
{
	const uint8_t *p = in + pos;
	uint32_t reach = match_reach(pos), first = load_le32(p), before = 0;
	struct match_chain c = match_choose(l, in, pos, best->length);

	for (; steps > 0; steps--) {
		uint32_t d = (uint16_t)(pos + c.off - c.at), n;
		const uint8_t *q = p - d;

		if (d <= before || d > reach)
			return;
		before = d;
		n = ((load_le32(q + c.off) ^ c.bytes) |
		    (load_le32(q) ^ first)) != 0 ? 0 :
		    match_extend(p, q, MATCH_BYTES, most);
		if (match_better(best, n, d)) {
			best->length = n;
			best->distance = d;
			if (n >= nice || n == most)
				return;
			c = match_choose(l, in, pos, n);
			before = 0;
			continue;
		}
		c.at = l->prev[c.at];
	}
}

/*
 * Finds the nearest match of four bytes or more at pos, among the last `tries`
 * positions with the same hash.
 */
static inline bool
match_nearest(const struct deflate_links *l, const uint8_t *in, uint32_t pos,
    uint32_t most, uint32_t tries, struct match *m)
{
	const uint8_t *p = in + pos;
	uint32_t at = pos % MATCH_POSITIONS, before = 0;

	for (; tries > 0; tries--) {
		uint32_t d = (uint16_t)(pos - (at = l->prev[at]));

		if (d <= before || d > match_reach(pos))
			return false;
		if (load_le32(p - d) == load_le32(p)) {
			m->length = match_extend(p, p - d, MATCH_BYTES, most);
			m->distance = d;
			return true;
		}
		before = d;
	}
	return false;
}

/* Finds the nearest match of three bytes at pos. */
static inline bool
match_three(const struct deflate_links *l, const uint8_t *in, uint32_t pos,
    struct match *m)
{
	const uint8_t *p = in + pos;
	uint32_t d = (uint16_t)(pos - l->prev3[pos % MATCH_POSITIONS]);

	if (d == 0 || d > pos || d > FAR_THREE ||
	    (load_le32(p - d) ^ load_le32(p)) << 8 != 0)
		return false;
	m->length = 3;
	m->distance = d;
	return true;
}

void
deflate_parse_begin(struct deflate_parse *p,
    const struct deflate_effort *effort, const uint8_t *in, uint32_t len)
{
	memset(&p->links.head, 0, sizeof(p->links.head));
	memset(&p->links.head3, 0, sizeof(p->links.head3));
	p->links.linked = 0;
	p->effort = *effort;
	p->in = in;
	p->len = len;
	p->pos = 0;
}

static inline uint32_t
most_at(const struct deflate_parse *p, uint32_t pos)
{
	return p->len - pos < MATCH_MOST ? p->len - pos : MATCH_MOST;
}

/* Finds a match at *pos or a little before it, but not before `start`. */
static inline bool
find_at(struct deflate_parse *p, uint32_t start, uint32_t *pos,
    struct match *best)
{
	const uint8_t *in = p->in;
	uint32_t most = most_at(p, *pos);

	if (match_nearest(&p->links, in, *pos, most, p->effort.tries,
	    best)) {
		if (best->length < p->effort.nice && best->length < most)
			match_longer(&p->links, in, *pos, most, p->effort.nice,
			    p->effort.steps - 1, best);
	} else if (!match_three(&p->links, in, *pos, best)) {
		return false;
	}
	/* the match may begin earlier if positions have been skipped */
	if ((*pos - start) >> SKIP_LOG != 0)
		while (best->length < MATCH_MOST && *pos > start &&
		    *pos > best->distance &&
		    in[*pos - 1] == in[*pos - 1 - best->distance]) {
			--*pos;
			best->length++;
		}
	return true;
}

static inline uint32_t
log2_of(uint32_t v)
{
	return 31 - (uint32_t)__builtin_clz(v);
}

/* Moves to the next position as long as a better match begins there. */
static inline void
defer(struct deflate_parse *p, uint32_t *pos, struct match *best)
{
	while (best->length < p->effort.lazy &&
	    p->len - *pos > best->length + 1) {
		struct match m = { best->length, 0 };
		uint32_t steps = p->effort.lazy_steps;

		if (best->length >= p->effort.good)
			steps /= 4;
		match_longer(&p->links, p->in, *pos + 1, most_at(p, *pos + 1),
		    p->effort.nice, steps, &m);
		if (m.distance == 0 || 4 * (m.length - best->length) +
		    log2_of(best->distance) < 3 + log2_of(m.distance))
			return;
		*best = m;
		++*pos;
	}
}

/*
 * Finds the first match at or after `start`.  Returns false if there is none
 * before `end`.  The inner loop has only one condition, because most of its
 * positions have no match.
 */
static inline bool
next_match(struct deflate_parse *p, uint32_t start, uint32_t end,
    uint32_t *pos, struct match *m)
{
	uint32_t stop = start + (1 << SKIP_LOG) + 1, skip;

	for (*pos = start; *pos < end; *pos += skip, stop = *pos + 1) {
		if (p->links.linked - *pos < LINK_AHEAD)
			match_link(&p->links, p->in, p->len,
			    (uint64_t)*pos + LINK_AHEAD);
		for (stop = stop < end ? stop : end; *pos < stop; ++*pos)
			if (find_at(p, start, pos, m))
				return true;
		skip = (*pos - 1 - start) >> SKIP_LOG;
		skip = skip < SKIP_MOST ? skip : SKIP_MOST;
	}
	return false;
}

size_t
deflate_parse_run(struct deflate_parse *p, struct deflate_seq *seqs,
    size_t room)
{
	uint32_t end = p->len < MATCH_BYTES ? 0 : p->len - MATCH_BYTES;
	uint32_t start = p->pos, pos;
	struct match m;
	size_t n = 0;

	while (n < room && next_match(p, start, end, &pos, &m)) {
		defer(p, &pos, &m);
		seqs[n++] = (struct deflate_seq){ pos - start,
		    (uint16_t)m.length, (uint16_t)m.distance };
		start = pos + m.length;
	}
	if (n < room && start < p->len) {
		seqs[n++] = (struct deflate_seq){ p->len - start, 0, 0 };
		start = p->len;
	}
	p->pos = start;
	return n;
}
