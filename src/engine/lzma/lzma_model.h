/*
 * lzma_model.h - the probabilities of LZMA, and what they cost
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the LZMA specification (LZMA SDK, lzma-specification.txt).
 */
#ifndef COLDPRESS_LZMA_MODEL_H
#define COLDPRESS_LZMA_MODEL_H

#include "lzma_agree.h"
#include "lzma_chain.h"
#include "lzma_find.h"

enum {
	STATES = 12,
	STATES_LITERAL = 7,	/* the states after a literal */
	POS_STATES = 16,
	REPS = 4,
	LITERAL_CODERS = 0x300,
	LITERAL_CONTEXTS = 1 << 4,
	SLOTS = 64,
	DISTS_FULL = 128,	/* distances with probabilities of their own */
	ALIGN = 16,
	PROB_BITS = 11,
	PROB_HALF = 1 << (PROB_BITS - 1),
	PROB_MOVE = 5,
	/* a bit costs 1 << PRICE_BITS */
	PRICE_BITS = 6,
	PRICE_SHIFT = 3,
	PRICES = 1 << (PROB_BITS - PRICE_SHIFT)
};

struct lzma_lengths {
	uint16_t choice, choice2;
	uint16_t low[POS_STATES][8], mid[POS_STATES][8], high[256];
};

struct lzma_model {
	uint16_t match[STATES][POS_STATES];
	uint16_t rep0_long[STATES][POS_STATES];
	uint16_t rep[STATES], rep0[STATES], rep1[STATES], rep2[STATES];
	uint16_t slot[4][SLOTS];
	uint16_t special[DISTS_FULL];
	uint16_t align[ALIGN];
	struct lzma_lengths match_len, rep_len;
	uint16_t literal[LITERAL_CONTEXTS][LITERAL_CODERS];
};

/* A step of the parse. */
struct lzma_symbol {
	uint32_t back;		/* SYMBOL_LITERAL, 0 to 3: a repeated distance;
				 * else the distance + REPS */
	uint32_t len;
};
#define SYMBOL_LITERAL UINT32_MAX

enum {
	PARSE_MAX = 4096,	/* positions that a parse may look ahead */
	/* by how many matches, ... the tables of prices may be behind */
	DIST_AGE = 32,
	LEN_AGE = 8,		/* and less at first */
	ALIGN_AGE = 16
};

struct lzma_node {
	uint32_t price;
	uint32_t back;		/* of the first match on the way here */
	uint16_t len;		/* of the last step */
	/*
	 * What precedes the last step, which then repeats the distance:
	 * 0: nothing; 1: a literal; else a match of extra - 1 bytes, and a
	 * literal.
	 */
	uint16_t extra;
	uint32_t state;
	uint32_t reps[REPS];
};

struct lzma_len_prices {
	uint16_t price[POS_STATES][LZMA_MATCH_MAX + 1];
	uint32_t age[POS_STATES];	/* uses until they are computed anew, */
	uint32_t next[POS_STATES];	/* and how many there will be then */
};

struct lzma_parser {
	struct lzma_model model;
	uint32_t state, reps[REPS];

	unsigned lc;
	uint32_t lp_mask, pb_mask;
	uint32_t nice;

	uint16_t price[PRICES];
	struct lzma_len_prices match_len, rep_len;
	uint32_t slot_price[4][SLOTS];
	uint32_t dist_price[4][DISTS_FULL];
	uint32_t align_price[ALIGN];
	uint32_t dist_age, align_age;

	const uint8_t *in;	/* the block, */
	uint32_t len;		/* of so many bytes */
	struct finder finder;
	struct lzma_node node[PARSE_MAX];
	/* what was parsed, the last first */
	struct lzma_symbol symbol[PARSE_MAX];
	uint32_t symbols;

	bool fast;
	bool chained;		/* matches are found by chains, not by trees */
	struct chain chain;
};

/* Prepares the table of prices. */
void lzma_prices_open(struct lzma_parser *z);

/* Sets the model to its initial state. */
void lzma_parser_reset(struct lzma_parser *z);

/* Parse from pos on: one symbol or more; or one, in less time. */
void lzma_parse(struct lzma_parser *z, uint32_t pos);
void lzma_parse_fast(struct lzma_parser *z, uint32_t pos);

/* Returns the matches at pos, and their number. */
static inline const struct find_pair *
lzma_matches(struct lzma_parser *z, uint32_t pos, uint32_t *count)
{
	return z->chained ? chain_at(&z->chain, pos, count) :
	    finder_at(&z->finder, pos, count);
}

static inline uint32_t
state_literal(uint32_t s)
{
	return s < 4 ? 0 : s < 10 ? s - 3 : s - 6;
}

static inline uint32_t
state_match(uint32_t s)
{
	return s < STATES_LITERAL ? 7 : 10;
}

static inline uint32_t
state_rep(uint32_t s)
{
	return s < STATES_LITERAL ? 8 : 11;
}

static inline uint32_t
state_short(uint32_t s)
{
	return s < STATES_LITERAL ? 9 : 11;
}

static inline uint16_t *
literal_coder(struct lzma_parser *z, uint32_t pos, uint8_t before)
{
	return z->model.literal[((pos & z->lp_mask) << z->lc) +
	    (before >> (8 - z->lc))];
}

static inline uint32_t
dist_slot(uint32_t dist)
{
	unsigned n;

	if (dist < 4)
		return dist;
	n = 31 - (unsigned)__builtin_clz(dist);
	return 2 * n + (dist >> (n - 1) & 1);
}

/* The row of the distance tables for a length. */
static inline unsigned
dist_row(uint32_t len)
{
	return len < 5 ? len - 2 : 3;
}

/*
 * Returns the length of the best repeated distance at pos, and which it is; or 0.
 */
static inline uint32_t
lzma_best_rep(const struct lzma_parser *z, uint32_t pos, unsigned *rep)
{
	const uint8_t *p = z->in + pos;
	uint32_t limit = z->len - pos, best = 0;

	if (limit > LZMA_MATCH_MAX)
		limit = LZMA_MATCH_MAX;
	for (unsigned i = 0; limit >= 2 && i < REPS; i++) {
		uint32_t dist = z->reps[i], len;

		if (dist >= pos || load_le16(p) != load_le16(p - dist - 1))
			continue;
		len = lzma_agree(p, p - dist - 1, 2, limit);
		if (len > best) {
			best = len;
			*rep = i;
		}
	}
	return best;
}

#endif
