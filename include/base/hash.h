/*
 * hash.h - hashing the keys of tables that hold untrusted input
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each table has its own seed, so that nobody can craft an input whose keys
 * collide.
 */
#ifndef COLDPRESS_HASH_H
#define COLDPRESS_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Returns a seed for one table, which differs from run to run. */
uint64_t hash_seed(void);

/* Hashes a key.  A number that is part of the key can be added to the seed. */
uint64_t hash_bytes(uint64_t seed, const void *data, size_t len);

#endif
