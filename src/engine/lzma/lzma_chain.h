/*
 * lzma_chain.h - the matches of some positions of a block
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LZMA_CHAIN_H
#define COLDPRESS_LZMA_CHAIN_H

#include "lzma_find.h"

enum {
	/* positions that are linked together, and at least so many beyond the
	 * one that is searched */
	CHAIN_BATCH = 4096,
	CHAIN_AHEAD = LZMA_MATCH_MAX,
	/* positions whose near places are known */
	CHAIN_NEAR = 2 * CHAIN_BATCH
};

/* Distances to the last place that has the same two, and three, bytes. */
struct chain_near {
	uint32_t two, three;
};

/* The matches of a position: lengths rise. */
struct chain_found {
	uint32_t after;		/* the position after it; 0: none */
	uint32_t count;
	struct find_pair pair[FIND_PAIRS_MAX];
};

struct chain {
	/* what is searched */
	const uint8_t *in;
	uint32_t len;
	uint32_t dict;		/* the longest distance */
	uint32_t nice;		/* a match this long ends a search */
	uint32_t longest;	/* what is longer is cut */
	uint32_t depth;		/* places to look at */
	uint32_t groups;	/* of bytes of a match to choose from, but one */

	/* the last place with each hash */
	uint32_t *head2, *head3, *head4;
	unsigned hash_log;
	uint32_t *prev;		/* of each position; a ring */
	uint32_t mask;
	struct chain_near *near;	/* a ring of CHAIN_NEAR */
	uint32_t linked;	/* positions before this one are */
	struct find_table head_table, prev_table;
	struct chain_found found[2];	/* of odd and even positions */
};

/* The most bytes that chain_reserve() allocates for blocks of up to len bytes. */
uint64_t chain_memory(uint32_t dict, uint32_t len);

/*
 * Prepares a zeroed chain.  Returns 0 or -ENOMEM; chain_close() is needed in
 * either case.
 */
int chain_open(struct chain *c, uint32_t nice, uint32_t longest,
    uint32_t depth, uint32_t groups);
void chain_close(struct chain *c);

/*
 * Allocates what blocks of up to len bytes need, so that chain_begin() does not
 * fail.  Returns 0 or -ENOMEM.
 */
int chain_reserve(struct chain *c, uint32_t len, uint32_t dict);

/*
 * Begins a block of len bytes, which must stay valid.  Returns 0 or -ENOMEM.
 */
int chain_begin(struct chain *c, const uint8_t *in, uint32_t len,
    uint32_t dict);

/*
 * Returns the matches at pos, which is not before the one but last asked for, and
 * their number.
 */
const struct find_pair *chain_at(struct chain *c, uint32_t pos,
    uint32_t *count);

#endif
