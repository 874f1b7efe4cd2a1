/*
 * gzip_link.c - the links between the blocks of our gzip files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The layout is in gzip_link.h.  All values from a file are untrusted: every
 * step of a walk leads backward, and of each level but the last there are at
 * most 15.
 */
#include "gzip_link.h"

#include "base/bytes.h"
#include "format/gzip/gzip.h"
#include "format/list.h"

#include <string.h>

enum {
	VERSION = 'P' | 'Z' << 8 | '1' << 16,
	RUNS = 23, RUN_BITS = 3, LITERALS = 255,
	SHORT_LEAST = 3, LONG_LEAST = 11, LONG_MOST = 138,
	SYNC_LEN = 4,
	/* bytes of a link that are always the same */
	SAME_LEN = 8,
	STEPS = (1 << GZIP_LEVEL_BITS) - 1,
	BLOCK_MOST = 1 << 30,	/* bytes of data in a block */
	LEVEL_SHIFT = 56
};

/* The link */

struct bits {
	uint8_t *p;
	unsigned count;
};

static void
put_bits(struct bits *w, unsigned value, unsigned n)
{
	for (; n > 0; n--, value >>= 1, w->count++)
		if (value & 1)
			w->p[w->count / 8] |= (uint8_t)(1U << w->count % 8);
}

void
gzip_link_write(const struct gzip_link *l, uint8_t *p)
{
	/* in the order of RFC 1951: 16, 17, 18, 0, 8, ..., 14, 1 */
	static const uint8_t precode[18] = { [1] = 1, [2] = 3, [3] = 3,
	    [17] = 2 };
	uint64_t low = (uint64_t)l->b << 32 | l->a;
	unsigned high = (unsigned)l->kind, rest = LITERALS, first;
	struct bits w = { .p = p };

	memset(p, 0, GZIP_LINK_LEN);
	put_bits(&w, 4, 3);	/* not final, dynamic codes */
	put_bits(&w, 0, 5);	/* 257 literals and lengths */
	put_bits(&w, 1, 5);	/* 2 distances */
	put_bits(&w, sizeof(precode) - 4, 4);
	for (size_t i = 0; i < sizeof(precode); i++)
		put_bits(&w, precode[i], 3);
	for (unsigned i = 0; i < RUNS; i++) {
		unsigned x = low & 7;

		low = low >> RUN_BITS | (uint64_t)(high & 7) <<
		    (64 - RUN_BITS);
		high >>= RUN_BITS;
		put_bits(&w, x << 1, 1 + RUN_BITS);
		rest -= SHORT_LEAST + x;
	}
	first = rest - LONG_LEAST < LONG_MOST ? rest - LONG_LEAST : LONG_MOST;
	put_bits(&w, 7 | (first - LONG_LEAST) << 3, 10);
	put_bits(&w, 7 | (rest - first - LONG_LEAST) << 3, 10);
	for (unsigned i = 0; i < 4; i++)
		put_bits(&w, 1, 2);
	put_bits(&w, 1, 1);	/* the end of the block */
}

bool
gzip_link_parse(struct gzip_link *l, const uint8_t *p)
{
	enum { FIRST = 3 + 14 + 18 * 3 };
	uint64_t low = 0;
	unsigned high = 0;
	uint8_t again[GZIP_LINK_LEN];

	for (unsigned i = 0; i < RUNS * RUN_BITS; i++) {
		unsigned at = FIRST + i + i / RUN_BITS + 1;
		unsigned bit = p[at / 8] >> at % 8 & 1;

		if (i < 64)
			low |= (uint64_t)bit << i;
		else
			high |= bit << (i - 64);
	}
	*l = (struct gzip_link){ (enum gzip_link_kind)high, (uint32_t)low,
	    (uint32_t)(low >> 32) };
	if (high == GZIP_LINK_NONE || high > GZIP_SKIP)
		return false;
	gzip_link_write(l, again);
	return memcmp(p, again, sizeof(again)) == 0 &&
	    (l->kind != GZIP_LINK_OPEN || (l->b == VERSION && l->a > 0 &&
	    l->a <= BLOCK_MOST));
}

