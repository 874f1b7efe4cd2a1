/*
 * lzma_parse.c - the cheapest way to write a block as LZMA
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A parse computes for each position the lowest price to get there: a node.
 * From every node go literals, matches and repeated distances of every length,
 * and three combinations that pay in structured data, where one byte differs: a
 * match, a repeated distance or nothing, then a literal, then the last distance
 * again.  Only the best way to a node is followed, with its state and repeated
 * distances.  A parse ends at a node that no step passes over, or before a
 * match of the length `nice`, which is always taken.
 *
 * The prices follow the probabilities with a delay, because they change with
 * every symbol and tables are expensive.
 */
#include "lzma_model.h"

#include "base/bytes.h"

#include <string.h>

#define NEVER (UINT32_MAX / 2)

void
lzma_prices_open(struct lzma_parser *z)
{
	for (uint32_t i = 0; i < PRICES; i++) {
		/* log2 of the middle of the step, by squaring */
		uint64_t x = ((uint64_t)2 * i + 1) << (30 - PROB_BITS +
		    PRICE_SHIFT - 1);
		uint32_t bits = 0;

		/* x is the probability, 1 being 1 << 30 */
		while (x < (uint64_t)1 << 29) {
			x <<= 1;
			bits++;
		}
		bits <<= PRICE_BITS;
		/* 1/2 <= x < 1 */
		for (unsigned b = 1; b <= PRICE_BITS; b++) {
			x = x * x >> 30;
			if (x < (uint64_t)1 << 29) {
				x <<= 1;
				bits += (uint32_t)1 << (PRICE_BITS - b);
			}
		}
		z->price[i] = (uint16_t)bits;
	}
}

static void
set_half(uint16_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*p); i++)
		p[i] = PROB_HALF;
}

static inline uint32_t
price_of(const struct lzma_parser *z, uint16_t prob, uint32_t bit)
{
	return z->price[(prob ^ ((0 - bit) & ((1 << PROB_BITS) - 1))) >>
	    PRICE_SHIFT];
}

/* The price of a number in a tree, most significant bit first. */
static uint32_t
tree_price(const struct lzma_parser *z, const uint16_t *tree, unsigned bits,
    uint32_t value)
{
	uint32_t price = 0;

	value |= (uint32_t)1 << bits;
	while (value != 1) {
		price += price_of(z, tree[value >> 1], value & 1);
		value >>= 1;
	}
	return price;
}

/* The same, least significant bit first. */
static uint32_t
reverse_price(const struct lzma_parser *z, const uint16_t *tree,
    unsigned bits, uint32_t value)
{
	uint32_t price = 0, at = 1;

	for (; bits > 0; bits--) {
		price += price_of(z, tree[at], value & 1);
		at = 2 * at + (value & 1);
		value >>= 1;
	}
	return price;
}

/* The prices of the first `count` numbers in a tree, each added to base. */
static void
tree_prices(const struct lzma_parser *z, const uint16_t *tree, unsigned bits,
    uint32_t base, uint32_t count, uint16_t *to)
{
	uint16_t price[1 << 8] = { (uint16_t)base };

	/* nodes of a level become those of the next, from the last on */
	for (unsigned level = 0; level < bits; level++) {
		const uint16_t *nodes = tree + ((size_t)1 << level);
		uint32_t i = ((count - 1) >> (bits - level)) + 1;

		while (i-- > 0) {
			uint32_t one = price_of(z, nodes[i], 1);

			price[2 * i + 1] = (uint16_t)(price[i] + one);
			price[2 * i] = (uint16_t)(price[i] +
			    price_of(z, nodes[i], 0));
		}
	}
	memcpy(to, price, count * sizeof(*to));
}

static void
len_prices(const struct lzma_parser *z, struct lzma_len_prices *p,
    const struct lzma_lengths *l, uint32_t pos_state)
{
	uint32_t low = price_of(z, l->choice, 0), one = price_of(z, l->choice, 1);
	uint32_t mid = one + price_of(z, l->choice2, 0);
	uint32_t high = one + price_of(z, l->choice2, 1);
	uint16_t *to = p->price[pos_state] + LZMA_MATCH_MIN;
	uint32_t count = z->nice - LZMA_MATCH_MIN + 1;

	tree_prices(z, l->low[pos_state], 3, low, count < 8 ? count : 8, to);
	if (count > 8)
		tree_prices(z, l->mid[pos_state], 3, mid, count < 16 ?
		    count - 8 : 8, to + 8);
	if (count > 16)
		tree_prices(z, l->high, 8, high, count - 16, to + 16);
	p->age[pos_state] = p->next[pos_state];
	if (p->next[pos_state] < LEN_AGE)
		p->next[pos_state] *= 2;
}

