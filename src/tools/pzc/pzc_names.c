/*
 * pzc_names.c - what the output of a file is called
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "base/sys.h"

#include <string.h>

static char *
concat(const char *a, size_t len, const char *b)
{
	char *s = sys_malloc(len + strlen(b) + 1);

	if (s != NULL) {
		memcpy(s, a, len);
		strcpy(s + len, b);
	}
	return s;
}

/* In a tree most files may be of no interest; one that is named is. */
static bool
worth_a_word(const struct pzc *p)
{
	return !p->recursive || p->msg.verbose > 0;
}

/* Whether path ends with suffix, behind something. */
static bool
ends_with(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n > m && path[n - m - 1] != '/' &&
	    strcmp(path + n - m, suffix) == 0;
}

/* NULL and no word said: there is no memory. */
static char *
packed_name(struct pzc *p, const char *path, const struct codec *to,
    bool *said)
{
	const struct codec_suffix *s;
	const char *has = NULL;

	if (p->suffix != NULL && ends_with(path, p->suffix))
		has = p->suffix;
	else if (codec_by_suffix(path, &s) == to)
		has = s->packed;
	if (has == NULL || p->force)
		return concat(path, strlen(path), p->suffix != NULL ?
		    p->suffix : to->suffixes[0].packed);
	if (worth_a_word(p))
		msg_warn(&p->msg, "%s already has %s suffix -- unchanged",
		    path, has);
	*said = true;
	return NULL;
}

static bool
is_file_name(const char *s)
{
	return *s != '\0' && strcmp(s, ".") != 0 && strcmp(s, "..") != 0;
}

/* The name that the header has, beside the packed file. */
static char *
restored_name(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return concat(path, slash == NULL ? 0 : (size_t)(slash - path) + 1,
	    name);
}

/* Length of what is left of path without its suffix, or 0 without one. */
static size_t
without_suffix(const struct pzc *p, const char *path, const char **plain)
{
	const struct codec_suffix *s;
	size_t len = strlen(path);

	*plain = "";
	if (p->suffix != NULL && ends_with(path, p->suffix))
		return len - strlen(p->suffix);
	if (codec_by_suffix(path, &s) == NULL)
		return 0;
	*plain = s->plain;
	return len - strlen(s->packed);
}

bool
pzc_has_suffix(struct pzc *p, const char *path)
{
	const char *plain;

	if (without_suffix(p, path, &plain) > 0)
		return true;
	if (worth_a_word(p))
		msg_warn(&p->msg, "%s: unknown suffix -- ignored", path);
	return false;
}

static char *
plain_name(struct pzc *p, const char *path, bool *said)
{
	const char *plain;
	size_t n;

	*said = !pzc_has_suffix(p, path);
	if (*said)
		return NULL;
	n = without_suffix(p, path, &plain);
	return concat(path, n, plain);
}

char *
pzc_target_name(struct pzc *p, const char *path, const struct codec *to,
    const char *stored)
{
	bool said = false;
	char *name;

	if (p->output != NULL)
		name = concat(p->output, strlen(p->output), "");
	else if (to != NULL)
		name = packed_name(p, path, to, &said);
	else if (is_file_name(stored))
		name = restored_name(path, stored);
	else
		name = plain_name(p, path, &said);
	if (name == NULL && !said)
		msg_error(&p->msg, "out of memory");
	return name;
}
