/*
 * lzma_chain.c - the matches of some positions of a block
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All positions are linked, a batch at a time and before the search comes to them,
 * to the last one with the same four bytes.  A search goes from link to link to
 * the first match.  A longer one has every group of four bytes in it, and one more;
 * so the search for it follows the chain of that group which was last seen longest
 * ago.  The nearest match of each length is found like this, as long as depth allows.
 */
#include "lzma_chain.h"

#include "base/sys.h"
#include "lzma_agree.h"

#include <errno.h>
#include <string.h>

enum {
	HASH4_LOG_MIN = 16,
	HASH4_LOG_MAX = 20,
	BYTES = 4		/* that are hashed */
};

static unsigned
hash_log(uint32_t window)
{
	unsigned log = HASH4_LOG_MIN;

	while (log < HASH4_LOG_MAX && (uint32_t)1 << log < window)
		log++;
	return log;
}

/* The size of the ring: a power of two. */
static uint64_t
ring(uint32_t window)
{
	uint64_t n = CHAIN_BATCH + CHAIN_AHEAD + (uint64_t)window, all = 1;

	while (all < n)
		all *= 2;
	return all;
}

uint64_t
chain_memory(uint32_t dict, uint32_t len)
{
	uint32_t window = len < dict ? len : dict;

	return 4 * (ring(window) + ((uint64_t)1 << hash_log(window)) + FIND_HASH2 +
	    (1 << FIND_HASH3_LOG)) + CHAIN_NEAR * sizeof(struct chain_near) +
	    2 * FIND_HUGE_PAGE;
}

int
chain_open(struct chain *c, uint32_t nice, uint32_t longest, uint32_t depth,
    uint32_t groups)
{
	c->nice = nice;
	c->longest = longest;
	c->depth = depth;
	c->groups = groups;
	c->head2 = sys_malloc(4 * FIND_HASH2);
	c->head3 = sys_malloc(4 << FIND_HASH3_LOG);
	c->near = sys_malloc(CHAIN_NEAR * sizeof(*c->near));
	return c->head2 == NULL || c->head3 == NULL || c->near == NULL ?
	    -ENOMEM : 0;
}

void
chain_close(struct chain *c)
{
	sys_free(c->head2);
	sys_free(c->head3);
	sys_free(c->head_table.block);
	sys_free(c->prev_table.block);
	sys_free(c->near);
}

int
chain_reserve(struct chain *c, uint32_t len, uint32_t dict)
{
	uint32_t window = len < dict ? len : dict;

	return find_table_grow(&c->head_table,
	    (uint64_t)1 << hash_log(window)) != 0 ||
	    find_table_grow(&c->prev_table, ring(window)) != 0 ? -ENOMEM : 0;
}

int
chain_begin(struct chain *c, const uint8_t *in, uint32_t len, uint32_t dict)
{
	uint32_t window = len < dict ? len : dict;

	if (chain_reserve(c, len, dict) != 0)
		return -ENOMEM;
	c->head4 = c->head_table.p;
	c->prev = c->prev_table.p;
	c->in = in;
	c->len = len;
	c->dict = dict;
	c->hash_log = hash_log(window);
	c->mask = (uint32_t)(ring(window) - 1);
	c->linked = 0;
	c->found[0].after = c->found[1].after = 0;
	memset(c->head2, 0, 4 * FIND_HASH2);
	memset(c->head3, 0, 4 << FIND_HASH3_LOG);
	memset(c->head4, 0, (size_t)4 << c->hash_log);
	return 0;
}

/* Links the positions before `to`, and a batch more, as far as there are bytes. */
static void
link_up(struct chain *c, uint64_t to)
{
	uint32_t end = c->len < BYTES ? 0 : c->len - (BYTES - 1);
	uint32_t pos = c->linked, far = c->dict + 1, mask = c->mask;
	const unsigned log = c->hash_log;
	const uint8_t *in = c->in;

	if (to + CHAIN_BATCH < end)
		end = (uint32_t)to + CHAIN_BATCH;
#pragma GCC unroll 4
	for (; pos < end; pos++) {
		/* a place that is not set is too far away */
		uint32_t now = pos + far;
		uint32_t *two = &c->head2[load_le16(in + pos)];
		uint32_t *three = &c->head3[find_hash3(in + pos)];
		uint32_t *four = &c->head4[find_hash4(in + pos, log)];

		c->near[pos % CHAIN_NEAR] = (struct chain_near){ now - *two,
		    now - *three };
		c->prev[pos & mask] = *four;
		*two = *three = *four = now;
	}
	c->linked = end;
}

