/*
 * deflate_codes.c - tables of code lengths (RFC 1951, 3.2)
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/deflate/deflate_codes.h"

#include "engine/huffman.h"

#include <errno.h>
#include <string.h>

struct code {
	uint32_t trie;		/* position of the code's tables */
	uint32_t subs;
	unsigned bits;
	bool one;		/* may contain only one codeword, or none */
	uint32_t again;		/* the state for reading this code */
};

static const struct code lit_code = {
	LIT_TRIE, LIT_SUBS, LIT_BITS, true, NEXT_LIT
};
static const struct code dist_code = {
	DIST_TRIE, DIST_SUBS, DIST_BITS, true, NEXT_DIST
};
static const struct code pre_code = {
	DIST_TRIE, DIST_SUBS, PRE_MAX, false, 0
};

const uint8_t codes_pre_order[PRE_SYMS] = {
	16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15
};

/*
 * Counts the codes of each length, and sorts the symbols by their codes, those
 * without a code first.
 */
static void
sort_symbols(const uint8_t *lens, unsigned n, uint16_t *count, uint16_t *sorted)
{
	uint16_t at[CODE_MAX + 2];

	memset(count, 0, sizeof(*count) * (CODE_MAX + 1));
	for (unsigned i = 0; i < n; i++)
		count[lens[i]]++;
	at[0] = 0;
	for (unsigned i = 0; i <= CODE_MAX; i++)
		at[i + 1] = at[i] + count[i];
	for (unsigned i = 0; i < n; i++)
		sorted[at[lens[i]]++] = (uint16_t)i;
}

void
codes_words(uint16_t *words, const uint8_t *lens, unsigned n)
{
	uint16_t count[CODE_MAX + 1], sorted[LITLEN_SYMS], *s = sorted;
	uint32_t code = 0;

	sort_symbols(lens, n, count, sorted);
	s += count[0];
	for (unsigned len = 1; len <= CODE_MAX; len++) {
		for (unsigned i = 0; i < count[len]; i++) {
			words[*s++] = (uint16_t)code;
			code = huffman_next_code(code, len);
		}
	}
}

/*
 * Returns the number of index bits of the table for codes that share the next
 * code's prefix: enough to tell the codes apart and to fill every table.
 */
static unsigned
sub_bits(const uint16_t *count, unsigned used, unsigned len, unsigned root)
{
	unsigned bits = len - root;
	int left = (1 << bits) - (count[len] - (int)used);

	while (left > 0 && bits + root < CODE_MAX) {
		bits++;
		left = 2 * left - count[bits + root];
	}
	return bits < ALIGN_BITS ? ALIGN_BITS : bits;
}

/*
 * Enters all codes longer than c->bits bits, starting with `code`, the code of
 * the symbol *sorted.
 */
static void
fill_subs(uint32_t *tab, const struct code *c, const uint16_t *count,
    const uint16_t *sorted, const uint32_t *entry, uint32_t code)
{
	uint32_t *root = tab + c->trie + (1U << c->bits);
	uint32_t place = c->subs, prefix = UINT32_MAX;
	unsigned bits = 0;

	for (unsigned len = c->bits + 1; len <= CODE_MAX; len++) {
		for (unsigned i = 0; i < count[len]; i++) {
			uint32_t low = code & ((1U << c->bits) - 1);
			uint32_t e = entry[*sorted++] + len - c->bits;

			if (low != prefix) {
				place += prefix != UINT32_MAX ? 1U << bits : 0;
				prefix = low;
				bits = sub_bits(count, i, len, c->bits);
				root[low] = NEXT(place, bits) | c->bits;
			}
			for (uint32_t k = code >> c->bits; k < 1U << bits;
			    k += 1U << (len - c->bits))
				tab[place + k] = e;
			code = huffman_next_code(code, len);
		}
	}
}

/*
 * Builds a code's tables.  The n-bit table consists of two copies of the table
 * for n - 1 bits plus the n-bit codes, so it contains every code of up to n
 * bits.  The other entries are prefixes of longer codes.  They mean "drop
 * nothing, same code again", except in the largest table, where they lead to a
 * table for the rest of the code.  Returns 0, or -EBADMSG if the code is
 * oversubscribed or incomplete.
 */
