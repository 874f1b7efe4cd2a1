/*
 * sha256.h - SHA-256 of two inputs at a time, if the processor supports it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: FIPS 180-4.  On x86 processors, one digest's SHA instructions depend
 * on each other and leave every other slot of their execution unit empty, so
 * two digests take little more time than one.  Private to digest.c, which
 * leaves everything else (single digests on other processors, other algorithms)
 * to OpenSSL.
 *
 * Calls are thread-safe, as long as each digest is used by one thread.
 */
#ifndef COLDPRESS_SHA256_H
#define COLDPRESS_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BLOCK = 64, SHA256_B = 32 };

struct sha256 {
	uint32_t h[8];
	uint64_t len;				/* bytes added */
	uint8_t part[SHA256_BLOCK];		/* the last, incomplete block */
};

/*
 * Returns whether this processor has the instructions, without which nothing
 * here works.
 */
bool sha256_usable(void);

/* These start a digest, add to it, and write it to out. */
void sha256_start(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_B]);

/*
 * Adds two pieces to two digests, advancing data and len, until at least one of
 * the pieces ends.
 */
struct sha256_piece {
	struct sha256 *s;
	const uint8_t *data;
	size_t len;
};
void sha256_add_two(struct sha256_piece *p, struct sha256_piece *q);

/*
 * src/engine/digest/sha256_ni.c: adds count blocks at p to h, or the blocks at
 * p and q to two digests.
 */
void sha256_blocks(uint32_t h[8], const uint8_t *p, size_t count);
void sha256_blocks_of_two(uint32_t h[8], const uint8_t *p, uint32_t i[8],
    const uint8_t *q, size_t count);

#endif