void
gzip_link_open(size_t block, uint8_t *p)
{
	gzip_link_write(&(struct gzip_link){ GZIP_LINK_OPEN, (uint32_t)block,
	    VERSION }, p);
}

size_t
gzip_linker_next(struct gzip_linker *w, size_t len, uint32_t check, uint8_t *p)
{
	unsigned level = 0;
	uint64_t value;

	w->blocks++;
	while (level + 1 < GZIP_LEVELS &&
	    w->blocks % (UINT64_C(1) << GZIP_LEVEL_BITS * (level + 1)) == 0)
		level++;
	gzip_link_write(&(struct gzip_link){ level > 0 ? GZIP_LINK_SKIP :
	    GZIP_LINK, (uint32_t)len, check }, p);
	w->at += len + GZIP_LINK_LEN;
	if (level == 0)
		return GZIP_LINK_LEN;
	w->at += GZIP_LINK_LEN;
	value = (uint64_t)level << LEVEL_SHIFT | (w->at - w->marks[level]);
	gzip_link_write(&(struct gzip_link){ GZIP_SKIP, (uint32_t)value,
	    (uint32_t)(value >> 32) }, p + GZIP_LINK_LEN);
	for (unsigned i = 1; i <= level; i++)
		w->marks[i] = w->at;
	return GZIP_LINK_MAX;
}

/* Forward, in a stream */

size_t
gzip_link_find(const uint8_t *p, size_t len, size_t *from, uint64_t before)
{
	enum { NEEDLE = SYNC_LEN + SAME_LEN };
	uint8_t needle[SYNC_LEN + GZIP_LINK_LEN] = { 0, 0, 0xff, 0xff };
	struct gzip_link l;

	gzip_link_write(&(struct gzip_link){ .kind = GZIP_LINK },
	    needle + SYNC_LEN);
	while (len - *from >= NEEDLE) {
		const uint8_t *q = memmem(p + *from, len - *from, needle,
		    NEEDLE);
		size_t at = q == NULL ? len : (size_t)(q - p) + SYNC_LEN;
		size_t end = at + GZIP_LINK_LEN;

		if (q == NULL) {
			*from = len - NEEDLE + 1;
			break;
		}
		*from = at - SYNC_LEN;
		if (end > len)
			break;
		if (gzip_link_parse(&l, q + SYNC_LEN) &&
		    (l.kind == GZIP_LINK || l.kind == GZIP_LINK_SKIP) &&
		    (before == UINT64_MAX || l.a == before + at)) {
			if (l.kind == GZIP_LINK)
				return end;
			if (end + GZIP_LINK_LEN > len)
				break;
			if (gzip_link_parse(&l, p + end) &&
			    l.kind == GZIP_SKIP)
				return end + GZIP_LINK_LEN;
		}
		++*from;
	}
	return 0;
}

/* Backward, in a file */

int
gzip_link_before(struct gzip_back *b, struct look *look, uint64_t at)
{
	size_t want = at < GZIP_LINK_MAX ? (size_t)at : GZIP_LINK_MAX;
	struct gzip_link l;
	const uint8_t *p;
	uint64_t value;
	ssize_t n = look_little(look, at - want, want, &p);

	if (n < 0 || (size_t)n < want || want < GZIP_LINK_LEN)
		return n < 0 ? (int)n : 0;
	p += want - GZIP_LINK_LEN;
	*b = (struct gzip_back){ .link = GZIP_LINK_LEN };
	if (!gzip_link_parse(&l, p))
		return 0;
	if (l.kind == GZIP_SKIP) {
		value = (uint64_t)l.b << 32 | l.a;
		b->level = (unsigned)(value >> LEVEL_SHIFT);
		value &= ((uint64_t)1 << LEVEL_SHIFT) - 1;
		if (b->level == 0 || b->level >= GZIP_LEVELS || value > at ||
		    want < GZIP_LINK_MAX ||
		    !gzip_link_parse(&l, p - GZIP_LINK_LEN) ||
		    l.kind != GZIP_LINK_SKIP)
			return 0;
		b->skip = at - value;
		b->link = GZIP_LINK_MAX;
	} else if (l.kind != GZIP_LINK) {
		return 0;
	}
	if (l.a > at - b->link)
		return 0;
	b->check = l.b;
	b->block = at - b->link - l.a;
	return b->level == 0 || b->skip <= b->block;
}

