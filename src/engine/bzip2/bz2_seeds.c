/*
 * bz2_seeds.c - sorting the seeds of the rotation sort
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Seeds are first sorted by their bytes: by the first two with a counting sort,
 * then by five at a time, packed above the position in a word, until all words
 * differ or DEPTH bytes are equal.
 *
 * Then they are sorted by ranks, as in Larsson and Sadakane (1999), but
 * advancing from seed to seed.  The members of a group share a prefix, so the
 * seeds that it reveals are at the same distances from every member.  The last
 * such seed, called the leap, is therefore at the same distance from every
 * member, and members compare like the ranks of their leaps.  A round compares
 * two leaps, and makes each leap three times as long.  When a round splits no
 * group, the rotations in each group are equal.  The number of rounds is
 * logarithmic.
 */
#include "base/sort_words.h"
#include "bz2_impl.h"
#include "bz2_sort.h"

enum {
	PAIR_BYTES = 2,
	WORD_BYTES = 5,
	POSITION_BITS = 24,	/* position bits of a word, with room for
				 * EQUAL */
	DEPTH = PAIR_BYTES + 4 * WORD_BYTES,
	RANK_BITS = 20
};

#define EQUAL (UINT64_C(1) << 23)	/* equal to the previous word so far */
#define SINGLE (UINT64_C(1) << 22)	/* the bits above SINGLE count the
					 * single words from here on */

static inline uint32_t
position(uint64_t word)
{
	return (uint32_t)word & BZ2_POSITION;
}

static inline uint64_t
key_word(const uint8_t *text, uint32_t p, unsigned depth)
{
	return (load_be64(text + p + depth) >> POSITION_BITS <<
	    POSITION_BITS) | p;
}

/*
 * Sorts words whose first `depth` bytes are equal.  Recursion stops at DEPTH,
 * after four levels.
 */
static void
sort_bytes(const struct bz2_sorter *s, uint64_t *a, size_t n, unsigned depth)
{
	size_t i, k;

	for (i = 0; i < n; i++)
		a[i] = key_word(s->text, position(a[i]), depth);
	sort_words(a, n, s->spare);
	depth += WORD_BYTES;
	for (i = 0; i < n; i = k) {
		for (k = i + 1; k < n &&
		    (a[k] ^ a[i]) >> POSITION_BITS == 0;)
			k++;
		if (k - i == 1)
			continue;
		if (depth < DEPTH) {
			sort_bytes(s, a + i, k - i, depth);
			continue;
		}
		while (++i < k)
			a[i] |= EQUAL;
	}
}

/*
 * Writes the seeds as words, sorted by their first two bytes, then by further
 * bytes.
 */
static void
sort_by_bytes(struct bz2_sorter *s)
{
	uint32_t *end = s->pairs, sum = 0, start = 0;
	const uint8_t *text = s->text;

	memset(end, 0, sizeof(s->pairs));
	for (size_t i = 0; i < s->seeds; i++)
		end[text[s->order[i]] << 8 | text[s->order[i] + 1]]++;
	for (size_t pair = 0; pair < 65536; pair++) {
		uint32_t count = end[pair];

		end[pair] = sum;
		sum += count;
	}
	for (size_t i = 0; i < s->seeds; i++) {
		uint32_t p = s->order[i];

		s->words[end[text[p] << 8 | text[p + 1]]++] = p;
	}
	for (size_t pair = 0; pair < 65536; pair++) {
		if (end[pair] - start > 1)
			sort_bytes(s, s->words + start, end[pair] - start,
			    PAIR_BYTES);
		start = end[pair];
	}
}

/* Returns the byte after p, wrapping around at the end. */
static inline size_t
next_byte(const struct bz2_sorter *s, size_t p)
{
	return p == s->n ? 1 : p + 1;
}

/*
 * Compares the bytes starting at two seeds, until they reveal the next seed,
 * which is at the first increase after a decrease.
 */
static int
compare_seeds(const struct bz2_sorter *s, size_t p, size_t q)
{
	unsigned before = s->text[p];
	bool fell = false;

	for (;;) {
		unsigned c = s->text[p];

		if (c != s->text[q])
			return c < s->text[q] ? -1 : 1;
		if (fell && c > before)
			return 0;
		fell |= c < before;
		before = c;
		p = next_byte(s, p);
		q = next_byte(s, q);
	}
}

/*
 * Sorts a group whose next seeds are not visible within DEPTH bytes.  A
 * comparison takes at most as many steps as there are bytes between the element
 * that it places and the next seed, so a merge takes at most n steps in total.
 */