static int
make_tables(uint32_t *tab, const struct code *c, const uint8_t *lens,
    unsigned n, const uint32_t *entry)
{
	uint16_t count[CODE_MAX + 1], sorted[LITLEN_SYMS], *s = sorted;
	uint32_t *t = tab + c->trie;
	uint32_t code = 0;
	unsigned longest = 0;
	int left = 1;

	sort_symbols(lens, n, count, sorted);
	for (unsigned i = 1; i <= CODE_MAX; i++) {
		left = 2 * left - count[i];
		if (left < 0)		/* oversubscribed */
			return -EBADMSG;
		if (count[i] != 0)
			longest = i;
	}
	if (left > 0 && (longest > 1 || !c->one))
		return -EBADMSG;
	s += count[0];
	/* If there is only one code, the other value of the bit is invalid. */
	t[1] = count[0] + 1U >= n ? NEXT_BAD : c->again;
	for (unsigned len = 1; len <= c->bits; len++) {
		uint32_t *half = t + (1U << len);

		memcpy(half, half - (1U << (len - 1)),
		    sizeof(*t) << (len - 1));
		memcpy(half + (1U << (len - 1)), half,
		    sizeof(*t) << (len - 1));
		for (unsigned i = 0; i < count[len]; i++) {
			half[code] = entry[*s++] + len;
			code = huffman_next_code(code, len);
		}
	}
	fill_subs(tab, c, count, s, entry, code);
	return 0;
}

/*
 * Makes a literal's entry also consume the symbols after it.  The index has a
 * leading 1, so dropping n bits from it yields both the table for the other
 * bits and the entry in that table.  An entry for a longer code drops nothing,
 * so the sum is correct without a check.
 */
static void
merge_literals(uint32_t *t, unsigned shortest)
{
	unsigned i, end;

	/* After the shortest literal, the other bits select a smaller table. */
	end = shortest < LIT_BITS ? 2U << (LIT_BITS - shortest) : 2;
	for (i = 2; i < 2 << LIT_BITS; i++) {
		uint32_t n;

		if (i == end)
			i = 1 << LIT_BITS;
		n = t[i] ^ NEXT_LIT;
		n = n <= LIT_BITS ? n : 0;
		t[i] = t[i >> n] + n;
	}
}

int
codes_dynamic(uint32_t *tab, const uint8_t *lens, unsigned nlit,
    unsigned ndist)
{
	uint32_t entry[LITLEN_SYMS];	/* without the bits of the code */
	unsigned shortest = CODE_MAX;

	tab[STOP_END] = NEXT_END;
	tab[STOP_BAD] = NEXT_BAD;
	for (unsigned i = 0; i < END_OF_BLOCK; i++) {
		unsigned n = lens[i] - 1U;	/* wraps to the maximum if there
						 * is no code */

		shortest = n < shortest ? n : shortest;
		entry[i] = NEXT_LIT;
	}
	entry[END_OF_BLOCK] = NEXT_END;
	for (unsigned i = END_OF_BLOCK + 1; i < nlit; i++)
		entry[i] = i > 257 + 28 ? NEXT_BAD :
		    NEXT_DIST | codes_length_extra(i - 257);
	if (make_tables(tab, &lit_code, lens, nlit, entry) != 0)
		return -EBADMSG;
	merge_literals(tab + LIT_TRIE, shortest + 1);
	for (unsigned i = 0; i < ndist; i++)
		entry[i] = i > 29 ? NEXT_BAD :
		    NEXT_LIT | codes_distance_extra(i);
	return make_tables(tab, &dist_code, lens + nlit, ndist, entry);
}

void
codes_fixed_lens(uint8_t *lens)
{
	memset(lens, 8, 144);
	memset(lens + 144, 9, 112);
	memset(lens + 256, 7, 24);
	memset(lens + 280, 8, 8);
	memset(lens + LITLEN_SYMS, 5, DIST_SYMS);
}

void
codes_fixed(uint32_t *tab)
{
	uint8_t lens[LITLEN_SYMS + DIST_SYMS];

	codes_fixed_lens(lens);
	(void)codes_dynamic(tab, lens, LITLEN_SYMS, DIST_SYMS);
}

int
codes_pre(uint32_t *tab, const uint8_t lens[PRE_SYMS])
{
	uint32_t entry[PRE_SYMS];

	for (unsigned i = 0; i < PRE_SYMS; i++)
		entry[i] = i << 8;
	return make_tables(tab, &pre_code, lens, PRE_SYMS, entry);
}
