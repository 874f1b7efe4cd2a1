/*
 * deflate_find.h - where in a deflate stream a block begins
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_DEFLATE_FIND_H
#define COLDPRESS_DEFLATE_FIND_H

#include "engine/deflate/inflater.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DEFLATE_FIND_SPARE = 16,	/* readable bytes after the input */
	DEFLATE_FIND_UNSURE = 7		/* see deflate_found.stored */
};

/* Where a block seems to begin. */
struct deflate_found {
	uint64_t bit;
	/*
	 * A stored block: the bits before its length, up to a byte boundary, do
	 * not tell where it begins; it is at `bit`, or at most
	 * DEFLATE_FIND_UNSURE bits before it.
	 */
	bool stored;
};

struct deflate_finder;

/* Returns 0 or -ENOMEM.  A finder belongs to one thread at a time. */
int deflate_finder_open(struct deflate_finder **f);
void deflate_finder_close(struct deflate_finder *f);	/* may be NULL */

/*
 * Finds the first place in bits [from, to) of in[0..len) where a block that is
 * not the final one may begin: one with dynamic codes whose header is valid
 * (unless only_stored), or a stored one that another such block follows.  Blocks with fixed codes are
 * passed over, since they have no header to recognize them by.  What is found
 * may be something else: only the end of the block before it can tell.  `in`
 * must be readable for DEFLATE_FIND_SPARE bytes after its end.  The state of the
 * inflater is lost.
 */
bool deflate_find(const struct deflate_finder *f, struct inflater *inflater,
    const uint8_t *in, size_t len, uint64_t from, uint64_t to,
    bool only_stored, struct deflate_found *found);

#endif
