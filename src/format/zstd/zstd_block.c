/*
 * zstd_block.c - the sections of a compressed block, its sequences and tables
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zstd_block.h"

#include <errno.h>
#include <sys/types.h>

enum { LITERALS_RAW, LITERALS_RLE, LITERALS_COMPRESSED, LITERALS_TREELESS };

/* Tables */

enum { SYMBOLS = 53 };

/*
 * For each type of code: the number of symbols, the largest table and the
 * predefined counts.
 */
static const struct kind {
	unsigned symbols, log_max, log;
	int8_t counts[SYMBOLS];		/* -1: less than one */
	uint8_t extra[SYMBOLS];
} kinds[ZSTD_CODES] = {
	[ZSTD_LL] = { 36, 9, 6,
	    { 4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2,
	    2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1 },
	    { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2,
	    2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } },
	[ZSTD_OF] = { 32, 8, 5,
	    { 1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	    1, 1, 1, -1, -1, -1, -1, -1 },
	    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
	    18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 } },
	[ZSTD_ML] = { 53, 9, 6,
	    { 1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	    1, 1, 1, -1, -1, -1, -1, -1, -1, -1 },
	    { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5,
	    7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } },
};

static unsigned
highest_bit(unsigned v)
{
	return 31 - (unsigned)__builtin_clz(v);
}

/* A bit reader that starts at the first byte, and reads zeros past the end. */
struct bits {
	const uint8_t *p;
	size_t len, pos;		/* pos in bits */
};

static unsigned
peek(const struct bits *b, unsigned n)
{
	unsigned v = 0;

	for (size_t i = 0, at = b->pos / 8; i < 3 && at + i < b->len; i++)
		v |= (unsigned)b->p[at + i] << (8 * i);
	return v >> b->pos % 8 & ((1U << n) - 1);
}

/* Spreads the symbols over the states, and numbers each symbol's states. */
static void
build(struct zstd_fse *t, const int8_t *small, const int16_t *counts,
    unsigned symbols)
{
	unsigned size = 1U << t->log, high = size, pos = 0;
	unsigned step = (size >> 1) + (size >> 3) + 3;
	uint16_t next[SYMBOLS];

	for (unsigned s = 0; s < symbols; s++) {
		int n = small != NULL ? small[s] : counts[s];

		next[s] = (uint16_t)(n < 0 ? 1 : n);
		if (n < 0)
			t->states[--high].symbol = (uint8_t)s;
	}
	for (unsigned s = 0; s < symbols; s++) {
		int n = small != NULL ? small[s] : counts[s];

		for (int i = 0; i < n; i++) {
			t->states[pos].symbol = (uint8_t)s;
			do
				pos = (pos + step) & (size - 1);
			while (pos >= high);
		}
	}
	for (unsigned i = 0; i < size; i++) {
		struct zstd_state *x = &t->states[i];
		unsigned n = next[x->symbol]++;

		x->bits = (uint8_t)(t->log - highest_bit(n));
		x->base = (uint16_t)((n << x->bits) - size);
	}
}

/*
 * Reads the table described at p, for codes of this type.  Returns the length
 * of the description in bytes, or -EBADMSG.
 */
