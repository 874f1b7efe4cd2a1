/*
 * path_regex.c - paths as regular expressions, one for each component
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/path_regex.h"

#include "base/sys.h"

#include <errno.h>
#include <regex.h>
#include <string.h>

struct path_regex {
	bool anywhere;
	size_t count;
	regex_t parts[];		/* one per component */
};

static size_t
components(const char *path)
{
	size_t n = 1;

	while ((path = strchr(path, '/')) != NULL) {
		path++;
		n++;
	}
	return n;
}

/* Splits text at its slashes, and compiles each component. */
static int
compile(struct path_regex *r, char *text, char why[PATH_REGEX_WHY])
{
	for (size_t n = components(text); r->count < n; r->count++) {
		size_t len = strcspn(text, "/");
		int rc;

		text[len] = '\0';
		rc = regcomp(&r->parts[r->count], text,
		    REG_EXTENDED | REG_NOSUB);
		if (rc == REG_ESPACE)
			return -ENOMEM;
		if (rc != 0) {
			regerror(rc, NULL, why, PATH_REGEX_WHY);
			return -EINVAL;
		}
		text += len + 1;
	}
	return 0;
}

int
path_regex_open(struct path_regex **r, const char *pattern, bool anywhere,
    char why[PATH_REGEX_WHY])
{
	char *text = sys_malloc(strlen(pattern) + 1);
	int rc;

	*r = sys_calloc(1, sizeof(**r) +
	    components(pattern) * sizeof(regex_t));
	if (text == NULL || *r == NULL) {
		sys_free(text);
		return -ENOMEM;
	}
	strcpy(text, pattern);
	(*r)->anywhere = anywhere;
	rc = compile(*r, text, why);
	sys_free(text);
	return rc;
}

void
path_regex_close(struct path_regex *r)
{
	for (size_t i = 0; r != NULL && i < r->count; i++)
		regfree(&r->parts[i]);
	sys_free(r);
}

/* Returns whether a path with the same number of components matches. */
static bool
matches(const struct path_regex *r, const char *path)
{
	char name[PATH_REGEX_NAME];

	for (size_t i = 0; i < r->count; i++) {
		size_t len = strcspn(path, "/");

		if (len >= sizeof(name))
			return false;
		memcpy(name, path, len);
		name[len] = '\0';
		if (regexec(&r->parts[i], name, 0, NULL, 0) != 0)
			return false;
		path += len + 1;
	}
	return true;
}

bool
path_regex_match(const struct path_regex *r, const char *path)
{
	size_t n = components(path);

	if (n < r->count || (n > r->count && !r->anywhere))
		return false;
	for (; n > r->count; n--)
		path = strchr(path, '/') + 1;
	return matches(r, path);
}