static void
dist_prices(struct lzma_parser *z)
{
	const struct lzma_model *m = &z->model;
	uint32_t special[DISTS_FULL];

	for (uint32_t d = 4; d < DISTS_FULL; d++) {
		uint32_t slot = dist_slot(d), bits = slot / 2 - 1;
		uint32_t base = (2 | (slot & 1)) << bits;

		special[d] = reverse_price(z, m->special + base - slot, bits,
		    d - base);
	}
	for (unsigned row = 0; row < 4; row++) {
		uint32_t *slots = z->slot_price[row];

		for (uint32_t s = 0; s < SLOTS; s++) {
			slots[s] = tree_price(z, m->slot[row], 6, s);
			if (s >= 14)
				slots[s] += (s / 2 - 1 - 4) << PRICE_BITS;
		}
		for (uint32_t d = 0; d < DISTS_FULL; d++)
			z->dist_price[row][d] = slots[dist_slot(d)] +
			    (d < 4 ? 0 : special[d]);
	}
	z->dist_age = 0;
}

static void
align_prices(struct lzma_parser *z)
{
	for (uint32_t i = 0; i < ALIGN; i++)
		z->align_price[i] = reverse_price(z, z->model.align, 4, i);
	z->align_age = 0;
}

void
lzma_parser_reset(struct lzma_parser *z)
{
	set_half((uint16_t *)&z->model, sizeof(z->model));
	z->state = 0;
	for (unsigned i = 0; i < REPS; i++)
		z->reps[i] = 0;
	for (uint32_t ps = 0; ps <= z->pb_mask; ps++) {
		z->match_len.next[ps] = z->rep_len.next[ps] = 1;
		len_prices(z, &z->match_len, &z->model.match_len, ps);
		len_prices(z, &z->rep_len, &z->model.rep_len, ps);
	}
	dist_prices(z);
	align_prices(z);
	z->symbols = 0;
}

/* Computes anew the prices that have become too old. */
static void
refresh(struct lzma_parser *z)
{
	if (z->dist_age >= DIST_AGE)
		dist_prices(z);
	if (z->align_age >= ALIGN_AGE)
		align_prices(z);
	for (uint32_t ps = 0; ps <= z->pb_mask; ps++) {
		if ((int32_t)z->match_len.age[ps] <= 0)
			len_prices(z, &z->match_len, &z->model.match_len, ps);
		if ((int32_t)z->rep_len.age[ps] <= 0)
			len_prices(z, &z->rep_len, &z->model.rep_len, ps);
	}
}

static inline uint32_t
dist_price(const struct lzma_parser *z, uint32_t dist, unsigned row)
{
	if (dist < DISTS_FULL)
		return z->dist_price[row][dist];
	return z->slot_price[row][dist_slot(dist)] +
	    z->align_price[dist & (ALIGN - 1)];
}

/* The price of the byte at p, at pos in the block, without its first bit. */
static inline uint32_t
literal_price(struct lzma_parser *z, const uint8_t *p, uint32_t pos,
    uint32_t state, uint32_t dist)
{
	const uint16_t *coder = literal_coder(z, pos, pos > 0 ? p[-1] : 0);
	uint32_t byte = *p, price = 0, symbol = byte | 0x100;

	if (state < STATES_LITERAL) {
		for (unsigned i = 0; i < 8; i++)
			price += price_of(z, coder[symbol >> (8 - i)],
			    byte >> (7 - i) & 1);
	} else {
		uint32_t like = *(p - dist - 1), offset = 0x100;

		for (unsigned i = 0; i < 8; i++) {
			uint32_t bit = byte >> (7 - i) & 1, bits;

			like <<= 1;
			bits = like & offset;
			price += price_of(z, coder[offset + bits +
			    (symbol >> (8 - i))], bit);
			offset &= bit ? bits : ~bits;
		}
	}
	return price;
}

/* The price of the choice of a repeated distance, without its length. */
static inline uint32_t
rep_price(const struct lzma_parser *z, unsigned rep, uint32_t state,
    uint32_t pos_state)
{
	const struct lzma_model *m = &z->model;

	if (rep == 0)
		return price_of(z, m->rep0[state], 0) +
		    price_of(z, m->rep0_long[state][pos_state], 1);
	if (rep == 1)
		return price_of(z, m->rep0[state], 1) +
		    price_of(z, m->rep1[state], 0);
	return price_of(z, m->rep0[state], 1) +
	    price_of(z, m->rep1[state], 1) +
	    price_of(z, m->rep2[state], rep - 2);
}

static inline uint32_t
short_price(const struct lzma_parser *z, uint32_t state, uint32_t pos_state)
{
	return price_of(z, z->model.rep0[state], 0) +
	    price_of(z, z->model.rep0_long[state][pos_state], 0);
}

