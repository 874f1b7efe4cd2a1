/*
 * lzma_encode.c - LZMA2 chunks from the parse of a block
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A chunk ends at any symbol, when it is nearly 64 KiB long.  If it is not
 * shorter than its data, these are stored instead; LZMA2 then wants the model
 * to start anew, so the rest of the parse, which followed the old one, is
 * discarded.
 */
#include "engine/lzma/lzma_encode.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "lzma_model.h"

#include <errno.h>

enum {
	CHUNK_PLAIN = 2 << 20,
	CHUNK_PACKED = 64 << 10,
	CHUNK_HEADER = 6,
	STORED_HEADER = 3,
	/* the most bytes of a symbol, and of what the range coder holds back */
	CHUNK_SLACK = 64,
	TOP = 1 << 24,
	GROUPS_MOST = 15,	/* more would not be older */
	CHAINED_MAX = 1 << 18,	/* the largest dictionary whose matches are found
				 * by chains */
	/* first bytes of chunks: what is reset */
	STORED_DICT = 1,
	STORED = 2,
	CODED = 0x80,
	CODED_STATE = 0xa0,
	CODED_PROPS = 0xc0,
	CODED_DICT = 0xe0
};

struct range {
	uint64_t low;		/* 32 bits, and a carry */
	uint32_t range;
	uint8_t *out;
};

struct lzma2_encoder {
	struct lzma2_params params;
	uint32_t before;	/* bytes of history */
	struct lzma_parser parser;
	uint8_t chunk[CHUNK_PACKED + CHUNK_SLACK];
};

static inline void
shift(struct range *r)
{
	if (r->low >> 32 != 0) {
		uint8_t *p = r->out;

		/* the first byte is always 0, and stops every carry */
		while (++*--p == 0)
			;
	}
	*r->out++ = (uint8_t)(r->low >> 24);
	r->low = (r->low & (TOP - 1)) << 8;
}

static inline void
put_bit(struct range *r, uint16_t *prob, uint32_t bit)
{
	uint32_t bound = (r->range >> PROB_BITS) * *prob, mask = 0 - bit;

	r->low += bound & mask;
	r->range = bit ? r->range - bound : bound;
	/* towards 0 after a 1, towards 2048 after a 0 */
	*prob = (uint16_t)(*prob - ((*prob + (~mask &
	    ((1 << PROB_MOVE) - 1))) >> PROB_MOVE) +
	    (~mask & (1 << (PROB_BITS - PROB_MOVE))));
	if (r->range < TOP) {
		r->range <<= 8;
		shift(r);
	}
}

static inline void
put_tree(struct range *r, uint16_t *tree, unsigned bits, uint32_t value)
{
	uint32_t at = 1;

	while (bits-- > 0) {
		uint32_t bit = value >> bits & 1;

		put_bit(r, &tree[at], bit);
		at = 2 * at + bit;
	}
}

static inline void
put_reverse(struct range *r, uint16_t *tree, unsigned bits, uint32_t value)
{
	uint32_t at = 1;

	for (; bits > 0; bits--) {
		put_bit(r, &tree[at], value & 1);
		at = 2 * at + (value & 1);
		value >>= 1;
	}
}

/* Writes bits that have no model. */
static inline void
put_direct(struct range *r, unsigned bits, uint32_t value)
{
	while (bits-- > 0) {
		r->range >>= 1;
		r->low += r->range & (0 - (value >> bits & 1));
		if (r->range < TOP) {
			r->range <<= 8;
			shift(r);
		}
	}
}

static void
put_len(struct range *r, struct lzma_lengths *l, struct lzma_len_prices *p,
    uint32_t len, uint32_t pos_state)
{
	p->age[pos_state]--;
	len -= LZMA_MATCH_MIN;
	put_bit(r, &l->choice, len >= 8);
	if (len < 8) {
		put_tree(r, l->low[pos_state], 3, len);
		return;
	}
	put_bit(r, &l->choice2, len >= 16);
	if (len < 16)
		put_tree(r, l->mid[pos_state], 3, len - 8);
	else
		put_tree(r, l->high, 8, len - 16);
}

static void
put_literal(struct range *r, struct lzma_parser *z, uint32_t pos)
{
	const uint8_t *p = z->in + pos;
	uint16_t *coder = literal_coder(z, pos, pos > 0 ? p[-1] : 0);
	uint32_t symbol = *p | 0x100;

	if (z->state < STATES_LITERAL) {
		put_tree(r, coder, 8, *p);
	} else {
		uint32_t like = *(p - z->reps[0] - 1), offset = 0x100;

		for (unsigned i = 0; i < 8; i++) {
			uint32_t bit = symbol >> (7 - i) & 1, bits;

			like <<= 1;
			bits = like & offset;
			put_bit(r, &coder[offset + bits +
			    (symbol >> (8 - i))], bit);
			offset &= bit ? bits : ~bits;
		}
	}
	z->state = state_literal(z->state);
}

