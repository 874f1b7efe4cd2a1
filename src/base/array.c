/*
 * array.c - arrays that grow by one item at a time
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/array.h"

#include "base/sys.h"

#include <errno.h>
#include <stdint.h>

enum { FIRST = 8 };

int
array_grow(void **items, size_t count, size_t *cap, size_t size)
{
	size_t more = *cap == 0 ? FIRST : 2 * *cap;
	void *p;

	if (count < *cap)
		return 0;
	if (*cap > SIZE_MAX / 2 || more > SIZE_MAX / size)
		return -ENOMEM;
	p = sys_realloc(*items, more * size);
	if (p == NULL)
		return -ENOMEM;
	*items = p;
	*cap = more;
	return 0;
}
