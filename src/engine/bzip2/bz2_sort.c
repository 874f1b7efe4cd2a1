/*
 * bz2_sort.c - sorting a block's rotations
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A rotation is descending if the rotation that begins at the next byte is
 * less, and ascending if it is greater.  The seeds are the ascending rotations
 * whose predecessor is descending, at most a third of all rotations.  Once the
 * seeds are sorted, one upward pass places all descending rotations and one
 * downward pass all ascending ones: when a pass reaches the successor of a
 * rotation, it writes the rotation next to the others with the same first byte
 * (Itoh and Tanaka 1999; Nong, Zhang and Chan 2009).  No sentinel is needed,
 * because the smallest rotation is a seed.  Equal rotations of a periodic block
 * may be in any order, which does not affect the last column.
 *
 * An entry is a position, with the preceding byte in the bits above it.  A pass
 * can therefore determine where to write next without reading the text, and the
 * last column consists of the upper parts of the entries.  A rotation that must
 * not be written yet is written to a slot that is never read, because a branch
 * would often be mispredicted.
 */
#include "bz2_impl.h"
#include "bz2_sort.h"

enum { BYTE_SHIFT = 24 };	/* shift of the byte in an entry */

#define POSITION_MASK ((UINT32_C(1) << BYTE_SHIFT) - 1)

enum { DOWN, UP };

/* The numbers of descending and ascending rotations, by first byte. */
struct census {
	uint32_t of[2][256];
};

static size_t
seeds_max(size_t n)
{
	return n / 2 + 1;
}

size_t
bz2_sort_bytes(size_t n)
{
	return sizeof(struct bz2_sorter) +
	    seeds_max(n) * (2 * sizeof(uint64_t) + sizeof(uint32_t)) +
	    (n + 4) * sizeof(uint32_t);
}

/*
 * Returns whether the last rotation ascends; the bytes must not all be equal.
 */
static bool
last_ascends(const uint8_t *text, size_t n)
{
	size_t i = 0;

	while (text[i] == text[n - 1])
		i++;
	return text[n - 1] < text[i];
}

/* Finds the seeds, and puts them at the end of s->order in ascending order. */
static uint32_t *
find_seeds(struct bz2_sorter *s, struct census *count)
{
	const uint8_t *text = s->text;
	uint32_t *seed = s->order + seeds_max(s->n);
	unsigned up = last_ascends(text, s->n), end_up = up, next;

	memset(count, 0, sizeof(*count));
	/*
	 * position 0 is represented by n, the largest; if it is a seed, it
	 * comes first
	 */
	if (text[s->n - 1] > text[0]) {
		size_t i = 1;

		while (text[i] == text[0])
			i++;
		if (text[0] < text[i])
			*--seed = (uint32_t)s->n;
	}
	next = text[s->n - 1];
	count->of[end_up][next]++;
	for (size_t i = s->n - 1; i-- > 0;) {
		unsigned c = text[i];
		unsigned was = up;

		up = (c < next) | ((c == next) & up);
		seed[-1] = (uint32_t)(i + 1);
		seed -= was & ~up;
		count->of[up][c]++;
		next = c;
	}
	return seed;
}

static inline uint32_t
entry_before(const uint8_t *text, size_t n, uint32_t entry)
{
	uint32_t p = (entry & POSITION_MASK) - 1;

	p = p == 0 ? (uint32_t)n : p;
	return p | (uint32_t)text[p - 1] << BYTE_SHIFT;
}

/*
 * Scans upwards, placing all rotations that descend, starting from the seeds.
 */
static void
induce_down(const struct bz2_sorter *s, const struct census *count,
    const uint32_t seeds_of[256], uint32_t *rows)
{
	const uint8_t *text = s->text;
	const uint32_t *seed = s->order;
	uint32_t at[256], sum = 0, k = 0;
	const size_t n = s->n;

	for (int c = 0; c < 256; c++) {
		at[c] = sum;
		sum += count->of[DOWN][c];
	}
	for (unsigned first = 0; first < 256; first++) {
		const uint32_t *last = seed + seeds_of[first];

		for (uint32_t end = k + count->of[DOWN][first]; k < end; k++) {
			unsigned c = rows[k] >> BYTE_SHIFT;
			uint32_t to = at[c];

			rows[to] = entry_before(text, n, rows[k]);
			at[c] = to + (c >= first);
		}
		at[first] = sum;	/* no longer read */
		for (; seed < last; seed++)
			rows[at[*seed >> BYTE_SHIFT]++] =
			    entry_before(text, n, *seed);
	}
}

