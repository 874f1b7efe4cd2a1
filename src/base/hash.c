/*
 * hash.c - hashing the keys of tables that hold untrusted input
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/hash.h"

#include "base/sys.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t
hash_seed(void)
{
	return sys_now_ns();
}

uint64_t
hash_bytes(uint64_t seed, const void *data, size_t len)
{
	return XXH3_64bits_withSeed(data, len, seed);
}
