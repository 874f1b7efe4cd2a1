/*
 * lzma_encode.h - an encoder for LZMA2
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Encodes a block that is in memory as a whole.  The output depends only on the
 * block and the parameters.
 *
 * Sources: the LZMA specification (LZMA SDK); for the chunks of LZMA2, the
 * description in the Linux kernel's decoder, lib/xz/xz_dec_lzma2.c.
 */
#ifndef COLDPRESS_LZMA_ENCODE_H
#define COLDPRESS_LZMA_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lzma2_params {
	uint32_t dict_B;	/* the longest distance; at least 4096 */
	unsigned lc, lp, pb;	/* lc + lp is at most 4, as is pb */
	uint32_t nice;		/* 8 to 273: a match of this length is taken */
	uint32_t depth;		/* matches to look at, at least 1 */
	bool fast;		/* decide by the next byte, not by prices */
};

struct lzma2_encoder;

enum { LZMA2_LEVEL_MIN = 0, LZMA2_LEVEL_MAX = 9 };

/* Fills in the parameters of a level of xz(1). */
void lzma2_params_of(struct lzma2_params *p, unsigned level);

/*
 * The longest block: positions, and the dictionary before them, are numbers of
 * 32 bits.
 */
#define LZMA2_BLOCK_MAX ((uint32_t)1 << 31)

/* Returns the most memory that an encoder takes for blocks of len bytes. */
uint64_t lzma2_encoder_memory(const struct lzma2_params *p, uint32_t len);

/*
 * Returns an encoder, to be freed with lzma2_encoder_free(), or NULL.  Belongs
 * to one thread at a time.
 */
struct lzma2_encoder *lzma2_encoder_new(const struct lzma2_params *p);
void lzma2_encoder_free(struct lzma2_encoder *e);

/*
 * Allocates what blocks of up to len bytes need, so that encoding them does not
 * fail for want of memory.  Returns 0 or -ENOMEM.
 */
int lzma2_encoder_reserve(struct lzma2_encoder *e, uint32_t len);

/* The most bytes that a block of len bytes takes. */
size_t lzma2_bound(size_t len);

/*
 * Encodes a block of len bytes, at most LZMA2_BLOCK_MAX, which is independent
 * of those before, with its end marker.  Returns the number of bytes, -ENOBUFS
 * (cap is less than lzma2_bound() and too little) or -ENOMEM.
 */
ssize_t lzma2_encode(struct lzma2_encoder *e, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/*
 * The same in two steps, for what follows a history.  lzma2_begin() searches
 * the first `before` of len bytes, at most LZMA2_BLOCK_MAX, which the decoder
 * has in its dictionary; the bytes must stay valid until lzma2_finish(), which
 * encodes the rest.  Decoders count positions from what they were given: before
 * is at most dict_B, or a multiple of 16.  Returns 0 or -ENOMEM.
 */
int lzma2_begin(struct lzma2_encoder *e, const uint8_t *in, size_t before,
    size_t len);
ssize_t lzma2_finish(struct lzma2_encoder *e, uint8_t *out, size_t cap);

#endif
