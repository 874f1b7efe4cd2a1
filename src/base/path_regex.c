/*
 * path_regex.c - paths as regular expressions, one for each component
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/path_regex.h"

#include "base/strbuf.h"
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

int
path_regex_open(struct path_regex **out, const char *pattern, bool anywhere,
    char why[PATH_REGEX_WHY])
{
	size_t n = components(pattern);
	struct path_regex *r = sys_calloc(1, sizeof(*r) +
	    n * sizeof(regex_t));
	char *text = strcopy(pattern), *s = text;
	int rc = 0;

	*out = r;
	if (text == NULL || r == NULL) {
		sys_free(text);
		return -ENOMEM;
	}
	r->anywhere = anywhere;
	for (; rc == 0 && r->count < n; r->count += rc == 0) {
		size_t len = strcspn(s, "/");

		s[len] = '\0';
		rc = regcomp(&r->parts[r->count], s, REG_EXTENDED | REG_NOSUB);
		s += len + 1;
	}
	if (rc != 0 && rc != REG_ESPACE)
		regerror(rc, NULL, why, PATH_REGEX_WHY);
	sys_free(text);
	return rc == 0 ? 0 : rc == REG_ESPACE ? -ENOMEM : -EINVAL;
}

void
path_regex_close(struct path_regex *r)
{
	for (size_t i = 0; r != NULL && i < r->count; i++)
		regfree(&r->parts[i]);
	sys_free(r);
}

bool
path_regex_match(const struct path_regex *r, const char *path)
{
	size_t n = components(path);
	char name[PATH_REGEX_NAME];

	if (n < r->count || (n > r->count && !r->anywhere))
		return false;
	for (; n > r->count; n--)
		path = strchr(path, '/') + 1;
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
