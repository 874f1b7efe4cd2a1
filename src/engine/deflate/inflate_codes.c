/*
 * inflate_codes.c - decoding tables for deflate's prefix codes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "inflate_codes.h"

#include "engine/huffman.h"

#include <string.h>

enum { LONGEST = 15 };

/* A code being built. */
struct code {
	uint32_t *table;
	unsigned index_bits;		/* index bits of the first table */
	unsigned of_length[LONGEST + 1];	/* number of symbols */
	unsigned longest;
	uint16_t sorted[INFLATE_LENGTHS];	/* symbols sorted by length,
						 * then by number */
};

/*
 * Counts the symbols of each length and sorts the symbols.  Returns the unused
 * code space, in units of 2^-15.
 */
static int
sort_symbols(struct code *c, const uint8_t *bits, unsigned count)
{
	unsigned at[LONGEST + 2] = { 0 };
	int left = 1 << LONGEST;

	memset(c->of_length, 0, sizeof(c->of_length));
	for (unsigned i = 0; i < count; i++)
		c->of_length[bits[i]]++;
	c->longest = 0;
	for (unsigned n = 1; n <= LONGEST; n++) {
		at[n + 1] = at[n] + c->of_length[n];
		left -= (int)(c->of_length[n] << (LONGEST - n));
		if (c->of_length[n] > 0)
			c->longest = n;
	}
	for (unsigned i = 0; i < count; i++)
		if (bits[i] != 0)
			c->sorted[at[bits[i]]++] = (uint16_t)i;
	return left;
}

/*
 * Returns the entry of a symbol's n-bit code, given the symbol's meaning and
 * extra bits.
 */
static uint32_t
with_bits(uint32_t symbol, unsigned n)
{
	return symbol + n + (n << 8);
}

/*
 * Returns the number of index bits of the second table for the codes of at
 * least n bits that begin with `code`: as many as the remaining symbols can
 * fill.  `used` symbols of length n already have codes.
 */
static unsigned
second_bits(const struct code *c, unsigned n, unsigned used)
{
	unsigned bits = n - c->index_bits;
	unsigned filled = c->of_length[n] - used;

	while (filled < 1u << bits && c->index_bits + bits < LONGEST) {
		bits++;
		filled = 2 * filled + c->of_length[c->index_bits + bits];
	}
	return bits;
}

/*
 * Fills the second tables with the codes longer than the first index, starting
 * with `code`.
 */
static void
fill_second(struct code *c, const uint32_t *symbols, unsigned code,
    unsigned sorted)
{
	unsigned mask = (1u << c->index_bits) - 1;
	unsigned prefix = ~0u, start = 0, size = 0, free = mask + 1;

	for (unsigned n = c->index_bits + 1; n <= c->longest; n++)
		for (unsigned i = 0; i < c->of_length[n]; i++) {
			unsigned k = n - c->index_bits;
			uint32_t e = with_bits(symbols[c->sorted[sorted++]], k);

			if ((code & mask) != prefix) {
				unsigned bits = second_bits(c, n, i);

				prefix = code & mask;
				start = free;
				size = 1u << bits;
				free += size;
				c->table[prefix] = INFLATE_SUBTABLE |
				    start << 16 | bits << 8 | c->index_bits;
			}
			for (unsigned at = code >> c->index_bits; at < size;
			    at += 1u << k)
				c->table[start + at] = e;
			code = huffman_next_code(code, n);
		}
}

/*
 * Fills the table for each index size in turn, doubling the table each time.
 * Returns whether the code is valid.
 */
static bool
make_code(uint32_t *table, unsigned index_bits, const uint32_t *symbols,
    const uint8_t *bits, unsigned count, bool incomplete)
{
	struct code c = { .table = table, .index_bits = index_bits };
	unsigned code = 0, sorted = 0, size = 1u << index_bits;
	int left = sort_symbols(&c, bits, count);

	if (left < 0 || (left > 0 && (c.longest > 1 || !incomplete)))
		return false;
	if (left > 0) {
		/* no symbol, or one with a one-bit code; the rest is invalid */
		for (unsigned i = 0; i < size; i++)
			table[i] = INFLATE_NO_CODE | index_bits;
		for (unsigned i = 0; c.longest == 1 && i < size; i += 2)
			table[i] = with_bits(symbols[c.sorted[0]], 1);
		return true;
	}
	for (unsigned n = 1; n <= index_bits; n++) {
		unsigned half = 1u << (n - 1);

		if (n > 1)
			memcpy(table + half, table, half * sizeof(*table));
		for (unsigned i = 0; i < c.of_length[n]; i++) {
			table[code] = with_bits(symbols[c.sorted[sorted++]], n);
			code = huffman_next_code(code, n);
		}
	}
	if (c.longest > index_bits)
		fill_second(&c, symbols, code, sorted);
	return true;
}

