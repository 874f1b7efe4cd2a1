/*
 * huffman.c - the optimal prefix code for given frequencies
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/huffman.h"

#include "base/sort_words.h"

#include <stdbool.h>
#include <string.h>

_Static_assert(HUFFMAN_SYMBOLS <= 1 << 16, "a symbol must fit in 16 bits");

/*
 * Computes the depths of a Huffman tree over weights in ascending order, in
 * place: merged weights become parent links, and these become depths (Moffat
 * and Katajainen 1995).
 */
static void
tree_depths(uint32_t *w, int n)
{
	int leaf = 2, root = 0, depth = 0, avail = 1, used = 0, next = n - 1;

	w[0] += w[1];
	for (int i = 1; i < n - 1; i++) {
		uint32_t sum = 0;

		for (int side = 0; side < 2; side++) {
			if (leaf >= n || (root < i && w[root] < w[leaf])) {
				sum += w[root];
				w[root++] = (uint32_t)i;
			} else {
				sum += w[leaf++];
			}
		}
		w[i] = sum;
	}
	/* depths of internal nodes, from the root down */
	w[n - 2] = 0;
	for (int i = n - 3; i >= 0; i--)
		w[i] = w[w[i]] + 1;
	/* at each depth, all nodes that are not internal are leaves */
	for (root = n - 2; avail > 0; depth++) {
		for (; root >= 0 && w[root] == (uint32_t)depth; root--)
			used++;
		for (; avail > used; avail--)
			w[next--] = (uint32_t)depth;
		avail = 2 * used;
		used = 0;
	}
}

/*
 * Uses package-merge (Larmore and Hirschberg 1990): in each round the weights
 * are merged with the pairs of the previous round.  Only whether an item was a
 * weight or a pair is recorded.  The rounds are then traced back, starting with
 * the 2n - 2 lightest items of the last one: each weight selected makes its
 * symbol's code one bit longer, and the pairs select the lightest items of the
 * previous round, two per pair.
 */
static void
limited_depths(uint32_t *depth, const uint32_t *w, unsigned n, unsigned most)
{
	uint64_t items[2 * HUFFMAN_SYMBOLS];
	uint8_t is_pair[HUFFMAN_BITS][2 * HUFFMAN_SYMBOLS];
	unsigned count = 0, take = 2 * n - 2;

	for (unsigned round = 0; round < most; round++) {
		uint64_t pairs[HUFFMAN_SYMBOLS];
		unsigned npairs = count / 2, p = 0, leaf = 0;

		for (unsigned i = 0; i < npairs; i++)
			pairs[i] = items[2 * i] + items[2 * i + 1];
		count = n + npairs;
		for (unsigned i = 0; i < count; i++) {
			bool pair = leaf == n ||
			    (p < npairs && pairs[p] < w[leaf]);

			is_pair[round][i] = pair;
			items[i] = pair ? pairs[p++] : w[leaf++];
		}
	}
	memset(depth, 0, n * sizeof(*depth));
	for (unsigned round = most; round-- > 0;) {
		unsigned leaf = 0, p = 0;

		for (unsigned i = 0; i < take; i++) {
			if (is_pair[round][i])
				p++;
			else
				depth[leaf++]++;
		}
		take = 2 * p;
	}
}

void
huffman_lengths(uint8_t *lengths, const uint32_t *freq, unsigned symbols,
    unsigned most)
{
	uint64_t words[HUFFMAN_SYMBOLS], spare[HUFFMAN_SYMBOLS];
	uint32_t weight[HUFFMAN_SYMBOLS], depth[HUFFMAN_SYMBOLS];
	unsigned n = 0;

	memset(lengths, 0, symbols);
	for (unsigned i = 0; i < symbols; i++)
		if (freq[i] != 0)
			words[n++] = (uint64_t)freq[i] << 16 | i;
	if (n < 2) {
		if (n == 1)
			lengths[words[0] & 0xffff] = 1;
		return;
	}
	sort_words(words, n, spare);
	for (unsigned i = 0; i < n; i++)
		weight[i] = depth[i] = (uint32_t)(words[i] >> 16);
	tree_depths(depth, (int)n);
	if (depth[0] > most)
		limited_depths(depth, weight, n, most);
	for (unsigned i = 0; i < n; i++)
		lengths[words[i] & 0xffff] = (uint8_t)depth[i];
}
