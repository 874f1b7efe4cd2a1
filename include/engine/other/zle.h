/*
 * zle.h - ZLE, the zero run-length encoding of ZFS
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A byte below 64 is the number of literal bytes that follow, minus 1; any
 * other byte is 63 plus the number of zeros.
 */
#ifndef COLDPRESS_ZLE_H
#define COLDPRESS_ZLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Compresses len bytes at `in` to `out`.  Returns the size, or 0 if it exceeds
 * cap.
 */
size_t zle_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap);

/*
 * Returns 0 if the data at `in`, which may be padded, yields exactly size
 * bytes; otherwise -EBADMSG.
 */
int zle_decompress(const uint8_t *in, size_t len, uint8_t *out, size_t size);

#endif
