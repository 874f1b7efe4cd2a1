/*
 * array.h - growable arrays
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_ARRAY_H
#define COLDPRESS_ARRAY_H

#include <stddef.h>

/*
 * Makes room for one more item of `size` bytes in an array of count items.
 * *cap is the capacity in items.  *items, initially NULL, may move; the caller
 * owns it and frees it with sys_free().  Returns 0, or -ENOMEM, leaving
 * everything unchanged.  Thread-safe unless the array is shared.
 */
int array_grow(void **items, size_t count, size_t *cap, size_t size);

/* Like array_grow(), but makes room for count items in total. */
int array_reserve(void **items, size_t count, size_t *cap, size_t size);

#endif
