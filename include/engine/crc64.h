/*
 * crc64.h - CRC-64 with the ISO 3309 polynomial
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * x^64 + x^4 + x^3 + x + 1, reflected, as crc64.ISO in Go's hash/crc64; xz uses
 * a different polynomial.
 */
#ifndef COLDPRESS_CRC64_H
#define COLDPRESS_CRC64_H

#include <stddef.h>
#include <stdint.h>

/* Tables for processing eight bytes at a time. */
struct crc64 {
	uint64_t tables[8][256];
};

void crc64_init(struct crc64 *c);

/*
 * Updates crc, initially 0, with len more bytes, and returns it.  Thread-safe.
 */
uint64_t crc64_add(const struct crc64 *c, uint64_t crc, const void *data,
    size_t len);

#endif
