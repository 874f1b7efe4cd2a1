/*
 * huffman.h - the optimal prefix code for given frequencies
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_HUFFMAN_H
#define COLDPRESS_HUFFMAN_H

#include <stdint.h>

enum {
	HUFFMAN_SYMBOLS = 288,
	HUFFMAN_BITS = 17
};

/*
 * Sets lengths to the number of bits in each symbol's codeword, for the
 * cheapest code whose codewords have at most `most` bits.  A symbol of
 * frequency 0 gets length 0; if only one symbol occurs, it gets 1 bit.  `most`
 * must not exceed HUFFMAN_BITS, `symbols` must not exceed HUFFMAN_SYMBOLS or
 * 2^most, and the sum of the frequencies must fit in 32 bits.  Thread-safe.
 */
void huffman_lengths(uint8_t *lengths, const uint32_t *freq, unsigned symbols,
    unsigned most);

/*
 * Returns the next n-bit code, with the first bit lowest as in deflate; 0 after
 * the last code, which is all ones, or if n is 0.
 */
static inline uint32_t
huffman_next_code(uint32_t code, unsigned n)
{
	uint32_t zeros = ~code & ((1U << n) - 1);
	uint32_t bit;

	if (zeros == 0)
		return 0;
	bit = 1U << (31 - __builtin_clz(zeros));
	return (code & (bit - 1)) | bit;
}

#endif