static inline void
offer(struct lzma_node *n, uint32_t price, uint32_t back, uint32_t len,
    uint32_t extra)
{
	if (price < n->price) {
		n->price = price;
		n->back = back;
		n->len = (uint16_t)len;
		n->extra = (uint16_t)extra;
	}
}

/* Makes nodes up to `to`, which nothing has reached yet. */
static inline uint32_t
extend(struct lzma_parser *z, uint32_t end, uint32_t to)
{
	while (end < to)
		z->node[++end].price = NEVER;
	return end;
}

/* What a parse knows about the position it is at. */
struct place {
	const uint8_t *p;
	uint32_t cur, pos;	/* since the start of the parse; in the block */
	uint32_t avail;		/* bytes that may be parsed */
	uint32_t end;		/* the last node reached */
};

/*
 * After a step of len bytes (0: none) to a distance, which costs `price` and
 * leaves state: offers a literal and the same distance again.
 */
static inline void
try_again(struct lzma_parser *z, struct place *a, uint32_t price, uint32_t len,
    uint32_t back, uint32_t dist, uint32_t state)
{
	const uint8_t *p = a->p + len + 1, *q = p - dist - 1;
	uint32_t pos_state, limit, again, pos = a->pos + len;

	if (a->avail < len + 3 || load_le16(p) != load_le16(q))
		return;
	limit = a->avail - len - 1;
	if (limit > z->nice)
		limit = z->nice;
	again = lzma_agree(p, q, 2, limit);

	price += price_of(z, z->model.match[state][pos & z->pb_mask], 0) +
	    literal_price(z, p - 1, pos, state, dist);
	state = state_literal(state);
	pos_state = (pos + 1) & z->pb_mask;
	price += price_of(z, z->model.match[state][pos_state], 1) +
	    price_of(z, z->model.rep[state], 1) +
	    rep_price(z, 0, state, pos_state) +
	    z->rep_len.price[pos_state][again];
	a->end = extend(z, a->end, a->cur + len + 1 + again);
	offer(&z->node[a->cur + len + 1 + again], price, back, again, len + 1);
}

/* Computes the state and the distances of a node from the way to it. */
static inline void
arrive(struct lzma_parser *z, uint32_t cur)
{
	struct lzma_node *n = &z->node[cur];
	const struct lzma_node *from = n - n->len - n->extra;
	uint32_t s = from->state, back = n->back;

	if (n->extra == 0 && n->len == 1)
		n->state = back == 0 ? state_short(s) : state_literal(s);
	else if (n->extra > 0)
		n->state = 8;	/* a repeated distance after a literal */
	else
		n->state = back < REPS ? state_rep(s) : state_match(s);
	if (back == SYMBOL_LITERAL || back == 0) {
		memcpy(n->reps, from->reps, sizeof(n->reps));
	} else if (back >= REPS) {
		n->reps[0] = back - REPS;
		memcpy(n->reps + 1, from->reps, 3 * sizeof(n->reps[0]));
	} else {
		uint32_t dist = from->reps[back];

		n->reps[0] = dist;
		n->reps[1] = from->reps[0];
		n->reps[2] = from->reps[back == 1 ? 2 : 1];
		n->reps[3] = from->reps[back == 3 ? 2 : 3];
	}
}

