/*
 * bz2_sort.h - the two halves of the rotation sort
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Positions of rotations are 1..n, where n represents 0, so the preceding byte
 * is always text[position - 1].  The text is followed by a copy of its first
 * BZ2_SORT_PAD bytes.
 */
#ifndef COLDPRESS_BZ2_SORT_H
#define COLDPRESS_BZ2_SORT_H

#include <stddef.h>
#include <stdint.h>

enum {
	BZ2_SORT_PAD = 64,
	BZ2_POSITION = 0xfffff		/* enough for 900000 */
};

struct bz2_sorter {
	const uint8_t *text;
	size_t n;
	size_t seeds;		/* number of positions at which a descent
				 * ends */
	uint32_t *order;	/* these positions, ascending; then sorted */
	uint64_t *words;	/* n / 2 entries each */
	uint64_t *spare;
	uint32_t *rows;		/* slightly more than n, or two tables
				 * indexed by position / 2 */
	uint32_t pairs[65536];
};

/*
 * Sorts s->order, which has at least one position, by the rotations that begin
 * there.  Uses words, spare, rows and pairs.
 */
void bz2_sort_seeds(struct bz2_sorter *s);

#endif
