/*
 * deflate_data.h - data of several kinds, and deflate streams of it, for tests
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Any error in these functions fails the test.
 */
#ifndef COLDPRESS_TESTS_DEFLATE_DATA_H
#define COLDPRESS_TESTS_DEFLATE_DATA_H

#include <stddef.h>
#include <stdint.h>

enum {
	MAX = 600 << 10,	/* room for any of the tests' streams */
	KINDS = 6
};

/*
 * Makes data of a kind, 0 to KINDS - 1: they lead to different kinds of blocks
 * and codes.
 */
void fill(uint8_t *p, size_t n, unsigned kind);

/* Both write a raw deflate stream to out, and return its length. */
size_t zlib_deflate(const uint8_t *in, size_t n, uint8_t *out, size_t cap,
    int level, int strategy, int mem);
size_t lib_deflate(const uint8_t *in, size_t n, uint8_t *out, size_t cap,
    int level);

#endif
