/*
 * as.c - parsing the options of the programs that sqpack can replace
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"

#include "base/args.h"
#include "base/array.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Not all C libraries have extended patterns; musl does not. */
#ifdef FNM_EXTMATCH
enum { EXTENDED = FNM_EXTMATCH };
#else
enum { EXTENDED = 0 };
#endif

/* Handles the option in w->word.  Returns -1, or the exit status. */
static int
apply_option(struct sqpack *p, struct as_words *w, const struct as_option *o,
    const char *whose)
{
	bool own = o->kind == AS_SET_OWN || o->kind == AS_TEXT_OWN;
	char *member = (own ? (char *)p->o.as : (char *)p) + o->at;

	switch (o->kind) {
	case AS_LACKS:
		msg_error(&p->msg, "sqpack does not support the %s option %s",
		    whose, w->word);
		return MSG_ERROR;
	case AS_SET:
	case AS_SET_OWN: *(bool *)(void *)member = true; break;
	case AS_CLEAR: *(bool *)(void *)member = false; break;
	case AS_TEXT:
	case AS_TEXT_OWN: *(const char **)(void *)member = w->value; break;
	case AS_CALL:
	case AS_CALL_VALUE: return o->call(p, w);
	default: break;			/* accepted and ignored */
	}
	return -1;
}

int
as_parse(struct sqpack *p, struct as_words *w, const struct as_option *options,
    const char *usage, const char *whose)
{
	int status = -1;

	while (status < 0 && w->at < w->argc && w->argv[w->at][0] == '-') {
		const struct as_option *o = options;

		w->word = w->argv[w->at++];
		w->value = NULL;
		while (o->name != NULL && strcmp(o->name, w->word) != 0 &&
		    (o->alias == NULL || strcmp(o->alias, w->word) != 0))
			o++;
		if (o->name == NULL) {
			msg_error(&p->msg, "invalid option %s", w->word);
			return options_usage(usage);
		}
		if (o->kind >= AS_VALUE && w->at == w->argc) {
			msg_error(&p->msg, "%s requires a value", w->word);
			return options_usage(usage);
		}
		if (o->kind >= AS_VALUE)
			w->value = w->argv[w->at++];
		status = apply_option(p, w, o, whose);
	}
	return status;
}

void
as_version(const char *program)
{
	printf("%s version 4.7.5 (2026/03/01)\n"
	    "This is sqpack (coldpress) %s, standing in for it.\n", program,
	    COLDPRESS_VERSION);
	fflush(stdout);
}

/*
 * Parses one part of a symbolic mode, [ugoa]*([-+=][rwxXst]*|[ugo])+, and
 * applies it.  Returns the end, or NULL.
 */
static const char *
apply_symbols(const char *s, uint16_t *mode)
{
	static const struct { char letter; uint16_t mask; } whom[] = {
		{ 'u', 04700 }, { 'g', 02070 }, { 'o', 01007 }, { 'a', 07777 }
	}, bits[] = { { 'r', 0444 }, { 'w', 0222 }, { 'x', 0111 },
		{ 's', 06000 }, { 't', 01000 } };
	uint16_t mask = 0;
	char op;

	for (size_t i = 0; i < 4; i++)
		if (*s == whom[i].letter) {
			mask |= whom[i].mask;
			s++;
			i = SIZE_MAX;	/* from the start, for the next */
		}
	/* mksquashfs does not give everybody the special bits */
	if (mask == 0)
		mask = 0777;
	if (*s == '\0' || strchr("+-=", *s) == NULL)
		return NULL;
	while (*s != '\0' && *s != ',') {
		uint16_t value = 0;

		op = *s++;
		if (strchr("+-=", op) == NULL)
			return NULL;
		if (*s == 'u' || *s == 'g' || *s == 'o') {
			value = (*mode >> (*s == 'u' ? 6 : *s == 'g' ? 3 : 0)) &
			    07;
			value = (uint16_t)(value * 0111);
			s++;
		}
		for (; *s != '\0' && strchr("rwxXst", *s) != NULL; s++) {
			for (size_t i = 0; i < 5; i++)
				if (*s == bits[i].letter)
					value |= bits[i].mask;
			if (*s == 'X' && (S_ISDIR(*mode) ||
			    (*mode & 0111) != 0))
				value |= 0111;
		}
		value &= mask;
		if (op == '=')
			*mode = (uint16_t)((*mode & ~mask) | value);
		else if (op == '+')
			*mode |= value;
		else
			*mode = (uint16_t)(*mode & ~value);
	}
	return s;
}