static void
put_match(struct range *r, struct lzma_parser *z, uint32_t dist, uint32_t len,
    uint32_t pos_state)
{
	struct lzma_model *m = &z->model;
	uint32_t slot = dist_slot(dist);

	put_len(r, &m->match_len, &z->match_len, len, pos_state);
	put_tree(r, m->slot[dist_row(len)], 6, slot);
	if (slot >= 4) {
		uint32_t bits = slot / 2 - 1;
		uint32_t base = (2 | (slot & 1)) << bits;

		if (slot < 14) {
			put_reverse(r, m->special + base - slot, bits,
			    dist - base);
		} else {
			put_direct(r, bits - 4, (dist - base) >> 4);
			put_reverse(r, m->align, 4, dist & (ALIGN - 1));
			z->align_age++;
		}
	}
	z->dist_age++;
	z->reps[3] = z->reps[2];
	z->reps[2] = z->reps[1];
	z->reps[1] = z->reps[0];
	z->reps[0] = dist;
	z->state = state_match(z->state);
}

static void
put_rep(struct range *r, struct lzma_parser *z, unsigned rep, uint32_t len,
    uint32_t pos_state)
{
	struct lzma_model *m = &z->model;
	uint32_t s = z->state, dist = z->reps[rep];

	put_bit(r, &m->rep0[s], rep > 0);
	if (rep == 0) {
		put_bit(r, &m->rep0_long[s][pos_state], len > 1);
	} else {
		put_bit(r, &m->rep1[s], rep > 1);
		if (rep > 1)
			put_bit(r, &m->rep2[s], rep - 2);
		if (rep > 2)
			z->reps[3] = z->reps[2];
		if (rep > 1)
			z->reps[2] = z->reps[1];
		z->reps[1] = z->reps[0];
		z->reps[0] = dist;
	}
	if (len == 1) {
		z->state = state_short(s);
		return;
	}
	put_len(r, &m->rep_len, &z->rep_len, len, pos_state);
	z->state = state_rep(s);
}

static void
put_symbol(struct range *r, struct lzma_parser *z,
    const struct lzma_symbol *s, uint32_t pos)
{
	uint32_t ps = pos & z->pb_mask, state = z->state;

	put_bit(r, &z->model.match[state][ps], s->back != SYMBOL_LITERAL);
	if (s->back == SYMBOL_LITERAL) {
		put_literal(r, z, pos);
		return;
	}
	put_bit(r, &z->model.rep[state], s->back < REPS);
	if (s->back < REPS)
		put_rep(r, z, s->back, s->len, ps);
	else
		put_match(r, z, s->back - REPS, s->len, ps);
}

/*
 * Encodes as many symbols from pos on as fit in a chunk.  Returns the position
 * of the rest; *packed is the length of the chunk's data.
 */
static uint32_t
put_chunk(struct lzma2_encoder *e, uint32_t pos, size_t *packed)
{
	struct lzma_parser *z = &e->parser;
	struct range r = { .range = UINT32_MAX, .out = e->chunk };
	const uint8_t *full = e->chunk + CHUNK_PACKED - CHUNK_SLACK;
	uint32_t len = z->len, from = pos;

	/* the first byte of what a range coder writes is 0 */
	*r.out++ = 0;
	while (pos < len && r.out < full) {
		const struct lzma_symbol *s;

		if (z->symbols == 0)
			(z->fast ? lzma_parse_fast : lzma_parse)(z, pos);
		s = &z->symbol[z->symbols - 1];
		if (pos - from + s->len > CHUNK_PLAIN)
			break;
		z->symbols--;
		put_symbol(&r, z, s, pos);
		pos += s->len;
	}
	for (unsigned i = 0; i < 4; i++)
		shift(&r);
	*packed = (size_t)(r.out - e->chunk);
	return pos;
}

/*
 * The dictionaries are those of xz(1).  The search is as short as gives its
 * size; at levels 3 and 4, where xz does not parse as well, less.
 */
static const struct level {
	unsigned dict_log;
	uint32_t nice, depth;
	bool fast;
} levels[] = {
	{ 18, 128, 2, true }, { 20, 128, 4, true }, { 21, 273, 12, true },
	{ 22, 16, 8, false }, { 22, 24, 10, false }, { 23, 32, 28, false },
	{ 23, 64, 40, false }, { 24, 64, 40, false }, { 25, 64, 40, false },
	{ 26, 64, 40, false }
};

void
lzma2_params_of(struct lzma2_params *p, unsigned level)
{
	const struct level *l = &levels[level];

	*p = (struct lzma2_params){ .dict_B = (uint32_t)1 << l->dict_log,
	    .lc = 3, .pb = 2, .nice = l->nice, .depth = l->depth,
	    .fast = l->fast };
}

