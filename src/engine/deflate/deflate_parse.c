/*
 * deflate_parse.c - parsing bytes into the sequences of a deflate stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsing is lazy: a match is deferred if a better one begins a byte later.
 */
#include "deflate_parse.h"

enum {
	FAR_THREE = 4096,	/* beyond this distance, three literals are
				 * cheaper */
	/* after 1 << SKIP_LOG literals in a row, some positions are skipped */
	SKIP_LOG = 7,
	SKIP_MOST = 4
};

void
deflate_parse_begin(struct deflate_parse *p,
    const struct deflate_effort *effort, const uint8_t *in, uint32_t len)
{
	memset(&p->match, 0, sizeof(p->match));
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
find(struct deflate_parse *p, uint32_t start, uint32_t *pos, struct match *best)
{
	const uint8_t *in = p->in;

	*best = (struct match){ MATCH_BYTES - 1, 0 };
	match_find(&p->match, in, *pos, most_at(p, *pos), p->effort.nice,
	    p->effort.steps, best);
	if (best->distance == 0)
		best->distance = match_three(&p->match, in, *pos, FAR_THREE);
	match_insert(&p->match, in, *pos);
	if (best->distance == 0)
		return false;
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
wait(struct deflate_parse *p, uint32_t *pos, struct match *best)
{
	while (best->length < p->effort.lazy &&
	    p->len - *pos > best->length + 1) {
		struct match m = { best->length, 0 };
		uint32_t steps = p->effort.lazy_steps;

		if (best->length >= p->effort.good)
			steps /= 4;
		match_find(&p->match, p->in, *pos + 1, most_at(p, *pos + 1),
		    p->effort.nice, steps, &m);
		if (m.distance == 0 || 4 * (m.length - best->length) +
		    log2_of(best->distance) < 3 + log2_of(m.distance))
			return;
		*best = m;
		match_insert(&p->match, p->in, ++*pos);
	}
}

/* Inserts the positions within a match, except for the first. */
static inline void
insert(struct deflate_parse *p, uint32_t pos, uint32_t end)
{
	uint32_t stop = p->len - (MATCH_BYTES - 1);

	for (stop = end < stop ? end : stop; ++pos < stop;)
		match_insert(&p->match, p->in, pos);
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
		for (stop = stop < end ? stop : end; *pos < stop; ++*pos)
			if (find(p, start, pos, m))
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
		wait(p, &pos, &m);
		seqs[n++] = (struct deflate_seq){ pos - start,
		    (uint16_t)m.length, (uint16_t)m.distance };
		insert(p, pos, pos + m.length);
		start = pos + m.length;
	}
	if (n < room && start < p->len) {
		seqs[n++] = (struct deflate_seq){ p->len - start, 0, 0 };
		start = p->len;
	}
	p->pos = start;
	return n;
}
