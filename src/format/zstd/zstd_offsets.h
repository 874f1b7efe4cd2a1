/*
 * zstd_offsets.h - the offsets that a sequence can repeat
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 8878, section 3.1.1.5.
 */
#ifndef COLDPRESS_ZSTD_OFFSETS_H
#define COLDPRESS_ZSTD_OFFSETS_H

#include "zstd_block.h"

#include <string.h>

enum { ZSTD_OFFSETS = 3 };

/* The most recent offsets, 0 if unknown. */
struct zstd_offsets {
	uint32_t last[ZSTD_OFFSETS];
};

static inline bool
zstd_offsets_known(const struct zstd_offsets *o)
{
	return o->last[0] != 0 && o->last[1] != 0 && o->last[2] != 0;
}

/*
 * Returns the offset that a value selects in a sequence with or without
 * literals, 0 if unknown.  That offset becomes the most recent one.
 */
static inline uint32_t
zstd_offsets_use(struct zstd_offsets *o, uint32_t value, bool literals)
{
	uint32_t *last = o->last, which = value - literals, offset;

	if (value <= ZSTD_OFFSETS && which == 0)
		return last[0];
	if (value > ZSTD_OFFSETS)
		offset = value - ZSTD_OFFSETS;
	else if (which == ZSTD_OFFSETS)
		offset = last[0] == 0 ? 0 : last[0] - 1;
	else
		offset = last[which];
	if (value > ZSTD_OFFSETS || which != 1)
		last[2] = last[1];
	last[1] = last[0];
	last[0] = offset;
	return offset;
}

#endif
