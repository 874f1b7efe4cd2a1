/*
 * array.h - arrays that grow by one item at a time
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_ARRAY_H
#define COLDPRESS_ARRAY_H

#include <stddef.h>

/*
 * Makes room for one more item of `size` bytes behind count of them; *cap is
 * how many there is room for.  *items, NULL at first, may move; it is the
 * caller's, to be freed by sys_free().  0 or -ENOMEM, and then all is as it
 * was.  Thread-safe for arrays that are not shared.
 */
int array_grow(void **items, size_t count, size_t *cap, size_t size);

#endif
