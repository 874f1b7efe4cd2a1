/*
 * prng.h - a random number generator with the same output on every machine
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", 2021), its state initialized by SplitMix64 (Steele, Lea and
 * Flood, 2014).  Uses only integers.
 *
 * A struct prng belongs to one thread at a time.
 */
#ifndef COLDPRESS_PRNG_H
#define COLDPRESS_PRNG_H

#include <stdbool.h>
#include <stdint.h>

struct prng {
	uint64_t s[4];
};

/* Probabilities are fractions of this. */
enum { PRNG_ONE = 1 << 16 };

/*
 * Applies the finalizer of SplitMix64: every input bit affects every output
 * bit.
 */
uint64_t prng_mix(uint64_t x);

/* Starts a different sequence for each pair of seed and stream. */
void prng_start(struct prng *p, uint64_t seed, uint64_t stream);

static inline uint64_t
prng_next(struct prng *p)
{
	uint64_t x = p->s[1] * 5, t = p->s[1] << 17;

	p->s[2] ^= p->s[0];
	p->s[3] ^= p->s[1];
	p->s[1] ^= p->s[2];
	p->s[0] ^= p->s[3];
	p->s[2] ^= t;
	p->s[3] = p->s[3] << 45 | p->s[3] >> 19;
	return (x << 7 | x >> 57) * 9;
}

/* Returns a number in 0..n-1; n is at least 1. */
static inline uint32_t
prng_below(struct prng *p, uint32_t n)
{
	return (uint32_t)((prng_next(p) >> 32) * n >> 32);
}

/* Returns a number in lo..hi. */
static inline uint32_t
prng_range(struct prng *p, uint32_t lo, uint32_t hi)
{
	return lo + prng_below(p, hi - lo + 1);
}

/* Returns true with a probability of part / PRNG_ONE. */
static inline bool
prng_chance(struct prng *p, uint32_t part)
{
	return prng_below(p, PRNG_ONE) < part;
}

#endif