/* Whether matches are found by chains. */
static bool
chained(const struct lzma2_params *p)
{
	return p->fast || p->dict_B <= CHAINED_MAX;
}

uint64_t
lzma2_encoder_memory(const struct lzma2_params *p, uint32_t len)
{
	return sizeof(struct lzma2_encoder) + (chained(p) ?
	    chain_memory(p->dict_B, len) :
	    finder_memory(p->dict_B, len, p->nice, p->depth));
}

struct lzma2_encoder *
lzma2_encoder_new(const struct lzma2_params *p)
{
	struct lzma2_encoder *e = sys_calloc(1, sizeof(*e));
	struct lzma_parser *z;

	if (e == NULL)
		return NULL;
	z = &e->parser;
	e->params = *p;
	z->lc = p->lc;
	z->lp_mask = ((uint32_t)1 << p->lp) - 1;
	z->pb_mask = ((uint32_t)1 << p->pb) - 1;
	z->nice = p->nice;
	z->fast = p->fast;
	lzma_prices_open(z);
	z->chained = chained(p);
	if ((z->chained ? chain_open(&z->chain, p->nice, p->fast ?
	    LZMA_MATCH_MAX : p->nice, p->depth, p->fast ? 2 : GROUPS_MOST) :
	    finder_open(&z->finder, p->nice, p->depth)) != 0) {
		lzma2_encoder_free(e);
		return NULL;
	}
	return e;
}

void
lzma2_encoder_free(struct lzma2_encoder *e)
{
	if (e != NULL) {
		finder_close(&e->parser.finder);
		chain_close(&e->parser.chain);
	}
	sys_free(e);
}

int
lzma2_encoder_reserve(struct lzma2_encoder *e, uint32_t len)
{
	struct lzma_parser *z = &e->parser;

	return z->chained ? chain_reserve(&z->chain, len, e->params.dict_B) :
	    finder_reserve(&z->finder, len, e->params.dict_B);
}

size_t
lzma2_bound(size_t len)
{
	/*
	 * At worst, each of the nine bits of a literal has the least
	 * probability, which costs 6.1 bits; then 9 KiB fill a chunk.
	 */
	return len + (len / (CHUNK_PACKED / 8) + 1) * STORED_HEADER +
	    CHUNK_HEADER;
}

int
lzma2_begin(struct lzma2_encoder *e, const uint8_t *in, size_t before,
    size_t len)
{
	struct lzma_parser *z = &e->parser;
	struct finder *f = &z->finder;

	z->in = in;
	z->len = (uint32_t)len;
	e->before = (uint32_t)before;
	if (z->chained)
		return chain_begin(&z->chain, in, z->len, e->params.dict_B);
	if (finder_begin(f, in, z->len, e->params.dict_B) != 0)
		return -ENOMEM;
	while (before - f->ready >= FIND_SEGMENT)
		finder_more(f);
	return 0;
}

ssize_t
lzma2_finish(struct lzma2_encoder *e, uint8_t *out, size_t cap)
{
	struct lzma_parser *z = &e->parser;
	uint8_t *to = out, kind = e->before > 0 ? CODED_PROPS : CODED_DICT;
	uint32_t pos = e->before;

	lzma_parser_reset(z);
	while (pos < z->len) {
		size_t packed;
		uint32_t next = put_chunk(e, pos, &packed), plain = next - pos;
		bool stored = packed + CHUNK_HEADER >= plain + STORED_HEADER;

		if (cap - (size_t)(to - out) < CHUNK_HEADER + 1 +
		    (stored ? plain : packed))
			return -ENOBUFS;
		if (stored) {
			*to = kind == CODED_DICT ? STORED_DICT : STORED;
			store_be16(to + 1, (uint16_t)(plain - 1));
			memcpy(to + STORED_HEADER, z->in + pos, plain);
			to += STORED_HEADER + plain;
			lzma_parser_reset(z);
			kind = kind == CODED_DICT || kind == CODED_PROPS ?
			    CODED_PROPS : CODED_STATE;
		} else {
			*to = (uint8_t)(kind | (plain - 1) >> 16);
			store_be16(to + 1, (uint16_t)(plain - 1));
			store_be16(to + 3, (uint16_t)(packed - 1));
			to += CHUNK_HEADER - 1;
			if (kind == CODED_DICT || kind == CODED_PROPS)
				*to++ = (uint8_t)((e->params.pb * 5 +
				    e->params.lp) * 9 + e->params.lc);
			memcpy(to, e->chunk, packed);
			to += packed;
			kind = CODED;
		}
		pos = next;
	}
	if (cap - (size_t)(to - out) < 1)
		return -ENOBUFS;
	*to++ = 0;
	return to - out;
}

ssize_t
lzma2_encode(struct lzma2_encoder *e, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap)
{
	int rc = lzma2_begin(e, in, 0, len);

	return rc != 0 ? rc : lzma2_finish(e, out, cap);
}
