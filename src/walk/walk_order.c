/*
 * walk_order.c - a list of the files whose data comes first
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk/walk_order.h"

#include "base/args.h"
#include "base/array.h"
#include "base/path.h"
#include "base/sys.h"
#include "format/tar/tar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PRIORITY_MIN = -32768, PRIORITY_MAX = 32767 };

enum form { PATHS, TOUCHES, PRIORITIES };

struct key {
	int64_t n;			/* the smallest comes first */
	uint32_t line;
};

struct touch {
	struct key key;			/* comes first, for by_key() */
	struct walk_touch of;
};

struct item {
	struct key key;			/* comes first, for by_key() */
	const char *path;
	uint32_t rank;
	bool found;
};

struct walk_order {
	char *text;
	bool nul;			/* paths end with NUL, not newline */
	enum form form;
	struct item *items;		/* sorted by path, without duplicates */
	size_t count, cap, found;
	struct touch *touches;
	size_t touch_count, touch_cap;
};

/* Parses the text from s to end, which must be a number and nothing else. */
static bool
parse_whole(const char *s, const char *end, int64_t *n)
{
	const char *first = s;

	for (*n = 0; s < end && *s >= '0' && *s <= '9' &&
	    *n < INT64_MAX / 10 - 1; s++)
		*n = 10 * *n + (*s - '0');
	return s == end && s > first;
}

/* Returns whether a line is the heading that touchlog writes. */
static bool
is_heading(const char *line)
{
	return strncmp(line, "order\tpath\t", 11) == 0;
}

/*
 * Finds the path in a touchlog line, and stores its length in *len and the
 * line's numbers in *t.  Splits at the last tabs, because a path may contain
 * tabs.  Returns NULL for any other line.
 */
static char *
parse_touch(char *line, size_t *len, struct touch *t)
{
	char *path = strchr(line, '\t'), *end = strrchr(line, '\t'), *at;
	int64_t offset, length;

	if (path == NULL || !parse_whole(line, path, &t->key.n) ||
	    !parse_whole(end + 1, end + strlen(end), &length))
		return NULL;
	at = memrchr(path, '\t', (size_t)(end - path));
	if (at == NULL || at <= path + 1 || !parse_whole(at + 1, end, &offset))
		return NULL;
	*len = (size_t)(at - ++path);
	t->of.offset = (uint64_t)offset;
	t->of.length = (uint64_t)length;
	return path;
}

/*
 * Returns the start of the priority at the end of a line, and stores its value;
 * NULL if there is none.
 */
static char *
parse_priority(char *line, int64_t *priority)
{
	char *word = line + strlen(line);

	while (word > line && word[-1] != ' ' && word[-1] != '\t')
		word--;
	return word > line && args_int(word, PRIORITY_MIN, PRIORITY_MAX,
	    priority) == 0 ? word : NULL;
}

/* Lines */

static int
add_path(struct walk_order *o, char *path, int64_t n, size_t line)
{
	void *items = o->items;
	int rc = line >= WALK_ORDER_REST - 1 ? -EFBIG :
	    array_grow(&items, o->count, &o->cap, sizeof(*o->items));

	o->items = items;
	if (rc != 0)
		return rc;
	path_clean(path);	/* a path with ".." matches no file */
	o->items[o->count++] = (struct item){ .path = path,
		.key = { n, (uint32_t)line } };
	return 0;
}

/* Adds a line: its path and, unless it is a priority, a part of the file. */
static int
add_order_line(struct walk_order *o, char *s, size_t line)
{
	struct touch t = { .of = { .path = s, .length = UINT64_MAX },
		.key = { (int64_t)line, (uint32_t)line } };
	void *touches = o->touches;
	char *end, *to = s;
	size_t len;
	int rc;

	if (o->form == PRIORITIES) {
		t.key.n = 0;
		end = parse_priority(s, &t.key.n);
		while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
			end--;
		*end = '\0';
		/* each \c is c */
		for (char *from = s; *from != '\0'; *to++ = *from++)
			from += from[0] == '\\' && from[1] != '\0';
		*to = '\0';
		return add_path(o, s, -t.key.n, line);
	}
	if (o->form == TOUCHES) {
		char *path = parse_touch(s, &len, &t);

		if (path == NULL)
			return is_heading(s) ? 0 : -EINVAL;
		path[len] = '\0';
		t.of.path = s = path;
	}
	rc = add_path(o, s, t.key.n, line);
	if (rc != 0)
		return rc;
	rc = array_grow(&touches, o->touch_count, &o->touch_cap,
	    sizeof(*o->touches));
	o->touches = touches;
	if (rc == 0)
		o->touches[o->touch_count++] = t;
	return rc;
}

