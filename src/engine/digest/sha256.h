/*
 * sha256.h - SHA-256 of several inputs at a time, if the processor supports it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: FIPS 180-4.  The steps of one digest depend on each other and leave
 * most of the processor idle, but steps of different digests are independent.
 * With x86's SHA instructions, two digests take little more time than one; with
 * AVX2, which computes eight words at a time, eight digests take about as long
 * as two.  Used only by digest.c, which uses OpenSSL for everything else (other
 * processors, other algorithms).
 *
 * All functions are thread-safe, as long as each digest is used by one thread.
 */
#ifndef COLDPRESS_SHA256_H
#define COLDPRESS_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BLOCK = 64, SHA256_B = 32, SHA256_LANES_MAX = 8 };

struct sha256 {
	unsigned lanes;				/* as returned by
						 * sha256_lanes() */
	uint32_t h[8];
	uint64_t len;				/* bytes added */
	uint8_t part[SHA256_BLOCK];		/* the last, incomplete block */
};

/*
 * Returns how many digests this processor computes at a time: 2, 8, or 0 if it
 * has neither SHA instructions nor AVX2, in which case the other functions must
 * not be called.  Querying the processor takes microseconds in a virtual
 * machine.
 */
unsigned sha256_lanes(void);

/*
 * These functions start a digest, add data to it, and write it to out.  lanes
 * must be set.
 */
void sha256_start(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_B]);

/*
 * Adds pieces to count distinct digests, advancing data and len, until at least
 * one of the pieces ends.  count is from 1 to lanes.
 */
struct sha256_piece {
	struct sha256 *s;
	const uint8_t *data;
	size_t len;
};
void sha256_add_many(struct sha256_piece *const p[], unsigned count);

/* Whether this processor has the SHA instructions, or AVX2. */
bool sha256_ni_usable(void);
bool sha256_avx2_usable(void);

#endif
