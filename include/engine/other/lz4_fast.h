/*
 * lz4_fast.h - fast compression of LZ4 blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: LZ4 Block Format Description.
 */
#ifndef COLDPRESS_LZ4_FAST_H
#define COLDPRESS_LZ4_FAST_H

#include <stddef.h>
#include <stdint.h>

enum { LZ4_FAST_BITS = 14 };

/* Per-block state: the last position of each six-byte hash. */
struct lz4_fast {
	uint16_t places[1 << LZ4_FAST_BITS];
};

/*
 * Compresses len bytes to out, which has room for LZ4_compressBound(len) bytes.
 * Returns the number of bytes written.
 */
size_t lz4_fast_block(struct lz4_fast *f, const uint8_t *in, size_t len,
    uint8_t *out);

#endif