static ssize_t
read_table(struct zstd_fse *t, const struct kind *k, const uint8_t *p,
    size_t len)
{
	struct bits b = { p, len, 4 };
	int16_t counts[SYMBOLS] = { 0 };
	unsigned left, s = 0, zeros;

	if (len == 0)
		return -EBADMSG;
	t->log = 5 + (p[0] & 15);
	if (t->log > k->log_max)
		return -EBADMSG;
	for (left = 1U << t->log; left > 0 && s < k->symbols;) {
		/* a count plus one, 0..left+1; small ones are a bit shorter */
		unsigned n = highest_bit(left + 1) + 1;
		unsigned low = (1U << (n - 1)) - 1;
		unsigned short_ones = (1U << n) - 1 - (left + 1);
		unsigned v = peek(&b, n);
		int count;

		if ((v & low) < short_ones) {
			v &= low;
			n--;
		} else if (v > low) {
			v -= short_ones;
		}
		b.pos += n;
		count = (int)v - 1;
		left -= count < 0 ? 1 : v - 1;
		counts[s++] = (int16_t)count;
		if (count != 0)
			continue;
		/*
		 * the number of further symbols with count 0, in groups of two
		 * bits; after a group with the value 3, another follows
		 */
		zeros = s;
		do {
			v = peek(&b, 2);
			b.pos += 2;
			s += v;
		} while (v == 3 && s - zeros < SYMBOLS);
	}
	if (left != 0 || s > k->symbols || (b.pos + 7) / 8 > len)
		return -EBADMSG;
	build(t, NULL, counts, s);
	return (ssize_t)((b.pos + 7) / 8);
}

void
zstd_fse_predefined(struct zstd_fse *t, enum zstd_code code)
{
	t->log = kinds[code].log;
	build(t, kinds[code].counts, NULL, kinds[code].symbols);
}

unsigned
zstd_extra_bits(enum zstd_code code, uint8_t symbol)
{
	return kinds[code].extra[symbol];
}

int
zstd_fse_before(const struct zstd_fse *t, uint8_t symbol, int next)
{
	for (int i = 0; i < 1 << t->log; i++) {
		const struct zstd_state *x = &t->states[i];

		if (x->symbol == symbol && (next < 0 || (next >= x->base &&
		    next < x->base + (1 << x->bits))))
			return i;
	}
	return -1;
}

/* Blocks */

struct zstd_block_head
zstd_block_head(const uint8_t *p)
{
	uint32_t v = (uint32_t)zstd_load(p, ZSTD_BLOCK_HEAD);
	struct zstd_block_head h = { v & 1, (int)(v >> 1 & 3), v >> 3, 0 };

	h.stored = h.type == ZSTD_RLE ? 1 : h.size;
	return h;
}

void
zstd_block_head_store(uint8_t *p, bool last, int type, size_t size)
{
	uint32_t head = (uint32_t)size << 3 | (uint32_t)type << 1 | last;

	for (int i = 0; i < ZSTD_BLOCK_HEAD; i++)
		p[i] = (uint8_t)(head >> 8 * i);
}

/* Returns the length of the literals section, or 0 if it is incomplete. */
static size_t
literals_len(struct zstd_tables *t, const uint8_t *p, size_t len)
{
	static const uint8_t plain_head[] = { 1, 2, 1, 3 };
	static const uint8_t packed_head[] = { 3, 3, 4, 5 };
	static const uint8_t size_bits[] = { 10, 10, 14, 18 };
	unsigned type = p[0] & 3, form = p[0] >> 2 & 3;
	bool plain = type == LITERALS_RAW || type == LITERALS_RLE;
	size_t head = plain ? plain_head[form] : packed_head[form];
	uint64_t v;

	if (len < head)
		return 0;
	v = zstd_load(p, head);
	if (type == LITERALS_RLE)
		return head + 1;
	if (type == LITERALS_RAW)
		return head + (size_t)(v >> (form & 1 ? 4 : 3));
	if (type == LITERALS_TREELESS && !t->literals)
		return 0;
	t->literals = true;
	return head + (size_t)(v >> (4 + size_bits[form]) &
	    ((1U << size_bits[form]) - 1));
}

int
zstd_sections(struct zstd_tables *t, const uint8_t *p, size_t len,
    struct zstd_sections *s)
{
	size_t at = len == 0 ? 0 : literals_len(t, p, len);