/* A group of bytes in a match, and how far before the match it was last. */
struct group {
	uint32_t off, at, delta;
};

static inline struct group
group_at(const struct chain *c, uint32_t pos, uint32_t off)
{
	uint32_t at = c->prev[(pos + off) & c->mask];

	return (struct group){ off, at, pos + c->dict + 1 + off - at };
}

/* Returns the group to follow for a match at pos of more than len bytes. */
static inline struct group
choose(const struct chain *c, uint32_t pos, uint32_t len)
{
	uint32_t off = len + 1 - BYTES;
	uint32_t least = off < c->groups ? 0 : off - c->groups;
	struct group best = group_at(c, pos, off);

	while (off-- > least) {
		struct group g = group_at(c, pos, off);
		bool older = g.delta > best.delta;

		best.off = older ? g.off : best.off;
		best.at = older ? g.at : best.at;
		best.delta = older ? g.delta : best.delta;
	}
	return best;
}

/* A search for the matches at a position. */
struct search {
	const struct chain *c;
	const uint8_t *p;
	uint32_t pos;
	uint32_t limit;		/* bytes */
	uint32_t best;		/* shorter matches are known, or do not count */
	struct chain_found *found;
};

/* Adds a match that is longer than all before. */
static inline void
add(struct search *s, uint32_t len, uint32_t delta)
{
	const uint8_t *p = s->p + len + 1;

	s->found->pair[s->found->count++] = (struct find_pair){ (uint16_t)len,
	    s->pos + len + 3 <= s->c->len && load_le16(p) ==
	    load_le16(p - delta), delta - 1 };
	s->best = len > s->best ? len : s->best;
}

/* The nearest matches of two and three bytes, which may be longer. */
static inline void
add_near(struct search *s)
{
	struct chain_near near = s->c->near[s->pos % CHAIN_NEAR];
	uint32_t n, two = 0;

	if (near.two <= s->c->dict) {
		two = lzma_agree(s->p, s->p - near.two, 2, s->limit);
		add(s, two, near.two);
	}
	if (near.three != near.two && near.three <= s->c->dict &&
	    two < s->limit) {
		n = lzma_agree(s->p, s->p - near.three, 0, s->limit);
		if (n > 2 && n > two)
			add(s, n, near.three);
	}
}

/* Adds the matches of more bytes than best. */
static inline void
add_chained(struct search *s)
{
	const struct chain *c = s->c;
	const uint8_t *p = s->p;
	uint32_t first = load_le32(p);
	uint32_t reach = s->pos < c->dict ? s->pos : c->dict;
	struct group g = choose(c, s->pos, s->best);
	uint32_t bytes = load_le32(p + g.off);

	for (uint32_t depth = c->depth; depth > 0 && g.delta <= reach;
	    depth--) {
		const uint8_t *q = p - g.delta;
		uint32_t n = load_le32(q + g.off) == bytes &&
		    load_le32(q) == first ?
		    lzma_agree(p, q, BYTES, s->limit) : 0;

		if (n > s->best) {
			add(s, n, g.delta);
			if (n >= c->nice || n == s->limit)
				break;
			g = choose(c, s->pos, n);
			bytes = load_le32(p + g.off);
		} else {
			g.at = c->prev[(g.at - c->dict - 1) & c->mask];
			g.delta = s->pos + c->dict + 1 + g.off - g.at;
		}
	}
}

const struct find_pair *
chain_at(struct chain *c, uint32_t pos, uint32_t *count)
{
	struct chain_found *found = &c->found[pos & 1];
	struct search s = { .c = c, .p = c->in + pos, .pos = pos,
		.limit = c->len - pos, .best = BYTES - 1, .found = found };

	if (found->after != pos + 1) {
		found->after = pos + 1;
		found->count = 0;
		if (s.limit > c->longest)
			s.limit = c->longest;
		if (s.limit >= BYTES) {
			if (c->linked < (uint64_t)pos + CHAIN_AHEAD)
				link_up(c, (uint64_t)pos + CHAIN_AHEAD);
			add_near(&s);
			if (s.best < s.limit && s.best < c->nice)
				add_chained(&s);
		}
	}
	*count = found->count;
	return found->pair;
}