bool
as_mode_apply(const char *text, uint16_t *mode)
{
	char *end;
	unsigned long octal = strtoul(text, &end, 8);

	if (*text >= '0' && *text <= '7') {
		if (*end != '\0' || octal > 07777)
			return false;
		*mode = (uint16_t)((*mode & S_IFMT) | octal);
		return true;
	}
	while (text != NULL && *text != '\0') {
		text = apply_symbols(text, mode);
		if (text != NULL && *text == ',')
			text++;
		else
			return text != NULL;
	}
	return false;
}

bool
as_number(struct msg *m, const struct as_words *w, int64_t lo, int64_t hi,
    int64_t *n)
{
	if (args_int(w->value, lo, hi, n) == 0)
		return true;
	msg_error(m, "%s: expected a number in %lld..%lld, found '%s'",
	    w->word, (long long)lo, (long long)hi, w->value);
	return false;
}

int
as_offset(struct sqpack *p, const struct as_words *w, uint64_t *offset)
{
	if (args_size(w->value, offset) == 0 && *offset <= INT64_MAX)
		return -1;
	msg_error(&p->msg, "%s: expected a number of bytes, found '%s'",
	    w->word, w->value);
	return MSG_ERROR;
}

int
as_threads(struct sqpack *p, const struct as_words *w)
{
	int64_t n;

	if (!as_number(&p->msg, w, 1, AS_THREADS_MAX, &n))
		return MSG_ERROR;
	p->o.data.threads = (unsigned)n;
	return -1;
}

int
as_xattr_regex(struct sqpack *p, const struct as_words *w,
    struct path_regex **regex)
{
	char why[PATH_REGEX_WHY] = "";
	int rc;

	path_regex_close(*regex);
	*regex = NULL;
	rc = path_regex_open(regex, w->value, false, why);
	if (rc == 0)
		return -1;
	msg_error(&p->msg, "%s: '%s': %s", w->word, w->value, rc == -EINVAL ?
	    why : strerror(-rc));
	return MSG_ERROR;
}

bool
as_wants_xattr(const struct path_regex *in, const struct path_regex *out,
    const char *name)
{
	return (out == NULL || !path_regex_match(out, name)) &&
	    (in == NULL || path_regex_match(in, name));
}

int
as_texts_add(struct sqpack *p, struct as_texts *t, const char *text,
    size_t len)
{
	void *items = t->items;
	char *copy = strcopy_part(text, len);
	int rc = copy == NULL ? -ENOMEM : array_grow(&items, t->count, &t->cap,
	    sizeof(*t->items));

	t->items = items;
	if (rc != 0) {
		sys_free(copy);
		msg_error(&p->msg, "%s", strerror(-rc));
		return rc;
	}
	t->items[t->count++] = copy;
	return 0;
}

void
as_texts_free(struct as_texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		sys_free(t->items[i]);
	sys_free(t->items);
}

static size_t
slashes(const char *path)
{
	size_t n = 0;

	while ((path = strchr(path, '/')) != NULL) {
		path++;
		n++;
	}
	return n;
}

bool
as_matches(const char *pattern, const char *path)
{
	/* !(...) would also match a slash */
	return slashes(pattern) == slashes(path) && fnmatch(pattern, path,
	    FNM_PATHNAME | FNM_PERIOD | EXTENDED) == 0;
}

bool
as_can_match(struct msg *m, const char *pattern)
{
	for (const char *s = pattern; EXTENDED == 0 &&
	    (s = strchr(s, '(')) != NULL; s++)
		if (s > pattern && strchr("?*+@!", s[-1]) != NULL) {
			msg_error(m, "'%s': this C library cannot match "
			    "extended patterns such as !(a|b)", pattern);
			return false;
		}
	return true;
}

int
as_lines(struct sqpack *p, struct as_texts *t, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	int rc = 0;

	if (f == NULL) {
		rc = -errno;
		msg_error(&p->msg, "%s: %s", path, strerror(-rc));
		return rc;
	}
	while (rc == 0 && getline(&line, &cap, f) != -1) {
		const char *text = line + strspn(line, " \t");
		size_t len = strcspn(text, "\n");

		if (len > 0 && *text != '#')
			rc = as_texts_add(p, t, text, len);
	}
	if (rc == 0 && ferror(f)) {
		rc = -EIO;
		msg_error(&p->msg, "%s: %s", path, strerror(-rc));
	}
	free(line);
	fclose(f);
	return rc;
}
