/*
 * lzma_agree.h - how far two places of a block agree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LZMA_AGREE_H
#define COLDPRESS_LZMA_AGREE_H

#include "base/bytes.h"

#include <stdint.h>

/* Returns how many of `limit` bytes agree, if the first n do. */
static inline uint32_t
lzma_agree(const uint8_t *a, const uint8_t *b, uint32_t n, uint32_t limit)
{
	while (n + 8 <= limit) {
		uint64_t x = load_le64(a + n) ^ load_le64(b + n);

		if (x != 0)
			return n + ((uint32_t)__builtin_ctzll(x) >> 3);
		n += 8;
	}
	while (n < limit && a[n] == b[n])
		n++;
	return n;
}

#endif
