/*
 * rnd.h - pseudorandom numbers for tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_RND_H
#define COLDPRESS_TESTS_RND_H

#include <stdint.h>

/*
 * Returns the next number of xorshift32, the same on every machine; *seed must
 * not be 0.
 */
static inline uint32_t
rnd(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

#endif
