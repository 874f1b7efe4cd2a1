/*
 * json.c - small JSON documents as trees, parsed with yajl
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

/*
 * Returns whether nesting is too deep for the library's recursive free, or the
 * text contains a comment, which could hide deep nesting: JSON does not allow
 * comments, but the library skips them.
 */
static bool
is_deep(const char *text, size_t len)
{
	bool quoted = false;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && c == '/')
			return true;
		else if (!quoted && (c == '[' || c == '{') &&
		    ++depth > DEPTH_MAX)
			return true;
		else if (!quoted && (c == ']' || c == '}'))
			depth--;
	}
	return false;
}

int
json_parse(yajl_val *root, const char *text, size_t len, char why[JSON_WHY])
{
	char error[JSON_WHY / 2] = "";

	*root = NULL;
	if (memchr(text, '\0', len) == NULL && !is_deep(text, len))
		*root = yajl_tree_parse(text, error, sizeof(error));
	if (*root != NULL && YAJL_IS_OBJECT(*root))
		return 0;
	yajl_tree_free(*root);
	*root = NULL;
	error[strcspn(error, "\n")] = '\0';
	snprintf(why, JSON_WHY, "not a JSON object%s%s",
	    *error == '\0' ? "" : ": ", error);
	return -EBADMSG;
}

yajl_val
json_member(yajl_val of, const char *name, yajl_type type)
{
	const char *path[] = { name, NULL };

	return of == NULL ? NULL : yajl_tree_get(of, path, type);
}

const char *
json_text(yajl_val of, const char *name)
{
	yajl_val v = json_member(of, name, yajl_t_string);

	return v == NULL ? NULL : YAJL_GET_STRING(v);
}
