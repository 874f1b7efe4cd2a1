/*
 * lzma_find.c - the matches of each position of a block
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Positions with the same hash of four bytes form a binary tree, sorted by the
 * text that follows, with the latest position as the root.  A search for a
 * position walks down from the root, splits the tree into what is less and what
 * is greater, and makes these the position's children.  On its way it meets the
 * nearest match of every length.
 *
 * In a dictionary of some MiB, every step of a walk misses the caches twice:
 * for the children and for the text.  Therefore WALKS walks advance in turn.
 * Each prefetches what its next step needs, and the others' steps take as long
 * as that takes.  Walks in different trees commute.  A position whose tree is
 * in use waits for the position that is the root; so the result is that of one
 * walk after the other.
 */
#include "lzma_find.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <sys/mman.h>

enum {
	WALKS = 12,
	AHEAD = 32,		/* positions whose hash is prefetched */
	HASH4_LOG_MAX = 24,
	/* a step may compare this many bytes more than it needs */
	SLACK = 16
};

struct walk {
	const uint8_t *cur;
	uint32_t pos, now, slot;
	uint32_t match;		/* the node to look at, */
	uint32_t son;		/* and its children */
	uint32_t link[2];	/* the children to be set */
	uint32_t len[2];	/* equal bytes on either side */
	uint32_t depth, limit;
	uint32_t best, count;
	struct find_pair pairs[FIND_PAIRS_MAX];
};

static unsigned
hash_log(uint32_t dict)
{
	unsigned log = 16;

	while (log < HASH4_LOG_MAX && (uint32_t)2 << log < dict)
		log++;
	return log;
}

static uint32_t
node_count(uint32_t dict, uint32_t len)
{
	return (len < dict ? len : dict) + FIND_SEGMENT;
}

/* The most pairs of a segment. */
static uint64_t
half_cap(uint32_t nice, uint32_t depth)
{
	uint64_t most = depth + 2 < nice - 1 ? depth + 2 : nice - 1;

	return most << FIND_SEGMENT_LOG;
}

uint64_t
finder_memory(uint32_t dict, uint32_t len, uint32_t nice, uint32_t depth)
{
	uint32_t window = len < dict ? len : dict;

	return 8 * (uint64_t)node_count(dict, len) +
	    4 * ((uint64_t)1 << hash_log(window)) + 4 * (FIND_HASH2 +
	    (1 << FIND_HASH3_LOG)) +
	    2 * half_cap(nice, depth) * sizeof(struct find_pair) +
	    FIND_SEGMENT * (2 * sizeof(struct find_place) +
	    sizeof(struct find_root)) +
	    WALKS * sizeof(struct walk) + 2 * FIND_HUGE_PAGE;
}

int
finder_open(struct finder *f, uint32_t nice, uint32_t depth)
{
	f->nice = nice;
	f->depth = depth;
	f->half_cap = (uint32_t)half_cap(nice, depth);
	f->head2 = sys_malloc(4 * FIND_HASH2);
	f->head3 = sys_malloc(4 << FIND_HASH3_LOG);
	f->pairs = sys_malloc(2 * (size_t)f->half_cap * sizeof(*f->pairs));
	f->places = sys_malloc(2 * FIND_SEGMENT * sizeof(*f->places));
	f->roots = sys_malloc(FIND_SEGMENT * sizeof(*f->roots));
	f->walks = sys_malloc(WALKS * sizeof(*f->walks));
	return f->head2 == NULL || f->head3 == NULL || f->pairs == NULL ||
	    f->places == NULL || f->roots == NULL || f->walks == NULL ?
	    -ENOMEM : 0;
}

void
finder_close(struct finder *f)
{
	sys_free(f->head2);
	sys_free(f->head3);
	sys_free(f->head_table.block);
	sys_free(f->sons_table.block);
	sys_free(f->pairs);
	sys_free(f->places);
	sys_free(f->roots);
	sys_free(f->walks);
}

int
find_table_grow(struct find_table *t, uint64_t n)
{
	uintptr_t at;

	if (t->cap >= n)
		return 0;
	sys_free(t->block);
	*t = (struct find_table){ .block = sys_malloc((size_t)(4 * n) +
	    FIND_HUGE_PAGE) };
	if (t->block == NULL)
		return -ENOMEM;
	at = (uintptr_t)t->block + (FIND_HUGE_PAGE - 1);
	t->p = (uint32_t *)(at & ~(uintptr_t)(FIND_HUGE_PAGE - 1));
	t->cap = n;
	if (4 * n >= FIND_HUGE_PAGE)
		(void)madvise(t->p, (size_t)(4 * n), MADV_HUGEPAGE);
	return 0;
}

