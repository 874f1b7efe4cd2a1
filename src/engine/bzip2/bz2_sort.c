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

enum {
	BYTE_SHIFT = 24,	/* shift of the byte in an entry */
	POSITION = 0xfffff,	/* enough for 900000 */
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

#define POSITION_MASK ((UINT32_C(1) << BYTE_SHIFT) - 1)

enum { DOWN, UP };

/* The numbers of descending and ascending rotations, by first byte. */
struct census {
	uint32_t of[2][256];
};

/*
 * Positions of rotations are 1..n, where n represents 0, so the preceding byte
 * is always text[position - 1].  The text is followed by a copy of its first
 * BZ2_SORT_PAD bytes.
 */
struct sorter {
	const uint8_t *text;
	size_t n;
	size_t seeds;		/* number of positions at which a descent
				 * ends */
	uint32_t *order;	/* these positions, ascending; then sorted */
	uint64_t *words;	/* n / 2 entries each */
	uint64_t *spare;
	uint32_t *rows;		/* slightly more than n, or two tables
				 * indexed by position / 2, since no two seeds
				 * are adjacent: */
	uint32_t *ranks, *leaps;
	uint32_t pairs[65536];
};

/* The seeds */

static inline uint32_t
position(uint64_t word)
{
	return (uint32_t)word & POSITION;
}

/*
 * Sorts words whose first `depth` bytes are equal.  Recursion stops at DEPTH,
 * after four levels.
 */
static void
sort_bytes(const struct sorter *s, uint64_t *a, size_t n, unsigned depth)
{
	size_t i, k;

	for (i = 0; i < n; i++)
		a[i] = load_be64(s->text + position(a[i]) + depth) >>
		    POSITION_BITS << POSITION_BITS | position(a[i]);
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
sort_by_bytes(struct sorter *s)
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
next_byte(const struct sorter *s, size_t p)
{
	return p == s->n ? 1 : p + 1;
}

/*
 * Compares the bytes starting at two seeds, until they reveal the next seed,
 * which is at the first increase after a decrease.
 */
static int
compare_seeds(const struct sorter *s, size_t p, size_t q)
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
sort_long(const struct sorter *s, uint64_t *a, size_t n)
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
group_end(const struct sorter *s, size_t i)
{
	do
		i++;
	while (i < s->seeds && (s->words[i] & EQUAL) != 0);
	return i;
}

/*
 * Returns whether the bytes starting at p, wrapping around, show that p is a
 * seed.
 */
static bool
shows_seed(const struct sorter *s, size_t p, size_t bytes)
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
find_leaps(const struct sorter *s)
{
	const uint32_t *order = s->order;
	uint32_t *leap = s->leaps;
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

/*
 * Sorts a group by the ranks of two leaps.  Returns the resulting number of
 * groups.  These ranks may include the ranks of the group itself, which change
 * when it is sorted.
 */
static size_t
sort_group(const struct sorter *s, size_t start, size_t n)
{
	uint32_t *rank = s->ranks;
	const uint32_t *leap = s->leaps;
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

/*
 * Sorts all groups; returns whether any group was split and any remain.
 * Consecutive seeds that are alone in their groups are merged into one run,
 * which later rounds skip.
 */
static bool
sort_groups(const struct sorter *s)
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

/*
 * Sorts s->order, which has at least one position, by the rotations that begin
 * there.  Uses words, spare, rows and pairs.
 */
static void
sort_seeds(struct sorter *s)
{
	uint32_t *leap = s->leaps, *longer = (uint32_t *)s->spare;
	size_t group = 0, next;
	bool groups = false;

	sort_by_bytes(s);
	find_leaps(s);
	/* complete the groups: all members of a group have the same leap */
	for (size_t i = 0; i < s->seeds; i = next) {
		next = group_end(s, i);
		if (next - i == 1)
			continue;
		groups = true;
		if ((leap[position(s->words[i]) / 2] & UNSEEN) != 0)
			sort_long(s, s->words + i, next - i);
	}
	for (size_t i = 0; i < s->seeds; i++)
		leap[s->order[i] / 2] &= ~UNSEEN;
	if (groups) {
		for (size_t i = 0; i < s->seeds; i++) {
			if ((s->words[i] & EQUAL) == 0)
				group = i;
			s->ranks[position(s->words[i]) / 2] = (uint32_t)group;
		}
		while (sort_groups(s)) {
			for (size_t i = 0; i < s->seeds; i++) {
				uint32_t at = s->order[i] / 2;

				longer[at] = leap[leap[leap[at] / 2] / 2];
			}
			memcpy(leap, longer, (s->n / 2 + 1) * sizeof(*leap));
		}
	}
	for (size_t i = 0; i < s->seeds; i++)
		s->order[i] = position(s->words[i]);
}

/* The rotations */

static size_t
seeds_max(size_t n)
{
	return n / 2 + 1;
}

size_t
bz2_sort_bytes(size_t n)
{
	return sizeof(struct sorter) +
	    seeds_max(n) * (2 * sizeof(uint64_t) + sizeof(uint32_t)) +
	    (n + 4) * sizeof(uint32_t);
}

/* Finds the seeds, and puts them at the end of s->order in ascending order. */
static uint32_t *
find_seeds(struct sorter *s, struct census *count)
{
	const uint8_t *text = s->text;
	uint32_t *seed = s->order + seeds_max(s->n);
	unsigned next = text[s->n - 1], up;
	size_t differs = 0;

	memset(count, 0, sizeof(*count));
	/* the last rotation ascends or descends; not all bytes are equal */
	while (text[differs] == next)
		differs++;
	up = next < text[differs];
	count->of[up][next]++;
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
induce_down(const struct sorter *s, const struct census *count,
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
induce_up(const struct sorter *s, const struct census *count,
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

size_t
bz2_sort(uint8_t *text, size_t n, uint8_t *last, void *scratch)
{
	struct sorter *s = scratch;
	uint32_t seeds_of[256] = { 0 }, *seed, *down, *up;
	const uint32_t *d, *u;
	struct census count;
	size_t row = 0;

	if (n == 1 || memcmp(text, text + 1, n - 1) == 0) {
		memcpy(last, text, n);
		return 0;
	}
	for (size_t i = 0; i < BZ2_SORT_PAD; i++)
		text[n + i] = text[i];
	s->text = text;
	s->n = n;
	s->words = (uint64_t *)(s + 1);
	s->spare = s->words + seeds_max(n);
	s->order = (uint32_t *)(s->spare + seeds_max(n));
	s->rows = s->ranks = s->order + seeds_max(n);
	s->leaps = s->rows + n / 2 + 1;
	seed = find_seeds(s, &count);
	s->seeds = (size_t)(s->order + seeds_max(n) - seed);
	memmove(s->order, seed, s->seeds * sizeof(*seed));
	sort_seeds(s);
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

	/*
	 * the row of rotation 0: among those with its first byte, the one with
	 * position n
	 */
	d = down;
	u = up + 1;
	for (unsigned c = 0; c < text[0]; c++) {
		row += count.of[DOWN][c] + count.of[UP][c];
		d += count.of[DOWN][c];
		u += count.of[UP][c];
	}
	for (uint32_t i = 0; i < count.of[DOWN][text[0]]; i++, row++)
		if ((*d++ & POSITION_MASK) == n)
			return row;
	for (uint32_t i = 0; i < count.of[UP][text[0]]; i++, row++)
		if ((*u++ & POSITION_MASK) == n)
			return row;
	return 0;
}