/* Returns the number of blocks between the marks of a level. */
static uint64_t
blocks_at(unsigned level)
{
	return UINT64_C(1) << GZIP_LEVEL_BITS * level;
}

/* Reads the GZIP_LINK_OPEN that ends at an offset; returns as above. */
static int
open_before(uint32_t *block, struct look *look, uint64_t at)
{
	struct gzip_link l;
	const uint8_t *p;
	ssize_t n = at < GZIP_LINK_LEN ? 0 : look_little(look,
	    at - GZIP_LINK_LEN, GZIP_LINK_LEN, &p);

	if (n < GZIP_LINK_LEN || !gzip_link_parse(&l, p) ||
	    l.kind != GZIP_LINK_OPEN)
		return n < 0 ? (int)n : 0;
	*block = l.a;
	return 1;
}

int
gzip_chain_read(struct gzip_chain *c, struct look *look, uint64_t end)
{
	enum { END = GZIP_FINAL + GZIP_TRAILER };
	unsigned level = 0, steps = 0;
	const uint8_t *p;
	uint64_t least;
	uint32_t size;
	ssize_t n;
	int rc;

	if (end > look->len || end < END)
		return 0;
	*c = (struct gzip_chain){ .start = end - END, .end = end - END };
	n = look_little(look, c->end, END, &p);
	if (n < END || p[0] != 3 || p[1] != 0)
		return n < 0 ? (int)n : 0;
	size = load_le32(p + END - 4);
	for (;; steps++) {
		struct gzip_back b;

		rc = gzip_link_before(&b, look, c->start);
		if (rc < 0)
			return rc;
		if (rc == 0)
			break;
		if (b.level < level)
			return 0;
		if (b.level > level)
			steps = 0;
		level = b.level;
		/* the number has no more digits than there are levels */
		if (steps == STEPS && level < GZIP_LEVELS - 1)
			return 0;
		c->blocks += blocks_at(level);
		c->start = level == 0 ? b.block : b.skip;
		if (c->blocks > INT64_MAX / BLOCK_MOST)
			return 0;
	}
	rc = c->blocks == 0 ? 0 : open_before(&c->block, look, c->start);
	if (rc != 1)
		return rc;
	/* the last block has 1 to `block` bytes */
	least = (c->blocks - 1) * c->block;
	c->size = (least & ~(uint64_t)UINT32_MAX) | size;
	if (c->size <= least)
		c->size += (uint64_t)1 << 32;
	return c->size - least <= c->block;
}

int
gzip_chain_find(const struct gzip_chain *c, struct look *look, uint64_t k,
    uint64_t *at)
{
	uint64_t n = c->blocks;

	*at = k == 0 ? c->start : c->end;
	while (k > 0 && n > k) {
		struct gzip_back b;
		uint64_t step;
		int rc = gzip_link_before(&b, look, *at);

		if (rc <= 0)
			return rc;
		step = blocks_at(b.level);
		if (b.level > 0 && (n % step != 0 || step > n))
			return 0;
		if (b.level > 0 && n - step >= k) {
			*at = b.skip;
			n -= step;
		} else {
			*at = b.block;
			n--;
		}
		if (*at < c->start || (*at == c->start) != (n == 0))
			return 0;
	}
	return 1;
}
