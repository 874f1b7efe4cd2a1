/*
 * array.c - growable arrays
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
	return array_reserve(items, count + 1, cap, size);
}

int
array_reserve(void **items, size_t count, size_t *cap, size_t size)
{
	size_t more = *cap == 0 ? FIRST : *cap;
	void *p;

	if (count <= *cap)
		return 0;
	while (more < count && more <= SIZE_MAX / 2)
		more *= 2;
	if (more < count || more > SIZE_MAX / size)
		return -ENOMEM;
	p = sys_realloc(*items, more * size);
	if (p == NULL)
		return -ENOMEM;
	*items = p;
	*cap = more;
	return 0;
}
