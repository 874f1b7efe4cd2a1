/*
 * prng.c - a random number generator with the same output on every machine
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/prng.h"

static const uint64_t GOLDEN = 0x9e3779b97f4a7c15;

uint64_t
prng_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

void
prng_start(struct prng *p, uint64_t seed, uint64_t stream)
{
	uint64_t x = prng_mix(seed + GOLDEN) ^ prng_mix(~stream);

	for (int i = 0; i < 4; i++) {
		x += GOLDEN;
		p->s[i] = prng_mix(x);
	}
}