/*
 * Returns whether a line is a comment; lists with NUL line endings have none.
 */
static bool
is_comment(const struct walk_order *o, const char *line)
{
	return *line == '\0' || (*line == '#' && !o->nul);
}

static enum form
find_form(const struct walk_order *o, char *end)
{
	bool first = true;
	struct touch t;
	int64_t n;
	size_t len;

	for (char *s = o->text; s < end; s += strlen(s) + 1) {
		if (is_comment(o, s))
			continue;
		if (first && (is_heading(s) ||
		    parse_touch(s, &len, &t) != NULL))
			return TOUCHES;
		if (o->nul || parse_priority(s, &n) == NULL)
			return PATHS;
		first = false;
	}
	return first ? PATHS : PRIORITIES;
}

/* Ranks */

/* Compares items, or touches, by the key that they begin with. */
static int
by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int
by_path(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int d = strcmp(x->path, y->path);

	return d != 0 ? d : x->rank < y->rank ? -1 : x->rank > y->rank;
}

int
walk_order_read(struct walk_order **out, char *text, size_t len, bool nul,
    size_t *line)
{
	struct walk_order *o = sys_calloc(1, sizeof(*o));
	char *end = text + len, *next;
	size_t count;
	int rc = 0;

	if (o == NULL) {
		sys_free(text);
		return -ENOMEM;
	}
	o->text = text;
	o->nul = nul;
	*line = 1;
	for (char *s = text; !nul && s < end; s++) {
		if (*s == '\0') {
			rc = -EINVAL;
			goto fail;
		}
		if (*s == '\n') {
			*s = '\0';
			++*line;
		}
	}
	o->form = find_form(o, end);
	*line = 0;
	for (char *s = text; s < end; s = next) {
		next = s + strlen(s) + 1;
		++*line;
		if (is_comment(o, s))
			continue;
		rc = add_order_line(o, s, *line);
		if (rc != 0)
			goto fail;
	}
	*out = o;
	if (o->touch_count > 0)
		qsort(o->touches, o->touch_count, sizeof(*o->touches), by_key);
	if (o->count == 0)
		return 0;
	/* rank the items; a path keeps its first position */
	qsort(o->items, o->count, sizeof(*o->items), by_key);
	for (size_t i = 0; i < o->count; i++) {
		struct item *it = &o->items[i];

		it->rank = (uint32_t)i;
		if (o->form == PRIORITIES && it->key.n >= 0)
			it->rank = WALK_ORDER_REST + (it->key.n == 0 ? 0 :
			    1 + (uint32_t)i);
	}
	qsort(o->items, o->count, sizeof(*o->items), by_path);
	count = o->count;
	o->count = 0;
	for (size_t i = 0; i < count; i++)
		if (o->count == 0 || strcmp(o->items[o->count - 1].path,
		    o->items[i].path) != 0)
			o->items[o->count++] = o->items[i];
	return 0;
fail:
	walk_order_free(o);
	return rc;
}

void
walk_order_free(struct walk_order *o)
{
	if (o == NULL)
		return;
	sys_free(o->text);
	sys_free(o->items);
	sys_free(o->touches);
	sys_free(o);
}

/* Queries */

static struct item *
find_item(const struct walk_order *o, const char *path, size_t len)
{
	size_t lo = 0, hi = o->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const char *here = o->items[mid].path;
		int d = strncmp(here, path, len);

		if (d == 0 && here[len] == '\0')
			return &o->items[mid];
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

uint32_t
walk_order_rank(struct walk_order *o, const char *path)
{
	size_t len = strlen(path);
	struct item *it = find_item(o, path, len);

	while (it == NULL && o->form == PRIORITIES && len > 0) {
		while (len > 0 && path[--len] != '/')
			;
		it = find_item(o, path, len);
	}
	if (it == NULL)
		return WALK_ORDER_REST;
	o->found += !it->found;
	it->found = true;
	return it->rank;
}

bool
walk_order_touch(const struct walk_order *o, size_t i, struct walk_touch *t)
{
	if (i >= o->touch_count)
		return false;
	*t = o->touches[i].of;
	return true;
}

size_t
walk_order_count(const struct walk_order *o)
{
	return o->count;
}

size_t
walk_order_found(const struct walk_order *o)
{
	return o->found;
}

const char *
walk_order_missing(const struct walk_order *o)
{
	for (size_t i = 0; i < o->count; i++)
		if (!o->items[i].found)
			return o->items[i].path;
	return NULL;
}
