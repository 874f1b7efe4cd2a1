/*
 * deflate_codes.h - the two codes of a deflate block, as tables of lengths
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * To find the end of a block, only the number of bits in each symbol matters,
 * so decoding is a branch-free state machine.  The state is the table in which
 * to look up the next bits.  An entry contains the number of bits to drop (code
 * and extra bits together) and the next table.  A single entry may represent
 * several literals and a length that follows them.  The end of the block and
 * invalid codes lead to single-entry tables that drop no bits and point to
 * themselves, so they need to be checked for only once every few steps.
 */
#ifndef COLDPRESS_DEFLATE_CODES_H
#define COLDPRESS_DEFLATE_CODES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CODE_MAX = 15,		/* longest code, in bits */
	PRE_MAX = 7,		/* the precode's longest code, in bits */
	LENGTH_EXTRA = 5,	/* maximum number of extra bits after a length
				 * code, */
	DISTANCE_EXTRA = 13,	/* and after a distance code */
	LITLEN_SYMS = 288,
	DIST_SYMS = 32,
	PRE_SYMS = 19,
	END_OF_BLOCK = 256,

	ALIGN_BITS = 4,		/* positions in an entry are multiples of 16
				 * bytes */
	ALIGN = 1 << ALIGN_BITS,
	LIT_BITS = 10,
	DIST_BITS = 8,

	/*
	 * All tables are in one array.  Each of the two codes has tables of 0
	 * to BITS bits, stored consecutively; the n-bit table begins at offset
	 * 1 << n, so an index with a 1 prepended selects both table and entry.
	 * Codes longer than BITS continue in separate tables, each shared by at
	 * least two codes, so there are at most half as many of these tables as
	 * symbols.
	 */
	STOP_END = 0,
	STOP_BAD = ALIGN,
	LIT_TRIE = 2 * ALIGN,
	LIT_SUBS = LIT_TRIE + (2 << LIT_BITS),
	DIST_TRIE = LIT_SUBS +
	    LITLEN_SYMS / 2 * (1 << (CODE_MAX - LIT_BITS)),
	DIST_SUBS = DIST_TRIE + (2 << DIST_BITS),
	/* The distance tables later overwrite the precode's table. */
	PRE_TABLE = DIST_TRIE + (1 << PRE_MAX),
	ENTRIES = DIST_SUBS + DIST_SYMS / 2 * (1 << (CODE_MAX - DIST_BITS)),
};

/*
 * Bits 0-5 of an entry are the number of bits to drop, bits 6-19 the byte
 * offset of the next table, and bits 20-31 the mask for the index into it.
 */
#define ENTRY_DROP(e) ((e) & 63)
#define ENTRY_PLACE(e) ((e) & 0xfffc0)
#define ENTRY_MASK(e) ((e) >> 20)
#define NEXT_OF(e) ((e) & ~UINT32_C(63))
#define NEXT(place, bits) \
	((uint32_t)(place) * 4 | ((1U << (bits)) - 1) << 20)
#define NEXT_LIT NEXT(LIT_TRIE + (1 << LIT_BITS), LIT_BITS)
#define NEXT_DIST NEXT(DIST_TRIE + (1 << DIST_BITS), DIST_BITS)
#define NEXT_END NEXT(STOP_END, 0)
#define NEXT_BAD NEXT(STOP_BAD, 0)

_Static_assert(ENTRIES * sizeof(uint32_t) <= 1 << 20, "a place has 20 bits");
_Static_assert(LIT_BITS <= 12 && DIST_BITS <= 12, "a mask has 12 bits");
_Static_assert(1 << (CODE_MAX - LIT_BITS) >= ALIGN &&
    1 << (CODE_MAX - DIST_BITS) >= ALIGN, "the bound counts whole tables");

/* The order in which the precode's code lengths are stored. */
extern const uint8_t codes_pre_order[PRE_SYMS];

/*
 * Returns the number of extra bits of length symbol 257 + n, or of a distance.
 */
static inline unsigned
codes_length_extra(unsigned n)
{
	return n < 8 || n == 28 ? 0 : (n - 4) / 4;
}

static inline unsigned
codes_distance_extra(unsigned n)
{
	return n < 4 ? 0 : (n - 2) / 2;
}

/*
 * Fills tab, which has ENTRIES entries, with the codes of a dynamic block, or
 * with the fixed codes.  lens contains the lengths of the nlit literal and
 * length codes, then of the ndist distance codes.  Returns 0, or -EBADMSG if a
 * code is unusable.
 */
int codes_dynamic(uint32_t *tab, const uint8_t *lens, unsigned nlit,
    unsigned ndist);
void codes_fixed(uint32_t *tab);

/* Fills lens with the fixed codes' lengths: LITLEN_SYMS, then DIST_SYMS. */
void codes_fixed_lens(uint8_t *lens);

/*
 * Fills tab with the precode, overwriting other codes.  The table is at
 * PRE_TABLE and is indexed by PRE_MAX bits; each entry contains the number of
 * bits in its lowest eight bits and the symbol above them.  Returns 0 or
 * -EBADMSG.
 */
int codes_pre(uint32_t *tab, const uint8_t lens[PRE_SYMS]);

/*
 * Computes the codewords from their lengths.  The first bit of a codeword is
 * its least significant.
 */
void codes_words(uint16_t *words, const uint8_t *lens, unsigned n);

#endif