static void
sort_long(const struct bz2_sorter *s, uint64_t *a, size_t n)
{
	uint64_t *from = a, *to = s->spare, *swap;

	for (size_t half = 1; half < n; half *= 2) {
		for (size_t lo = 0; lo < n; lo += 2 * half) {
			size_t mid = lo + half < n ? lo + half : n;
			size_t hi = mid + half < n ? mid + half : n;
			size_t i = lo, k = mid;

			for (size_t at = lo; at < hi; at++)
				to[at] = k == hi || (i < mid && compare_seeds(s,
				    position(from[i]), position(from[k])) <= 0)
				    ? from[i++] : from[k++];
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != a)
		memcpy(a, from, n * sizeof(*a));
	a[0] &= ~EQUAL;
	for (size_t i = 1; i < n; i++) {
		a[i] &= ~EQUAL;
		if (compare_seeds(s, position(a[i - 1]), position(a[i])) == 0)
			a[i] |= EQUAL;
	}
}

/* Returns the end of the words a[i..] that are equal so far. */
static inline size_t
group_end(const struct bz2_sorter *s, size_t i)
{
	do
		i++;
	while (i < s->seeds && (s->words[i] & EQUAL) != 0);
	return i;
}

/* Tables are indexed by position / 2: no two seeds are adjacent. */
static uint32_t *
ranks(const struct bz2_sorter *s)
{
	return s->rows;
}

static uint32_t *
leaps(const struct bz2_sorter *s)
{
	return s->rows + s->n / 2 + 1;
}

/*
 * Returns whether the bytes starting at p, wrapping around, show that p is a
 * seed.
 */
static bool
shows_seed(const struct bz2_sorter *s, size_t p, size_t bytes)
{
	size_t q = p;

	while (bytes-- > 1) {
		q = next_byte(s, q);
		if (s->text[q] != s->text[p])
			return true;
	}
	return false;
}

/* flag in a leap: no other seed is visible within DEPTH */
#define UNSEEN UINT32_C(0x80000000)

/*
 * Finds, for each seed, the last seed visible within DEPTH bytes or, if there
 * is none, the next one.
 */
static void
find_leaps(const struct bz2_sorter *s)
{
	const uint32_t *order = s->order;
	uint32_t *leap = leaps(s);
	size_t e = 0;

	for (size_t k = 0; k < s->seeds; k++) {
		for (e = e < k ? k : e; e + 1 < k + s->seeds; e++) {
			size_t next = e + 1 < s->seeds ? e + 1 :
			    e + 1 - s->seeds;
			size_t to = order[next] + (next < k ? s->n : 0);

			if (to - order[k] + 2 > DEPTH || !shows_seed(s,
			    order[next], DEPTH - (to - order[k])))
				break;
		}
		leap[order[k] / 2] = e > k ? order[e % s->seeds] :
		    order[(k + 1) % s->seeds] | UNSEEN;
	}
}

/* Completes the groups, so that all members of a group have the same leap. */
static bool
sort_unseen(const struct bz2_sorter *s)
{
	uint32_t *leap = leaps(s);
	bool groups = false;
	size_t i, k;

	for (i = 0; i < s->seeds; i = k) {
		uint32_t p = position(s->words[i]);

		k = group_end(s, i);
		groups |= k - i > 1;
		if (k - i > 1 && (leap[p / 2] & UNSEEN) != 0)
			sort_long(s, s->words + i, k - i);
	}
	for (i = 0; i < s->seeds; i++)
		leap[s->order[i] / 2] &= ~UNSEEN;
	return groups;
}

static void
set_ranks(const struct bz2_sorter *s)
{
	uint32_t *rank = ranks(s);
	size_t group = 0;

	for (size_t i = 0; i < s->seeds; i++) {
		if ((s->words[i] & EQUAL) == 0)
			group = i;
		rank[position(s->words[i]) / 2] = (uint32_t)group;
	}
}

/*
 * Sorts a group by the ranks of two leaps.  Returns the resulting number of
 * groups.  These ranks may include the ranks of the group itself, which change
 * when it is sorted.
 */
static size_t
sort_group(const struct bz2_sorter *s, size_t start, size_t n)
{
	uint32_t *rank = ranks(s);
	const uint32_t *leap = leaps(s);
	uint64_t *a = s->words + start;
	size_t group = 0, parts = 1;

	for (size_t i = 0; i < n; i++) {
		uint32_t p = position(a[i]);
		uint32_t one = leap[p / 2], two = leap[one / 2];

		a[i] = (uint64_t)rank[one / 2] <<
		    (POSITION_BITS + RANK_BITS) |
		    (uint64_t)rank[two / 2] << POSITION_BITS | p;
	}
	sort_words(a, n, s->spare);
	for (size_t i = 1; i < n; i++) {
		if ((a[i] ^ a[group]) >> POSITION_BITS == 0) {
			a[i] |= EQUAL;
		} else {
			group = i;
			parts++;
		}
		rank[position(a[i]) / 2] = (uint32_t)(start + group);
	}
	return parts;
}

static void
lengthen_leaps(const struct bz2_sorter *s)
{
	uint32_t *leap = leaps(s), *longer = (uint32_t *)s->spare;

	for (size_t i = 0; i < s->seeds; i++) {
		uint32_t at = s->order[i] / 2;

		longer[at] = leap[leap[leap[at] / 2] / 2];
	}
	memcpy(leap, longer, (s->n / 2 + 1) * sizeof(*leap));
}

/*
 * Sorts all groups; returns whether any group was split and any remain.
 * Consecutive seeds that are alone in their groups are merged into one run,
 * which later rounds skip.
 */
static bool
sort_groups(const struct bz2_sorter *s)
{
	uint64_t *words = s->words;
	size_t singles = 0, i, k;
	bool split = false, left = false;

	for (i = 0; i < s->seeds; i = k) {
		size_t parts;
		bool single = (words[i] & SINGLE) != 0;

		k = single ? i + (size_t)(words[i] >> POSITION_BITS) :
		    group_end(s, i);
		if (single || k - i == 1) {
			words[singles] = (uint64_t)(k - singles) <<
			    POSITION_BITS | SINGLE | position(words[singles]);
			continue;
		}
		parts = sort_group(s, i, k - i);
		split |= parts > 1;
		left |= parts < k - i;
		singles = k;
	}
	return split && left;
}

static void
sort_by_ranks(struct bz2_sorter *s)
{
	find_leaps(s);
	if (!sort_unseen(s))
		return;
	set_ranks(s);
	while (sort_groups(s))
		lengthen_leaps(s);
}

void
bz2_sort_seeds(struct bz2_sorter *s)
{
	sort_by_bytes(s);
	sort_by_ranks(s);
	for (size_t i = 0; i < s->seeds; i++)
		s->order[i] = position(s->words[i]);
}