int
finder_reserve(struct finder *f, uint32_t len, uint32_t dict)
{
	uint32_t window = len < dict ? len : dict;

	return find_table_grow(&f->sons_table, 2 * (uint64_t)node_count(dict, len)) != 0 ||
	    find_table_grow(&f->head_table, (uint64_t)1 << hash_log(window)) != 0 ?
	    -ENOMEM : 0;
}

int
finder_begin(struct finder *f, const uint8_t *in, uint32_t len, uint32_t dict)
{
	f->in = in;
	f->len = len;
	f->dict = dict;
	f->nodes = node_count(dict, len);
	f->hash_log = hash_log(len < dict ? len : dict);
	f->ready = 0;
	f->half = 0;
	if (finder_reserve(f, len, dict) != 0)
		return -ENOMEM;
	f->sons = f->sons_table.p;
	f->head4 = f->head_table.p;
	memset(f->head2, 0, 4 * FIND_HASH2);
	memset(f->head3, 0, 4 << FIND_HASH3_LOG);
	memset(f->head4, 0, (size_t)4 << f->hash_log);
	return 0;
}

/* Returns how far a and b agree, from `from` up to limit. */
static inline uint32_t
agree(const uint8_t *a, const uint8_t *b, uint32_t from, uint32_t limit,
    bool near_end)
{
	uint32_t n = from;

	while (!near_end && n < limit) {
		uint64_t x = load_le64(a + n) ^ load_le64(b + n);

		if (x != 0) {
			n += (uint32_t)__builtin_ctzll(x) >> 3;
			return n < limit ? n : limit;
		}
		n += 8;
	}
	if (!near_end)
		return limit;
	while (n < limit && a[n] == b[n])
		n++;
	return n;
}

/* A match, of at most limit bytes; near_end: the block ends soon after it. */
static inline struct find_pair
pair_of(const uint8_t *cur, uint32_t len, uint32_t delta, uint32_t limit,
    bool near_end)
{
	const uint8_t *p = cur + len + 1;
	/* the block's end is known to be far, or the limit is its end */
	bool again = near_end && len + 3 > limit ? false :
	    load_le16(p) == load_le16(p - delta);

	return (struct find_pair){ (uint16_t)len, again, delta - 1 };
}

/*
 * Finds the nearest matches of two and three bytes, at the distances d2 and d3.
 * Sets *best to the length that others must exceed.  Returns their number.
 */
static inline uint32_t
short_matches(const struct finder *f, const uint8_t *cur, uint32_t d2,
    uint32_t d3, uint32_t limit, bool near_end, struct find_pair *pairs,
    uint32_t *best)
{
	uint32_t count = 0, len = 0, n;

	if (d2 <= f->dict) {
		len = agree(cur, cur - d2, 2, limit, near_end);
		pairs[count++] = pair_of(cur, len, d2, limit, near_end);
	}
	if (d3 != d2 && d3 <= f->dict && len < limit) {
		n = agree(cur, cur - d3, 0, limit, near_end);
		if (n > 2 && n > len) {
			len = n;
			pairs[count++] = pair_of(cur, n, d3, limit, near_end);
		}
	}
	*best = len < 3 ? 3 : len;
	return count;
}

/* Points w at the node `match`.  Returns false if there is none. */
static inline bool
aim(struct finder *f, struct walk *w, uint32_t match)
{
	uint32_t delta = w->now - match, slot;

	if (delta > f->dict || w->depth == 0) {
		f->sons[w->link[0]] = f->sons[w->link[1]] = 0;
		return false;
	}
	w->depth--;
	w->match = match;
	slot = w->slot - delta;
	slot += delta > w->slot ? f->nodes : 0;
	w->son = 2 * slot;
	__builtin_prefetch(&f->sons[w->son], 1);
	__builtin_prefetch(w->cur - delta +
	    (w->len[0] < w->len[1] ? w->len[0] : w->len[1]));
	return true;
}

