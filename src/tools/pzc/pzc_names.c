/*
 * pzc_names.c - deriving the output's name
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <fcntl.h>
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

/*
 * Returns whether to report a skipped file: named operands are reported, but
 * other types of files in a tree are skipped silently.
 */
static bool
worth_a_word(const struct pzc *p)
{
	return !p->recursive || p->msg.verbose > 0 || p->style->says_all;
}

/* Returns whether path ends with suffix and has something before it. */
static bool
ends_with(const struct pzc *p, const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n > m && path[n - m - 1] != '/' &&
	    (p->style->suffix_any_case ? strcasecmp : strcmp)(path + n - m,
	    suffix) == 0;
}

/*
 * Returns the suffix of path and stores its replacement in *plain, or returns
 * NULL.  If a longer suffix ends with the one given by -S, the longer one is
 * tried first.
 */
static const char *
suffix_of(const struct pzc *p, const char *path, const char **plain)
{
	const struct codec_suffix *s = p->style->suffixes, *found = NULL;
	size_t len = strlen(path), own = 0, known = 0;

	*plain = "";
	if (p->suffix != NULL && ends_with(p, path, p->suffix))
		own = strlen(p->suffix);
	if (s == NULL && codec_by_suffix(path, &found) == NULL)
		found = NULL;
	for (; s != NULL && s->packed != NULL && found == NULL; s++)
		if (ends_with(p, path, s->packed))
			found = s;
	if (found != NULL)
		known = strlen(found->packed);
	if (own >= known)
		return own > 0 ? path + len - own : NULL;
	*plain = found->plain;
	return path + len - known;
}

/*
 * Returns the suffix that indicates that path is already compressed in this
 * format, or NULL.
 */
static const char *
packed_suffix(const struct pzc *p, const char *path, const struct codec *to)
{
	const char *own = p->suffix != NULL ? p->suffix :
	    to->suffixes[0].packed, *plain, *has;
	const struct codec_suffix *s;

	if (p->style->suffix_again)
		return NULL;
	if (ends_with(p, path, own))
		return path + strlen(path) - strlen(own);
	if (p->style->own_suffix_only)
		return NULL;
	if (p->style->suffix_by_format)
		return codec_by_suffix(path, &s) == to ?
		    path + strlen(path) - strlen(s->packed) : NULL;
	has = suffix_of(p, path, &plain);
	return p->style->suffixes != NULL || codec_by_suffix(path, &s) == to ?
	    has : NULL;
}

bool
pzc_has_suffix(struct pzc *p, const char *path)
{
	const char *plain;

	if (suffix_of(p, path, &plain) != NULL)
		return true;
	if (worth_a_word(p))
		pzc_say(p, ON_NO_SUFFIX, path, NULL);
	return false;
}

bool
pzc_is_packed(const struct pzc *p, const char *path)
{
	const char *plain;

	return suffix_of(p, path, &plain) != NULL;
}

char *
pzc_plain_name(const struct pzc *p, const char *path)
{
	const char *plain, *suffix = suffix_of(p, path, &plain);

	return suffix == NULL ? strcopy(path) :
	    concat(path, (size_t)(suffix - path), plain);
}

/*
 * Puts a name into the directory for outputs, which is created, as are those
 * that lead to the file with --output-dir-mirror.  Frees the name.  Returns
 * NULL after reporting the error.
 */
static char *
move_below(struct pzc *p, char *name)
{
	const char *rest = p->out_mirror ? name : path_name(name);
	struct strbuf b = { .data = NULL };

	if (p->out_mirror && (strncmp(name, "../", 3) == 0 ||
	    strstr(name, "/../") != NULL)) {
		msg_error(&p->msg, "%s: its path leads out of %s", name,
		    p->out_dir);
		sys_free(name);
		return NULL;
	}
	while (*rest == '/' || strncmp(rest, "./", 2) == 0)
		rest += *rest == '/' ? 1 : 2;
	strbuf_fmt(&b, "%s/%s", p->out_dir, rest);
	sys_free(name);
	if (b.failed) {
		msg_error(&p->msg, "out of memory");
		return NULL;
	}
	for (char *s = b.data + 1; (s = strchr(s, '/')) != NULL; s++) {
		*s = '\0';
		sys_mkdirat(AT_FDCWD, b.data, 0777);
		*s = '/';
	}
	return b.data;
}

char *
pzc_target_name(struct pzc *p, const char *path, const struct codec *to,
    const char *stored)
{
	const char *slash = strrchr(path, '/'), *has, *plain;
	char *name;

	if (p->exclude && to != NULL && (suffix_of(p, path, &plain) != NULL ||
	    codec_by_suffix(path, &(const struct codec_suffix *){ NULL }) !=
	    NULL)) {
		pzc_say(p, ON_PACKED, path, "");
		return NULL;
	}

	if (p->output != NULL) {
		name = strcopy(p->output);
	} else if (to != NULL) {
		has = packed_suffix(p, path, to);
		if (has != NULL && (!p->force || p->style->suffix_refused)) {
			if (worth_a_word(p))
				pzc_say(p, ON_PACKED, path, has);
			return NULL;
		}
		name = concat(path, strlen(path), p->suffix != NULL ?
		    p->suffix : to->suffixes[0].packed);
	} else if (*stored != '\0' && !path_is_dots(stored)) {
		/* in the directory of the compressed file */
		name = concat(path, slash == NULL ? 0 :
		    (size_t)(slash - path) + 1, stored);
	} else {
		if (p->style->suffix_other != NULL && !pzc_is_packed(p, path)) {
			name = concat(path, strlen(path),
			    p->style->suffix_other);
			if (name != NULL)
				pzc_say(p, ON_NO_SUFFIX, path, name);
		} else if (!pzc_has_suffix(p, path)) {
			return NULL;
		} else {
			name = pzc_plain_name(p, path);
		}
	}
	if (name == NULL)
		msg_error(&p->msg, "out of memory");
	else if (p->out_dir != NULL && p->output == NULL)
		return move_below(p, name);
	return name;
}
