/*
 * flatjson.c - parsing a JSON object without nested objects
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/flatjson.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void
skip_blanks(struct flatjson *j)
{
	while (j->at < j->end && strchr(" \t\r\n", *j->at) != NULL &&
	    *j->at != '\0')
		j->at++;
}

/* Skips blanks and then the character c. */
static bool
skip_char(struct flatjson *j, char c)
{
	skip_blanks(j);
	if (j->at == j->end || *j->at != c)
		return false;
	j->at++;
	return true;
}

static bool
skip_string(struct flatjson *j, const char **s, size_t *len)
{
	if (!skip_char(j, '"'))
		return false;
	*s = j->at;
	while (j->at < j->end && *j->at != '"')
		j->at += *j->at == '\\' && j->at + 1 < j->end ? 2 : 1;
	if (j->at == j->end)
		return false;
	*len = (size_t)(j->at++ - *s);
	return true;
}

int
flatjson_open(struct flatjson *j, const char *text, size_t len)
{
	*j = (struct flatjson){ .at = text, .end = text + len, .first = true };
	return skip_char(j, '{') ? 0 : -EINVAL;
}

int
flatjson_next(struct flatjson *j)
{
	const char *s;
	char word[48], *end;
	size_t len, n = 0;

	if (skip_char(j, '}')) {
		skip_blanks(j);
		return j->at == j->end ? 0 : -EINVAL;
	}
	if (!j->first && !skip_char(j, ','))
		return -EINVAL;
	j->first = false;
	j->is_number = false;
	if (!skip_string(j, &j->name, &j->name_len) || !skip_char(j, ':'))
		return -EINVAL;
	skip_blanks(j);
	if (j->at < j->end && *j->at == '"')
		return skip_string(j, &s, &len) ? 1 : -EINVAL;
	/* a number, true, false or null */
	while (j->at < j->end && strchr(",} \t\r\n", *j->at) == NULL) {
		if (n == sizeof(word) - 1)
			return -EINVAL;
		word[n++] = *j->at++;
	}
	word[n] = '\0';
	/* strtod also accepts inf, nan and hexadecimal numbers */
	if (n > 0 && strspn(word, "+-.0123456789eE") == n && word[0] != '+') {
		j->number = strtod(word, &end);
		j->is_number = *end == '\0';
		return j->is_number ? 1 : -EINVAL;
	}
	return strcmp(word, "true") == 0 || strcmp(word, "false") == 0 ||
	    strcmp(word, "null") == 0 ? 1 : -EINVAL;
}
