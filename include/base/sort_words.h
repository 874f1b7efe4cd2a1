/*
 * sort_words.h - sorting distinct 64-bit words
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SORT_WORDS_H
#define COLDPRESS_SORT_WORDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts the n distinct words in a in ascending order; spare has room for n
 * words.  Runs in O(n log n) time and allocates no memory.  Thread-safe.
 */
void sort_words(uint64_t *a, size_t n, uint64_t *spare);

#endif
