/*
 * block_made.c - deflate blocks written bit by bit, valid or not, for the tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "block_made.h"

#include <string.h>

enum { LITERALS = 288, DISTANCES = 32, CODES = 19 };

static void
put(struct bits *b, unsigned v, unsigned n)
{
	for (unsigned i = 0; i < n; i++, b->len++)
		b->p[b->len / 8] |= (uint8_t)((v >> i & 1) << b->len % 8);
}

void
put_byte_boundary(struct bits *b)
{
	b->len = (b->len + 7) & ~(size_t)7;
}

void
put_stored(struct bits *b, const uint8_t *p, size_t len, bool final)
{
	put(b, final, 3);
	put_byte_boundary(b);
	put(b, (unsigned)len, 16);
	put(b, (unsigned)~len & 0xffff, 16);
	if (len > 0)
		memcpy(b->p + b->len / 8, p, len);
	b->len += 8 * len;
}

/*
 * Writes the symbol in the canonical code with these lengths, even invalid
 * ones.
 */
static void
put_symbol(struct bits *b, const uint8_t *lens, unsigned count, unsigned symbol)
{
	unsigned code = 0;

	for (unsigned n = 1; n <= lens[symbol]; n++) {
		code <<= 1;
		for (unsigned i = 0; i < count; i++)
			code += lens[i] == n && (n < lens[symbol] || i < symbol);
	}
	for (unsigned n = lens[symbol]; n-- > 0;)
		put(b, code >> n & 1, 1);
}

/* Sets the lengths in a good block, and applies the changes. */
static void
code_lengths(const struct block *k, uint8_t *lit, uint8_t *dist, uint8_t *pre)
{
	memset(lit, 0, LITERALS);
	memset(dist, 0, DISTANCES);
	/* 0 to 14 have four bits; 15 and 18 have five */
	memset(pre, 4, 15);
	memset(pre + 15, 0, CODES - 15);
	pre[15] = pre[18] = 5;
	/* 1/2 + 1/4 + 1/8 + 1/16 + 30/512 + 2/512 */
	lit['a'] = 1;
	lit['b'] = 2;
	lit['c'] = 3;
	lit[END] = 4;
	memset(lit + 257, 9, 29);
	memset(&lit['d'], 9, 3);
	/* a change that adds a symbol replaces another */
	if (k->literal.symbol > 285)
		lit['d'] = 0;
	/* 30 of 32 with five bits, and the first two with four */
	memset(dist, 5, 30);
	dist[0] = dist[1] = 4;
	if (k->distance.symbol > 29)
		dist[1] = 5;
	if (k->one_distance || k->no_distance)
		memset(dist, 0, DISTANCES);
	if (k->one_distance)
		dist[3] = 1;
	if (k->literal.symbol != 0)
		lit[k->literal.symbol] = (uint8_t)k->literal.bits;
	if (k->distance.symbol != 0)
		dist[k->distance.symbol] = (uint8_t)k->distance.bits;
	if (k->pre.symbol != 0)
		pre[k->pre.symbol] = (uint8_t)k->pre.bits;
}

static void
put_header(struct bits *b, const struct block *k, const uint8_t *lit,
    const uint8_t *dist, const uint8_t *pre)
{
	static const uint8_t order[CODES] = { 16, 17, 18, 0, 8, 7, 9, 6, 10,
		5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };

	unsigned lengths = 286 + k->more_lengths;
	unsigned distances = 30 + k->more_distances;

	put(b, lengths - 257, 5);
	put(b, distances - 1, 5);
	put(b, CODES - 4, 4);
	for (unsigned i = 0; i < CODES; i++)
		put(b, pre[order[i]], 3);
	for (unsigned i = 0; i < lengths; i++)
		put_symbol(b, pre, CODES, lit[i]);
	for (unsigned i = 0; i + (k->repeat != 0) < distances; i++)
		put_symbol(b, pre, CODES, dist[i]);
	if (k->repeat != 0) {
		put_symbol(b, pre, CODES, k->repeat);
		put(b, 127, 7);
	}
}

static void
fixed_lengths(uint8_t *lit, uint8_t *dist)
{
	memset(lit, 8, LITERALS);
	memset(lit + 144, 9, 112);
	memset(lit + 256, 7, 24);
	memset(dist, 5, DISTANCES);
}

void
put_block(struct bits *b, const struct block *k, bool final)
{
	uint8_t lit[LITERALS], dist[DISTANCES], pre[CODES];
	unsigned d = k->distance_symbol == 0 ? 3 :
	    (unsigned)k->distance_symbol;
	unsigned l = k->length_symbol == 0 ? 257 :
	    (unsigned)k->length_symbol;

	put(b, final, 1);
	put(b, k->type == 0 ? 2 : k->type, 2);
	if (k->type == 0) {
		code_lengths(k, lit, dist, pre);
		put_header(b, k, lit, dist, pre);
	} else {
		fixed_lengths(lit, dist);
	}
	for (unsigned i = 0; i < 100; i++)
		put_symbol(b, lit, LITERALS, 'a' + i % 7 % 3);
	if (k->length_symbol != NO_CODE) {
		put_symbol(b, lit, LITERALS, l);
		put(b, k->raw, k->raw_bits);
		if (k->distance_symbol != NO_CODE)
			put_symbol(b, dist, DISTANCES, d);
		if (d >= 4 && d < 30)
			put(b, 0, d / 2 - 1);
	}
	for (unsigned i = 0; i < 100; i++)
		put_symbol(b, lit, LITERALS, 'a' + i % 3);
	put_symbol(b, lit, LITERALS, END);
}
