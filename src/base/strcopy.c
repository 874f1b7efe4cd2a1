/*
 * strcopy.c - copying strings
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/strcopy.h"

#include "base/sys.h"

#include <string.h>

char *
strcopy(const char *s)
{
	return strcopy_part(s, strlen(s));
}

char *
strcopy_part(const void *s, size_t len)
{
	char *copy = sys_malloc(len + 1);

	if (copy == NULL)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}