/* Looks at a node.  Returns false when the walk is over. */
static inline bool
step(struct finder *f, struct walk *w)
{
	uint32_t delta = w->now - w->match;
	const uint8_t *text = w->cur - delta;
	uint32_t len = w->len[0] < w->len[1] ? w->len[0] : w->len[1];
	unsigned less;

	len = agree(w->cur, text, len, w->limit, false);
	if (len > w->best) {
		w->pairs[w->count++] = pair_of(w->cur, len, delta, w->limit,
		    false);
		w->best = len;
	}
	if (len == w->limit) {
		/* the node is replaced: its children become ours */
		f->sons[w->link[1]] = f->sons[w->son];
		f->sons[w->link[0]] = f->sons[w->son + 1];
		return false;
	}
	less = text[len] < w->cur[len];
	f->sons[w->link[less]] = w->match;
	w->link[less] = w->son + less;
	w->len[less] = len;
	return aim(f, w, f->sons[w->son + less]);
}

/* Begins the walk of pos.  Returns false if it is over already. */
static inline bool
start(struct finder *f, struct walk *w, uint32_t pos)
{
	const struct find_root *r = &f->roots[pos & (FIND_SEGMENT - 1)];

	w->pos = pos;
	w->now = pos + f->dict + 1;
	w->cur = f->in + pos;
	w->limit = f->len - pos < f->nice ? f->len - pos : f->nice;
	w->slot = pos % f->nodes;
	w->link[0] = 2 * w->slot + 1;
	w->link[1] = 2 * w->slot;
	w->len[0] = w->len[1] = 0;
	w->depth = f->depth;
	w->count = short_matches(f, w->cur, r->d2, r->d3, w->limit, false,
	    w->pairs, &w->best);
	return aim(f, w, r->root);
}

/* Stores what a walk found. */
static inline void
store(struct finder *f, const struct walk *w)
{
	struct find_place *place =
	    &f->places[w->pos & (2 * FIND_SEGMENT - 1)];

	place->at = f->pair_count;
	place->count = w->count;
	for (uint32_t i = 0; i < w->count; i++)
		f->pairs[f->pair_count + i] = w->pairs[i];
	f->pair_count += w->count;
}

/*
 * Looks up the roots of the trees from `from` to `to`, and enters these
 * positions as the new ones.  At least four bytes follow each.
 */
static void
find_roots(struct finder *f, uint32_t from, uint32_t to)
{
	uint32_t ahead[AHEAD];

	for (uint32_t i = from; i < to && i < from + AHEAD; i++) {
		ahead[i % AHEAD] = find_hash4(f->in + i, f->hash_log);
		__builtin_prefetch(&f->head4[ahead[i % AHEAD]], 1);
	}
	for (uint32_t i = from; i < to; i++) {
		struct find_root *r = &f->roots[i & (FIND_SEGMENT - 1)];
		uint32_t now = i + f->dict + 1, h = ahead[i % AHEAD];
		uint32_t *h2 = &f->head2[load_le16(f->in + i)];
		uint32_t *h3 = &f->head3[find_hash3(f->in + i)];

		r->root = f->head4[h];
		r->d2 = now - *h2;
		r->d3 = now - *h3;
		r->behind = 0;
		r->done = 0;
		f->head4[h] = *h2 = *h3 = now;
		if (i + AHEAD < to) {
			h = find_hash4(f->in + i + AHEAD, f->hash_log);
			ahead[i % AHEAD] = h;
			__builtin_prefetch(&f->head4[h], 1);
		}
	}
}

/*
 * Returns the next position, of those before `to`, whose tree is not in use, or
 * `to`.  Those passed over wait behind their root.
 */
static inline uint32_t
next_free(struct finder *f, uint32_t *scan, uint32_t from, uint32_t to)
{
	while (*scan < to) {
		uint32_t pos = (*scan)++;
		struct find_root *r = &f->roots[pos & (FIND_SEGMENT - 1)];
		uint32_t before = r->root - (f->dict + 1) - from;

		if (before < pos - from) {
			struct find_root *b = &f->roots[(before + from) &
			    (FIND_SEGMENT - 1)];

			if (!b->done) {
				b->behind = pos;
				continue;
			}
		}
		return pos;
	}
	return to;
}

