/*
 * lzma_find.h - the matches of each position of a block
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LZMA_FIND_H
#define COLDPRESS_LZMA_FIND_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LZMA_MATCH_MIN = 2,
	LZMA_MATCH_MAX = 273,
	/* positions that are searched at a time */
	FIND_SEGMENT_LOG = 12,
	FIND_SEGMENT = 1 << FIND_SEGMENT_LOG,
	/* the most pairs of a position: lengths 2 to 273 */
	FIND_PAIRS_MAX = LZMA_MATCH_MAX - 1,
	/* entries of the tables by two bytes, and by three */
	FIND_HASH2 = 1 << 16,
	FIND_HASH3_LOG = 16,
	FIND_HUGE_PAGE = 2 << 20
};

/* The hashes of four bytes, and of the first three of them. */
static inline uint32_t
find_hash4(const uint8_t *p, unsigned log)
{
	return load_le32(p) * 0x9e3779b1U >> (32 - log);
}

static inline uint32_t
find_hash3(const uint8_t *p)
{
	return (load_le32(p) << 8) * 0x9e3779b1U >> (32 - FIND_HASH3_LOG);
}

struct find_pair {
	uint16_t len;
	/*
	 * After the byte that differs, two agree again.  The finder knows at
	 * no cost; later, the text is in no cache any more.
	 */
	uint16_t again;
	uint32_t dist;		/* 0: the byte before */
};

struct find_place {
	uint32_t at;		/* in pairs */
	uint32_t count;
};

struct find_root {
	uint32_t root;
	uint32_t d2, d3;	/* distances to what has the same 2, 3 bytes */
	uint32_t behind : 31, done : 1;
};

struct find_table {
	void *block;		/* what was allocated, */
	uint32_t *p;		/* and the numbers in it */
	uint64_t cap;
};

/*
 * Makes t, zeroed or used before, a table of at least n numbers, without keeping its
 * content; t->block is freed with sys_free().  Allocates FIND_HUGE_PAGE more: huge
 * pages make this much faster, because almost every access would miss the TLB.
 * Returns 0 or -ENOMEM.
 */
int find_table_grow(struct find_table *t, uint64_t n);

struct finder {
	/* what is searched */
	const uint8_t *in;
	uint32_t len;
	uint32_t dict;		/* the longest distance */
	uint32_t nice;		/* a match this long ends a search */
	uint32_t depth;		/* nodes to look at */

	/* the trees */
	uint32_t *head2, *head3, *head4;
	uint32_t *sons;		/* two for each of `nodes` positions */
	uint32_t nodes;
	unsigned hash_log;
	struct find_table sons_table, head_table;
	struct walk *walks;

	/* the results: positions before `ready` were searched */
	uint32_t ready;
	unsigned half;		/* of pairs, for the next segment */
	uint32_t half_cap;	/* pairs */
	uint32_t pair_count;
	struct find_pair *pairs;
	struct find_place *places;	/* of the last two segments */
	struct find_root *roots;	/* of a segment */
};

/* The most bytes that a finder allocates for blocks of up to len bytes. */
uint64_t finder_memory(uint32_t dict, uint32_t len, uint32_t nice,
    uint32_t depth);

/*
 * Prepares a zeroed finder.  nice is 8 to 273.  Returns 0 or -ENOMEM;
 * finder_close() is needed in either case.
 */
int finder_open(struct finder *f, uint32_t nice, uint32_t depth);
void finder_close(struct finder *f);

/*
 * Allocates what blocks of up to len bytes need, so that finder_begin() does not
 * fail.  Returns 0 or -ENOMEM.
 */
int finder_reserve(struct finder *f, uint32_t len, uint32_t dict);

/*
 * Begins a block of len bytes, which must stay valid.  Returns 0 or -ENOMEM.
 */
int finder_begin(struct finder *f, const uint8_t *in, uint32_t len,
    uint32_t dict);

/* Searches the next segment. */
void finder_more(struct finder *f);

/*
 * Returns the pairs of a position: lengths rise, and each has the smallest
 * distance.  pos may lie up to FIND_SEGMENT before the furthest position asked
 * for so far.
 */
static inline const struct find_pair *
finder_at(struct finder *f, uint32_t pos, uint32_t *count)
{
	const struct find_place *place;

	while (pos >= f->ready)
		finder_more(f);
	place = &f->places[pos & (2 * FIND_SEGMENT - 1)];
	*count = place->count;
	return f->pairs + place->at;
}

#endif
