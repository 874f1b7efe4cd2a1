/*
 * bz2_codes.c - choosing a block's codes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A block has two to six tables of code lengths, one of which is chosen for
 * every fifty symbols.  Each table is initialized to suit a range of symbols.
 * Then, in a few rounds, the best table is chosen for each group, and each
 * table is fitted to its groups.
 */
#include "bz2_impl.h"
#include "engine/huffman.h"

enum {
	ROUNDS = 7,
	COST_BITS = 10,		/* bits for a sum of 50 code lengths; a word
				 * holds six sums */
	COST_MASK = (1 << COST_BITS) - 1,
	FAR_COST = 15		/* initial cost of a symbol outside a table's
				 * range */
};

_Static_assert(BZ2_GROUP * BZ2_CODE_MAX <= COST_MASK, "a sum must fit");
_Static_assert((int)BZ2_CODE_MADE <= (int)HUFFMAN_BITS,
    "every code must fit");
_Static_assert(BZ2_TABLES_MAX * COST_BITS <= 64, "all sums must fit");

/*
 * Computes the code lengths.  A symbol that does not occur in the table's
 * groups still gets a code.
 */
static void
make_lengths(uint8_t *lengths, const uint32_t *freq, int symbols)
{
	uint32_t least_one[BZ2_SYMBOLS_MAX];

	for (int i = 0; i < symbols; i++)
		least_one[i] = freq[i] == 0 ? 1 : freq[i];
	huffman_lengths(lengths, least_one, (unsigned)symbols, BZ2_CODE_MADE);
}

/*
 * Each table initially covers a range of symbols with about equal total
 * frequency.
 */
static void
guess(struct bz2_codes *k, const uint32_t *freq)
{
	uint64_t left = 0;
	int from = 0;

	for (int i = 0; i < k->symbols; i++)
		left += freq[i];
	for (int t = 0; t < k->tables; t++) {
		uint64_t share = left / (unsigned)(k->tables - t), sum = 0;
		int to = from;

		while (to < k->symbols && (sum < share || to == from)) {
			sum += freq[to];
			to++;
		}
		/*
		 * in every second table, leave the last symbol to the next
		 * table if it exceeds the share
		 */
		if (to > from + 1 && t > 0 && t < k->tables - 1 && t % 2 == 1)
			sum -= freq[--to];
		for (int i = 0; i < k->symbols; i++)
			k->lengths[t][i] = i >= from && i < to ? 0 : FAR_COST;
		from = to;
		left -= sum;
	}
}

/*
 * Returns the cheapest table for a group.  The cost includes the group's codes
 * and the selector, whose number of bits is its position in the move-to-front
 * list.
 */
static unsigned
choose_codes(const uint64_t *cost, const uint16_t *symbols, size_t n,
    int tables, uint8_t list[8])
{
	unsigned best = UINT32_MAX, at;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += cost[symbols[i]];
	for (unsigned place = 0; place < (unsigned)tables; place++) {
		unsigned c = (sum >> list[place] * COST_BITS & COST_MASK) +
		    place;

		c = c << 3 | place;
		best = c < best ? c : best;
	}
	at = best & 7;
	best = list[at];
	for (; at > 0; at--)
		list[at] = list[at - 1];
	list[0] = (uint8_t)best;
	return best;
}

/* Removes a group's symbols from a table's counts or, if by is 1, adds them. */
static void
count_group(uint32_t *freq, const uint16_t *symbols, size_t n, uint32_t by)
{
	for (size_t i = 0; i < n; i++)
		freq[symbols[i]] += by;
}

/*
 * Chooses a table for each group.  Initially no group has a table; in later
 * rounds, few groups change tables.
 */
static void
choose_all(struct bz2_codes *k, const uint16_t *symbols, size_t count,
    bool first)
{
	uint8_t list[8] = { 0, 1, 2, 3, 4, 5 };
	uint64_t cost[BZ2_SYMBOLS_MAX];

	for (int i = 0; i < k->symbols; i++) {
		cost[i] = 0;
		for (int t = k->tables; t-- > 0;)
			cost[i] = cost[i] << COST_BITS | k->lengths[t][i];
	}
	for (size_t g = 0; g < k->groups; g++) {
		size_t n = count < BZ2_GROUP ? count : BZ2_GROUP;
		unsigned t = choose_codes(cost, symbols, n, k->tables,
		    list);

		if (first || t != k->selectors[g])
			count_group(k->freq[t], symbols, n, 1);
		if (!first && t != k->selectors[g])
			count_group(k->freq[k->selectors[g]], symbols, n,
			    UINT32_MAX);
		k->selectors[g] = (uint8_t)t;
		symbols += n;
		count -= n;
	}
}

void
bz2_codes_make(struct bz2_codes *k, const uint16_t *symbols, size_t count,
    const uint32_t *freq)
{
	k->tables = count < 200 ? 2 : count < 600 ? 3 : count < 1200 ? 4 :
	    count < 2400 ? 5 : 6;
	k->groups = (count + BZ2_GROUP - 1) / BZ2_GROUP;
	guess(k, freq);
	memset(k->freq, 0, sizeof(k->freq));
	for (int i = 0; i < ROUNDS; i++) {
		choose_all(k, symbols, count, i == 0);
		for (int t = 0; t < k->tables; t++)
			make_lengths(k->lengths[t], k->freq[t], k->symbols);
	}
	k->bits = 0;
	for (int t = 0; t < k->tables; t++)
		for (int i = 0; i < k->symbols; i++)
			k->bits += (uint64_t)k->freq[t][i] * k->lengths[t][i];
}