	if (at == 0 || at >= len)
		return -EBADMSG;
	s->count = p[at++];
	if (s->count >= 128) {
		if (len - at < 2)
			return -EBADMSG;
		if (s->count < 255) {
			s->count = (s->count - 128) << 8 | p[at++];
		} else {
			s->count = (p[at] | (uint32_t)p[at + 1] << 8) + 0x7f00;
			at += 2;
		}
		/* a count of 0 is encoded differently */
		if (s->count == 0)
			return -EBADMSG;
	}
	if (s->count == 0)
		return at == len ? 0 : -EBADMSG;
	s->modes = at;
	if (at == len || p[at++] & 3)
		return -EBADMSG;
	for (enum zstd_code c = 0; c < ZSTD_CODES; c++) {
		unsigned mode = zstd_mode(p[s->modes], c);
		ssize_t n = 0;

		if (mode == ZSTD_MODE_REPEAT && !t->set[c])
			return -EBADMSG;
		t->set[c] = true;
		if (mode == ZSTD_MODE_PREDEFINED) {
			zstd_fse_predefined(&t->fse[c], c);
		} else if (mode == ZSTD_MODE_DESCRIBED) {
			n = read_table(&t->fse[c], &kinds[c], p + at, len - at);
			if (n < 0)
				return (int)n;
		} else if (mode == ZSTD_MODE_SINGLE) {
			if (at == len || p[at] >= kinds[c].symbols)
				return -EBADMSG;
			t->fse[c].log = 0;
			t->fse[c].states[0] = (struct zstd_state){
			    .symbol = p[at] };
			n = 1;
		}
		s->table[c] = at;
		s->table_len[c] = (size_t)n;
		at += (size_t)n;
	}
	s->stream = at;
	return at < len ? 0 : -EBADMSG;
}

/*
 * Reads the n bits (at most 32) before the position, and moves it.  Returns 0
 * or -EBADMSG.
 */
static int
take_bits(struct zstd_reader *r, unsigned n, uint32_t *v)
{
	size_t first, last;

	if (n > r->bit)
		return -EBADMSG;
	if (n == 0) {
		*v = 0;
		return 0;
	}
	last = (r->bit - 1) / 8;
	r->bit -= n;
	first = r->bit / 8;
	*v = (uint32_t)(zstd_load(r->p + first, last + 1 - first) >>
	    r->bit % 8 & (((uint64_t)1 << n) - 1));
	return 0;
}

int
zstd_reader_open(struct zstd_reader *r, const struct zstd_tables *t,
    const uint8_t *p, size_t len, const struct zstd_sections *s)
{
	int rc = 0;

	/* the highest bit set marks the end */
	if (p[len - 1] == 0)
		return -EBADMSG;
	r->tables = t;
	r->p = p + s->stream;
	r->bit = 8 * (len - s->stream) - 1 -
	    ((unsigned)__builtin_clz(p[len - 1]) - 24);
	r->left = s->count;
	for (enum zstd_code c = 0; rc == 0 && c < ZSTD_CODES; c++)
		rc = take_bits(r, t->fse[c].log, &r->state[c]);
	return rc;
}

/*
 * The values of a sequence are stored in one order, the next states in another.
 */
int
zstd_reader_next(struct zstd_reader *r, struct zstd_sequence *q)
{
	static const enum zstd_code values[] = { ZSTD_OF, ZSTD_ML, ZSTD_LL };
	static const enum zstd_code states[] = { ZSTD_LL, ZSTD_ML, ZSTD_OF };
	int rc = 0;

	for (int i = 0; rc == 0 && i < ZSTD_CODES; i++) {
		enum zstd_code c = values[i];

		q->symbol[c] = r->tables->fse[c].states[r->state[c]].symbol;
		rc = take_bits(r, zstd_extra_bits(c, q->symbol[c]),
		    &q->extra[c]);
	}
	r->left--;
	for (int i = 0; rc == 0 && r->left > 0 && i < ZSTD_CODES; i++) {
		enum zstd_code c = states[i];
		const struct zstd_state *x =
		    &r->tables->fse[c].states[r->state[c]];
		uint32_t v = 0;

		rc = take_bits(r, x->bits, &v);
		r->state[c] = x->base + v;
	}
	return rc;
}
