/*
 * path.c - paths and names as text
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/path.h"

#include <errno.h>
#include <string.h>

int
path_clean(char *path)
{
	const char *from = path;
	char *to = path;

	while (*from != '\0') {
		size_t len = strcspn(from, "/");

		if (len == 2 && from[0] == '.' && from[1] == '.')
			return -EINVAL;
		if (len > 0 && !(len == 1 && *from == '.')) {
			if (to > path)
				*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len;
		from += *from == '/';
	}
	*to = '\0';
	return 0;
}

bool
path_has_parent(const char *path)
{
	while (*path != '\0') {
		size_t len = strcspn(path, "/");

		if (len == 2 && memcmp(path, "..", 2) == 0)
			return true;
		path += len + (path[len] == '/');
	}
	return false;
}

const char *
path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

bool
path_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}
