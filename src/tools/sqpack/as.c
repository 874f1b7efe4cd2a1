/*
 * as.c - parsing the options of the programs that sqpack can replace
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"

#include "base/args.h"
#include "base/array.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not all C libraries have extended patterns; musl does not. */
#ifdef FNM_EXTMATCH
enum { EXTENDED = FNM_EXTMATCH };
#else
enum { EXTENDED = 0 };
#endif

int
as_next(struct msg *m, struct as_words *w, const struct as_option *options)
{
	const struct as_option *o = options;

	if (w->at == w->argc || w->argv[w->at][0] != '-')
		return AS_END;
	w->word = w->argv[w->at++];
	w->value = NULL;
	while (o->name != NULL && strcmp(o->name, w->word) != 0 &&
	    (o->alias == NULL || strcmp(o->alias, w->word) != 0))
		o++;
	if (o->name == NULL) {
		msg_error(m, "invalid option %s", w->word);
		return AS_WRONG;
	}
	if (o->has_value && w->at == w->argc) {
		msg_error(m, "%s requires a value", w->word);
		return AS_WRONG;
	}
	if (o->has_value)
		w->value = w->argv[w->at++];
	return o->id;
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
as_lacks(struct msg *m, const char *word, const char *whose)
{
	msg_error(m, "sqpack does not support the %s option %s", whose,
	    word);
	return MSG_ERROR;
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