/*
 * Scans downwards, placing all rotations that ascend, and with them the whole
 * last column.
 */
static void
induce_up(const struct bz2_sorter *s, const struct census *count,
    const uint32_t *down, uint32_t *rows, uint8_t *last)
{
	const uint8_t *text = s->text;
	uint32_t at[256], sum = 1;	/* rows[0] is never read */
	uint32_t k, d = 0;
	const size_t n = s->n;

	for (int c = 0; c < 256; c++) {
		sum += count->of[UP][c];
		at[c] = sum - 1;
		d += count->of[DOWN][c];
	}
	k = sum;
	last += n;
	for (unsigned first = 256; first-- > 0;) {
		for (uint32_t end = k - count->of[UP][first]; k > end;) {
			uint32_t entry = rows[--k];
			unsigned c = entry >> BYTE_SHIFT;
			uint32_t to = at[c];

			*--last = (uint8_t)c;
			rows[to] = entry_before(text, n, entry);
			at[c] = to - (c <= first);
		}
		at[first] = 0;
		for (uint32_t end = d - count->of[DOWN][first]; d > end;) {
			uint32_t entry = down[--d];
			unsigned c = entry >> BYTE_SHIFT;
			uint32_t to = at[c];

			*--last = (uint8_t)c;
			rows[to] = entry_before(text, n, entry);
			at[c] = to - (c < first);
		}
	}
}

/*
 * Returns the row of rotation 0: among those with its first byte, the one with
 * position n.
 */
static size_t
find_origin(const struct bz2_sorter *s, const struct census *count,
    const uint32_t *down, const uint32_t *up)
{
	const uint32_t *d = down, *u = up + 1;
	unsigned first = s->text[0];
	size_t row = 0;

	for (unsigned c = 0; c < first; c++) {
		row += count->of[DOWN][c] + count->of[UP][c];
		d += count->of[DOWN][c];
		u += count->of[UP][c];
	}
	for (uint32_t i = 0; i < count->of[DOWN][first]; i++)
		if ((d[i] & POSITION_MASK) == s->n)
			return row + i;
	row += count->of[DOWN][first];
	for (uint32_t i = 0; i < count->of[UP][first]; i++)
		if ((u[i] & POSITION_MASK) == s->n)
			return row + i;
	return 0;
}

static void
place_tables(struct bz2_sorter *s, const uint8_t *text, size_t n)
{
	s->text = text;
	s->n = n;
	s->words = (uint64_t *)(s + 1);
	s->spare = s->words + seeds_max(n);
	s->order = (uint32_t *)(s->spare + seeds_max(n));
	s->rows = s->order + seeds_max(n);
}

size_t
bz2_sort(uint8_t *text, size_t n, uint8_t *last, void *scratch)
{
	struct bz2_sorter *s = scratch;
	uint32_t seeds_of[256] = { 0 }, *seed, *down, *up;
	struct census count;

	if (n == 1 || memcmp(text, text + 1, n - 1) == 0) {
		memcpy(last, text, n);
		return 0;
	}
	for (size_t i = 0; i < BZ2_SORT_PAD; i++)
		text[n + i] = text[i];
	place_tables(s, text, n);
	seed = find_seeds(s, &count);
	s->seeds = (size_t)(s->order + seeds_max(n) - seed);
	memmove(s->order, seed, s->seeds * sizeof(*seed));
	bz2_sort_seeds(s);
	for (size_t i = 0; i < s->seeds; i++) {
		uint32_t p = s->order[i];

		seeds_of[text[p]]++;
		s->order[i] = p | (uint32_t)text[p - 1] << BYTE_SHIFT;
	}
	down = s->rows;
	induce_down(s, &count, seeds_of, down);
	up = down + 1;
	for (int c = 0; c < 256; c++)
		up += count.of[DOWN][c];
	induce_up(s, &count, down, up, last);
	return find_origin(s, &count, down, up);
}