/* Offers every step from the node a->cur. */
static void
steps(struct lzma_parser *z, struct place *a, const struct find_pair *pair,
    uint32_t pairs)
{
	const struct lzma_model *m = &z->model;
	const struct lzma_node *n = &z->node[a->cur];
	struct lzma_node *to = &z->node[a->cur + 1];
	uint32_t state = n->state, ps = a->pos & z->pb_mask, price, lit;
	uint32_t limit = a->avail < z->nice ? a->avail : z->nice;
	uint32_t start = LZMA_MATCH_MIN, as_match, as_rep, len, longest;
	const uint8_t *p = a->p;
	bool lit_best = false, same;

	price = n->price;
	same = n->reps[0] < a->pos && p[0] == *(p - n->reps[0] - 1);
	as_match = price + price_of(z, m->match[state][ps], 1);
	as_rep = as_match + price_of(z, m->rep[state], 1);
	as_match += price_of(z, m->rep[state], 0);
	lit = price + price_of(z, m->match[state][ps], 0);
	if (lit < to->price) {
		lit += literal_price(z, p, a->pos, state, n->reps[0]);
		lit_best = lit < to->price;
		offer(to, lit, SYMBOL_LITERAL, 1, 0);
	}
	if (same)
		offer(to, as_rep + short_price(z, state, ps), 0, 1, 0);
	if (a->avail < 2)
		return;
	if (!same && !lit_best && n->reps[0] < a->pos)
		try_again(z, a, price, 0, 0, n->reps[0], state);

	for (unsigned i = 0; i < REPS; i++) {
		uint32_t dist = n->reps[i], base;
		const uint16_t *prices = z->rep_len.price[ps];

		if (dist >= a->pos ||
		    load_le16(p) != load_le16(p - dist - 1))
			continue;
		longest = lzma_agree(p, p - dist - 1, 2, limit);
		a->end = extend(z, a->end, a->cur + longest);
		base = as_rep + rep_price(z, i, state, ps);
		for (len = longest; len >= 2; len--)
			offer(&z->node[a->cur + len], base + prices[len], i,
			    len, 0);
		if (i == 0)
			start = longest + 1;
		try_again(z, a, base + prices[longest], longest, i, dist,
		    state_rep(state));
	}

	if (pairs == 0 || pair[pairs - 1].len < start)
		return;
	longest = pair[pairs - 1].len;
	if (longest > limit) {
		longest = limit;
		while (pairs > 1 && pair[pairs - 2].len >= longest)
			pairs--;
		if (longest < start)
			return;
	}
	a->end = extend(z, a->end, a->cur + longest);
	len = start;
	for (uint32_t i = 0; i < pairs; i++) {
		uint32_t last = pair[i].len < longest ? pair[i].len : longest;
		uint32_t dist = pair[i].dist, base;
		const uint16_t *prices = z->match_len.price[ps];

		if (last < len)
			continue;
		for (; len < 5 && len <= last; len++)
			offer(&z->node[a->cur + len], as_match + prices[len] +
			    dist_price(z, dist, len - 2), dist + REPS, len, 0);
		base = as_match + dist_price(z, dist, dist_row(last));
		for (; len <= last; len++)
			offer(&z->node[a->cur + len], base + prices[len],
			    dist + REPS, len, 0);
		if (pair[i].again || last < pair[i].len)
			try_again(z, a, base + prices[last], last,
			    dist + REPS, dist, state_match(state));
	}
}

static void
one_symbol(struct lzma_parser *z, uint32_t back, uint32_t len)
{
	z->symbol[0] = (struct lzma_symbol){ back, len };
	z->symbols = 1;
}

/* Lists the steps of the way to a node, the last first. */
static void
trace(struct lzma_parser *z, uint32_t cur)
{
	struct lzma_symbol *s = z->symbol;

	while (cur > 0) {
		const struct lzma_node *n = &z->node[cur];

		if (n->extra == 0) {
			*s++ = (struct lzma_symbol){ n->back, n->len };
		} else {
			*s++ = (struct lzma_symbol){ 0, n->len };
			*s++ = (struct lzma_symbol){ SYMBOL_LITERAL, 1 };
			if (n->extra > 1)
				*s++ = (struct lzma_symbol){ n->back,
				    n->extra - 1U };
		}
		cur -= n->len + (uint32_t)n->extra;
	}
	z->symbols = (uint32_t)(s - z->symbol);
}

void
lzma_parse(struct lzma_parser *z, uint32_t pos)
{
	struct place a = { .p = z->in + pos, .pos = pos, .end = 1 };
	uint32_t rest = z->len - pos, pairs, longest = 0, best;
	uint32_t limit = rest < LZMA_MATCH_MAX ? rest : LZMA_MATCH_MAX;
	const struct find_pair *pair = lzma_matches(z, pos, &pairs);
	unsigned rep = 0;

	if (rest < 2) {
		one_symbol(z, SYMBOL_LITERAL, 1);
		return;
	}
	best = lzma_best_rep(z, pos, &rep);
	if (best >= z->nice) {
		one_symbol(z, rep, best);
		return;
	}
	if (pairs > 0)
		longest = pair[pairs - 1].len;
	if (longest >= z->nice) {
		uint32_t dist = pair[pairs - 1].dist;

		one_symbol(z, dist + REPS,
		    lzma_agree(a.p, a.p - dist - 1, 2, limit));
		return;
	}
	if (longest < 2 && best < 2 &&
	    (z->reps[0] >= pos || a.p[0] != *(a.p - z->reps[0] - 1))) {
		one_symbol(z, SYMBOL_LITERAL, 1);
		return;
	}

	refresh(z);
	if (rest > PARSE_MAX - 1)
		rest = PARSE_MAX - 1;
	z->node[0].price = 0;
	z->node[0].state = z->state;
	memcpy(z->node[0].reps, z->reps, sizeof(z->reps));
	z->node[1].price = NEVER;
	for (;;) {
		a.avail = rest - a.cur;
		steps(z, &a, pair, pairs);
		a.cur++;
		if (a.cur == a.end)
			break;
		a.p++;
		a.pos++;
		pair = lzma_matches(z, a.pos, &pairs);
		if (pairs > 0 && pair[pairs - 1].len >= z->nice)
			break;
		arrive(z, a.cur);
	}
	trace(z, a.cur);
}
