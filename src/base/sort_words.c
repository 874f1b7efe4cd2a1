/*
 * sort_words.c - sorting distinct 64-bit words
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is a quicksort whose comparisons do not branch, because a branch
 * misprediction costs more than the two stores that replace the branch.  After
 * too many bad pivots, heapsort is used instead.
 */
#include "base/sort_words.h"

#include <string.h>

enum {
	SMALL = 16,		/* sorted by insertion */
	NINTHER = 200		/* minimum length for the median of three
				 * medians */
};

/* Moves each word down past larger ones; no branch depends on a word. */
static void
insertion(uint64_t *a, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t x = a[i];

		for (size_t k = i; k > 0; k--) {
			uint64_t y = a[k - 1];

			a[k] = x < y ? y : x;
			x = x < y ? x : y;
		}
		a[0] = x;
	}
}

static void
sift(uint64_t *a, size_t root, size_t n)
{
	uint64_t x = a[root];

	for (;;) {
		size_t child = 2 * root + 1;

		if (child >= n)
			break;
		if (child + 1 < n && a[child + 1] > a[child])
			child++;
		if (a[child] <= x)
			break;
		a[root] = a[child];
		root = child;
	}
	a[root] = x;
}

static void
heap(uint64_t *a, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(a, i, n);
	while (n-- > 1) {
		uint64_t x = a[0];

		a[0] = a[n];
		a[n] = x;
		sift(a, 0, n);
	}
}

static inline uint64_t
median(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t lo = a < b ? a : b, hi = a < b ? b : a;

	return c < lo ? lo : c > hi ? hi : c;
}

/*
 * Returns a pivot, which is never the smallest word because words are distinct.
 */
static uint64_t
pivot(const uint64_t *a, size_t n)
{
	size_t h = n / 2, e = n / 8;

	if (n < NINTHER)
		return median(a[0], a[h], a[n - 1]);
	return median(median(a[0], a[e], a[2 * e]),
	    median(a[h - e], a[h], a[h + e]),
	    median(a[n - 1 - 2 * e], a[n - 1 - e], a[n - 1]));
}

/* Moves the words below the pivot to the front, and returns their number. */
static size_t
partition(uint64_t *a, size_t n, uint64_t mid, uint64_t *spare)
{
	size_t below = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = a[i];

		a[below] = x;
		spare[i - below] = x;
		below += x < mid;
	}
	memcpy(a + below, spare, (n - below) * sizeof(*a));
	return below;
}

void
sort_words(uint64_t *a, size_t n, uint64_t *spare)
{
	struct {
		uint64_t *a;
		size_t n;
		unsigned tries;
	} stack[64];
	unsigned depth = 0, tries = 0;

	if (n <= SMALL) {
		insertion(a, n);
		return;
	}
	for (size_t i = n; i > 0; i >>= 1)
		tries += 2;
	for (;;) {
		size_t below;

		if (n <= SMALL || tries == 0) {
			if (n <= SMALL)
				insertion(a, n);
			else
				heap(a, n);
			if (depth-- == 0)
				return;
			a = stack[depth].a;
			n = stack[depth].n;
			tries = stack[depth].tries;
			continue;
		}
		below = partition(a, n, pivot(a, n), spare);
		tries--;
		/*
		 * defer the larger part, so that the stack holds at most
		 * log2(n) entries
		 */
		stack[depth].tries = tries;
		if (below < n - below) {
			stack[depth].a = a + below;
			stack[depth++].n = n - below;
			n = below;
		} else {
			stack[depth].a = a;
			stack[depth++].n = below;
			a += below;
			n -= below;
		}
	}
}
