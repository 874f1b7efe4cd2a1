/*
 * sort_words.h - a sort of distinct words
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SORT_WORDS_H
#define COLDPRESS_SORT_WORDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts a, n words of which no two are equal, in ascending order; spare has
 * room for n more.  At most O(n log n) steps; no memory is allocated.
 * Thread-safe.
 */
void sort_words(uint64_t *a, size_t n, uint64_t *spare);

#endif
