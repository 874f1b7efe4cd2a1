/*
 * order_line.c - parsing the lines of an order list
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "order_line.h"

#include "base/args.h"

#include <string.h>

enum { PRIORITY_MIN = -32768, PRIORITY_MAX = 32767 };

/* Parses the text from s to end, which must be a number and nothing else. */
static bool
take_number(const char *s, const char *end, int64_t *n)
{
	const char *first = s;

	for (*n = 0; s < end && *s >= '0' && *s <= '9' &&
	    *n < INT64_MAX / 10 - 1; s++)
		*n = 10 * *n + (*s - '0');
	return s == end && s > first;
}

/* Splits at the last tabs, because a path may contain tabs. */
char *
order_touch(char *line, size_t *len, struct order_touch *t)
{
	char *path = strchr(line, '\t'), *end = strrchr(line, '\t'), *at;
	int64_t offset, length;

	if (path == NULL || !take_number(line, path, &t->key) ||
	    !take_number(end + 1, end + strlen(end), &length))
		return NULL;
	at = memrchr(path, '\t', (size_t)(end - path));
	if (at == NULL || at <= path + 1 || !take_number(at + 1, end, &offset))
		return NULL;
	*len = (size_t)(at - ++path);
	t->of.offset = (uint64_t)offset;
	t->of.length = (uint64_t)length;
	return path;
}

bool
order_is_heading(const char *line)
{
	return strncmp(line, "order\tpath\t", 11) == 0;
}

char *
order_priority(char *line, int64_t *priority)
{
	char *word = line + strlen(line);

	while (word > line && word[-1] != ' ' && word[-1] != '\t')
		word--;
	return word > line && args_int(word, PRIORITY_MIN, PRIORITY_MAX,
	    priority) == 0 ? word : NULL;
}

void
order_unescape(char *s)
{
	char *to = s;

	for (; *s != '\0'; *to++ = *s++)
		s += s[0] == '\\' && s[1] != '\0';
	*to = '\0';
}