/* Searches the positions from `from` to `to`, of one segment. */
static void
search(struct finder *f, uint32_t from, uint32_t to)
{
	struct walk *walks[WALKS];
	uint32_t scan = from, used = 0;

	for (uint32_t k = 0; k < WALKS; k++)
		walks[k] = &f->walks[k];
	find_roots(f, from, to);
	for (;;) {
		/* all walks, then the free place, if any */
		for (uint32_t k = 0; k < used; k++) {
			struct walk *w = walks[k];

			if (step(f, w))
				continue;
			for (;;) {
				struct find_root *r = &f->roots[w->pos &
				    (FIND_SEGMENT - 1)];
				uint32_t pos = r->behind;

				store(f, w);
				r->done = 1;
				if (pos == 0)
					pos = next_free(f, &scan, from, to);
				if (pos == to) {
					walks[k] = walks[--used];
					walks[used] = w;
					k--;
					break;
				}
				if (start(f, w, pos))
					break;
			}
		}
		if (used == WALKS)
			continue;
		while (used < WALKS) {
			uint32_t pos = next_free(f, &scan, from, to);

			if (pos == to)
				break;
			if (start(f, walks[used], pos)) {
				used++;
			} else {
				store(f, walks[used]);
				f->roots[pos & (FIND_SEGMENT - 1)].done = 1;
			}
		}
		if (used == 0)
			break;
	}
}

/*
 * Does the same with one walk after the other near the end of the block, where
 * bytes are compared singly.
 */
static void
search_end(struct finder *f, uint32_t from, uint32_t to)
{
	struct find_pair *pairs = f->pairs + f->pair_count;
	const uint32_t dict = f->dict, nodes = f->nodes;
	uint32_t *const sons = f->sons;
	uint32_t slot = from % nodes;

	for (uint32_t pos = from; pos < to; pos++) {
		const uint8_t *cur = f->in + pos;
		uint32_t now = pos + dict + 1, limit = f->len - pos < f->nice ?
		    f->len - pos : f->nice;
		uint32_t *h2 = &f->head2[load_le16(cur)];
		uint32_t *h3 = &f->head3[find_hash3(cur)];
		uint32_t *h4 = &f->head4[find_hash4(cur, f->hash_log)];
		uint32_t d2 = now - *h2, d3 = now - *h3, match = *h4;
		uint32_t *link1 = &sons[2 * slot], *link0 = link1 + 1;
		uint32_t len0 = 0, len1 = 0, best, count;
		uint32_t depth = f->depth;

		*h2 = *h3 = *h4 = now;
		count = short_matches(f, cur, d2, d3, limit, true, pairs, &best);
		for (;;) {
			uint32_t delta = now - match, len, *son;
			const uint8_t *text = cur - delta;
			bool less;

			if (delta > dict || depth-- == 0) {
				*link0 = *link1 = 0;
				break;
			}
			son = &sons[2 * (slot - delta + (delta > slot ? nodes :
			    0))];
			len = agree(cur, text, len0 < len1 ? len0 : len1, limit,
			    true);
			if (len > best) {
				best = len;
				pairs[count++] = pair_of(cur, len, delta, limit,
				    true);
			}
			if (len == limit) {
				/* as in step() */
				*link1 = son[0];
				*link0 = son[1];
				break;
			}
			less = text[len] < cur[len];
			if (less) {
				*link1 = match;
				link1 = son + 1;
				len1 = len;
			} else {
				*link0 = match;
				link0 = son;
				len0 = len;
			}
			match = son[less];
		}
		f->places[pos & (2 * FIND_SEGMENT - 1)] =
		    (struct find_place){ f->pair_count, count };
		f->pair_count += count;
		pairs += count;
		if (++slot == nodes)
			slot = 0;
	}
}

void
finder_more(struct finder *f)
{
	uint32_t from = f->ready, to = from + FIND_SEGMENT, near, end;

	if (to > f->len || to < from)
		to = f->len;
	near = f->len > f->nice + SLACK ? f->len - f->nice - SLACK : 0;
	end = f->len > 3 ? f->len - 3 : 0;
	f->pair_count = f->half * f->half_cap;
	f->half ^= 1;
	if (from < near)
		search(f, from, to < near ? to : near);
	if (to > near && end > near)
		search_end(f, from < near ? near : from, to < end ? to : end);
	for (uint32_t pos = from > end ? from : end; pos < to; pos++)
		f->places[pos & (2 * FIND_SEGMENT - 1)] =
		    (struct find_place){ 0, 0 };
	f->ready = to;
}