/* The entry of each symbol, without the bits of its code. */

/* 32 bits per symbol: base << 16, or a literal, and the extra bits. */
#define LITERALS4(n) LITERAL(n), LITERAL(n + 1), LITERAL(n + 2), LITERAL(n + 3)
#define LITERALS16(n) LITERALS4(n), LITERALS4(n + 4), LITERALS4(n + 8),	\
    LITERALS4(n + 12)
#define LITERALS64(n) LITERALS16(n), LITERALS16(n + 16),		\
    LITERALS16(n + 32), LITERALS16(n + 48)
#define LITERAL(n) (INFLATE_LITERAL | (uint32_t)(n) << 16)
#define BASE(base, extra) ((uint32_t)(base) << 16 | (extra))
#define BASES4(base, extra) BASE(base, extra),				\
    BASE((base) + (1 << (extra)), extra),				\
    BASE((base) + (2 << (extra)), extra),				\
    BASE((base) + (3 << (extra)), extra)
#define BASES2(base, extra) BASE(base, extra),				\
    BASE((base) + (1 << (extra)), extra)

static const uint32_t lengths[INFLATE_LENGTHS] = {
	LITERALS64(0), LITERALS64(64), LITERALS64(128), LITERALS64(192),
	INFLATE_END, BASES4(3, 0), BASES4(7, 0), BASES4(11, 1), BASES4(19, 2),
	BASES4(35, 3), BASES4(67, 4), BASE(131, 5), BASE(163, 5),
	BASE(195, 5), BASE(227, 5), BASE(258, 0),
	INFLATE_NO_CODE, INFLATE_NO_CODE,
};

static const uint32_t distances[INFLATE_DISTANCES] = {
	BASES4(1, 0), BASES2(5, 1), BASES2(9, 2), BASES2(17, 3), BASES2(33, 4),
	BASES2(65, 5), BASES2(129, 6), BASES2(257, 7), BASES2(513, 8),
	BASES2(1025, 9), BASES2(2049, 10), BASES2(4097, 11),
	BASES2(8193, 12), BASES2(16385, 13),
	INFLATE_NO_CODE, INFLATE_NO_CODE,
};

static const uint32_t headers[INFLATE_PRECODES] = {
	LITERALS16(0), LITERAL(16), LITERAL(17), LITERAL(18),
};

bool
inflate_length_codes(struct inflate_codes *c, const uint8_t *bits,
    unsigned count)
{
	return make_code(c->length, INFLATE_LENGTH_BITS, lengths, bits, count,
	    true);
}

bool
inflate_distance_codes(struct inflate_codes *c, const uint8_t *bits,
    unsigned count)
{
	return make_code(c->distance, INFLATE_DISTANCE_BITS, distances, bits,
	    count, true);
}

bool
inflate_precode(uint32_t table[INFLATE_PRECODE_SIZE],
    const uint8_t bits[INFLATE_PRECODES])
{
	return make_code(table, INFLATE_PRECODE_BITS, headers, bits,
	    INFLATE_PRECODES, false);
}

void
inflate_fixed_codes(struct inflate_codes *c)
{
	uint8_t bits[INFLATE_LENGTHS];

	memset(bits, 8, 144);
	memset(bits + 144, 9, 112);
	memset(bits + 256, 7, 24);
	memset(bits + 280, 8, 8);
	inflate_length_codes(c, bits, INFLATE_LENGTHS);
	memset(bits, 5, INFLATE_DISTANCES);
	inflate_distance_codes(c, bits, INFLATE_DISTANCES);
}
