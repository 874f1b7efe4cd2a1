/*
 * lzw_made.h - writing .Z files of every width and mode, for the tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_LZW_MADE_H
#define COLDPRESS_TESTS_LZW_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a file is written. */
struct lzw_mode {
	unsigned most;		/* the widest code, in bits: 9 to 16 */
	bool block;		/* whether code 256 is CLEAR */
	size_t clear_every;	/* bytes between CLEARs, or 0 */
};

/*
 * Compresses in[0..len) into out, which has room for it; returns the length.
 * A failed allocation fails the test.
 */
size_t lzw_make(const struct lzw_mode *m, const uint8_t *in, size_t len,
    uint8_t *out);

#endif
