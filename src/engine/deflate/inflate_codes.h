/*
 * inflate_codes.h - decoding tables for the prefix codes of deflate
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 1951, 3.2.2 and 3.2.5 to 3.2.7.
 *
 * An entry contains everything about a symbol, so the decoder needs no other
 * lookup:
 *
 * 	bits 0-5	how many bits to drop: those of the code, and the
 * 			extra bits after it
 * 	bits 8-11	those of the code alone
 * 	bits 12-15	its kind, if it is neither a length nor a distance
 * 	bits 16-31	the literal, the base of the length or the distance,
 * 			or where the second table begins
 *
 * A code longer than the index of the first table leads to a second table,
 * whose entries count the bits after that index.
 */
#ifndef COLDPRESS_INFLATE_CODES_H
#define COLDPRESS_INFLATE_CODES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	INFLATE_BITS = 0x3f,
	INFLATE_LITERAL = 1 << 12,
	INFLATE_NO_CODE = 1 << 13,	/* no symbol has this code */
	INFLATE_END = 1 << 14,		/* end of the block */
	INFLATE_SUBTABLE = 1 << 15,	/* second table, whose index bits are in
					 * bits 8-11 */
	INFLATE_SPECIAL = INFLATE_NO_CODE | INFLATE_END | INFLATE_SUBTABLE,

	INFLATE_LENGTH_BITS = 11,	/* index bits of the first tables */
	INFLATE_DISTANCE_BITS = 8,
	INFLATE_PRECODE_BITS = 7,

	INFLATE_CODE_MAX = 15,		/* bits of the longest code */
	INFLATE_LENGTH_EXTRA = 5,	/* the maximum number of extra bits
					 * after a code */
	INFLATE_DISTANCE_EXTRA = 13,

	/* The maximum number of entries in all tables of a complete code. */
	INFLATE_LENGTH_SIZE = 2342,	/* 288 symbols, 15 bits, 11 first */
	INFLATE_DISTANCE_SIZE = 402,	/* 32 symbols, 15 bits, 8 first */
	INFLATE_PRECODE_SIZE = 128,	/* 19 symbols, 7 bits */

	INFLATE_LENGTHS = 288,
	INFLATE_DISTANCES = 32,
	INFLATE_PRECODES = 19,
};

struct inflate_codes {
	uint32_t length[INFLATE_LENGTH_SIZE];	/* table for literals and
						 * lengths */
	uint32_t distance[INFLATE_DISTANCE_SIZE];
};

/*
 * Builds the tables from the number of bits of each symbol's code, 0 for none.
 * Returns whether they form a valid code.  As in zlib, a code is valid if it is
 * complete or, except for the precode, has at most one symbol, with a one-bit
 * code.
 */
bool inflate_length_codes(struct inflate_codes *c, const uint8_t *bits,
    unsigned count);
bool inflate_distance_codes(struct inflate_codes *c, const uint8_t *bits,
    unsigned count);
bool inflate_precode(uint32_t table[INFLATE_PRECODE_SIZE],
    const uint8_t bits[INFLATE_PRECODES]);

/* Builds the codes of blocks without a header (3.2.6). */
void inflate_fixed_codes(struct inflate_codes *c);

/*
 * Returns the base of an entry plus its extra bits; `bits` starts with its
 * code.
 */
static inline uint32_t
inflate_value(uint32_t entry, uint64_t bits)
{
	uint64_t all = bits & ((UINT64_C(1) << (entry & INFLATE_BITS)) - 1);

	return (entry >> 16) + (uint32_t)(all >> (entry >> 8 & 0xf));
}

/*
 * Returns the entry in the second table for `bits`, which follow the first
 * index.
 */
static inline uint32_t
inflate_subtable(const uint32_t *table, uint32_t entry, uint64_t bits)
{
	return table[(entry >> 16) +
	    (bits & ((UINT64_C(1) << (entry >> 8 & 0xf)) - 1))];
}

#endif
