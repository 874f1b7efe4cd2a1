/*
 * huffman.h - the best prefix code for given frequencies
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
 * Fills lengths with the bits of each symbol's code: the code of least cost
 * of which no word is longer than most bits.  A symbol of frequency 0 has
 * none; the only one that is not has 1 bit.  symbols: at most
 * HUFFMAN_SYMBOLS, and no more than there are words of most bits; most: at
 * most HUFFMAN_BITS; the sum of the frequencies fits in 32 bits.
 * Thread-safe.
 */
void huffman_lengths(uint8_t *lengths, const uint32_t *freq, unsigned symbols,
    unsigned most);

#endif
