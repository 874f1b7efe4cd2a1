/*
 * walk_order.c - a list of the files whose data comes first
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "order_line.h"

#include "base/array.h"
#include "base/path.h"
#include "base/sys.h"
#include "format/tar/tar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum form { PATHS, TOUCHES, PRIORITIES };

struct item {
	const char *path;
	int64_t key;			/* the smallest comes first */
	uint32_t line, rank;
	bool found;
};

struct walk_order {
	char *text;
	bool nul;			/* paths end with NUL, not newline */
	enum form form;
	struct item *items;		/* sorted by path, without duplicates */
	size_t count, cap, found;
	struct order_touch *touches;
	size_t touch_count, touch_cap;
};

/* Lines */

static int
add(struct walk_order *o, char *path, int64_t key, size_t line)
{
	void *items = o->items;
	int rc = line >= WALK_ORDER_REST - 1 ? -EFBIG :
	    array_grow(&items, o->count, &o->cap, sizeof(*o->items));

	o->items = items;
	if (rc != 0)
		return rc;
	path_clean(path);	/* a path with ".." matches no file */
	o->items[o->count++] = (struct item){ .path = path, .key = key,
		.line = (uint32_t)line };
	return 0;
}

/* Adds a part of a file, whose path add() has cleaned. */
static int
add_part(struct walk_order *o, const struct order_touch *t)
{
	void *touches = o->touches;
	int rc = array_grow(&touches, o->touch_count, &o->touch_cap,
	    sizeof(*o->touches));

	o->touches = touches;
	if (rc == 0)
		o->touches[o->touch_count++] = *t;
	return rc;
}

static int
add_touch(struct walk_order *o, char *line, size_t number)
{
	struct order_touch t = { .line = number };
	size_t len;
	char *path = order_touch(line, &len, &t);
	int rc;

	if (path == NULL)
		return order_is_heading(line) ? 0 : -EINVAL;
	path[len] = '\0';
	t.of.path = path;
	rc = add(o, path, t.key, number);
	return rc != 0 ? rc : add_part(o, &t);
}

static int
add_path(struct walk_order *o, char *path, size_t number)
{
	int rc = add(o, path, (int64_t)number, number);

	return rc != 0 ? rc : add_part(o, &(struct order_touch){ .of = { .path =
	    path, .length = UINT64_MAX }, .key = (int64_t)number,
	    .line = number });
}

static int
add_priority(struct walk_order *o, char *line, size_t number)
{
	int64_t key = 0;
	char *end = order_priority(line, &key);

	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	order_unescape(line);
	return add(o, line, -key, number);
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
	struct order_touch t;
	int64_t n;
	size_t len;

	for (char *s = o->text; s < end; s += strlen(s) + 1) {
		if (is_comment(o, s))
			continue;
		if (first && (order_is_heading(s) || order_touch(s, &len, &t) != NULL))
			return TOUCHES;
		if (o->nul || order_priority(s, &n) == NULL)
			return PATHS;
		first = false;
	}
	return first ? PATHS : PRIORITIES;
}

static int
take_lines(struct walk_order *o, char *end, size_t *line)
{
	int rc = 0;
	char *next;

	*line = 0;
	for (char *s = o->text; rc == 0 && s < end; s = next) {
		next = s + strlen(s) + 1;
		++*line;
		if (is_comment(o, s))
			continue;
		rc = o->form == TOUCHES ? add_touch(o, s, *line) :
		    o->form == PRIORITIES ? add_priority(o, s, *line) :
		    add_path(o, s, *line);
	}
	return rc;
}

/* Ranks */

static int
by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int
by_touch(const void *a, const void *b)
{
	const struct order_touch *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int
by_path(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int d = strcmp(x->path, y->path);

	return d != 0 ? d : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Ranks the items; a path keeps its first position. */
static void
rank_all(struct walk_order *o)
{
	size_t kept = 0;

	qsort(o->items, o->count, sizeof(*o->items), by_key);
	for (size_t i = 0; i < o->count; i++) {
		struct item *it = &o->items[i];

		it->rank = (uint32_t)i;
		if (o->form == PRIORITIES && it->key >= 0)
			it->rank = WALK_ORDER_REST + (it->key == 0 ? 0 :
			    1 + (uint32_t)i);
	}
	qsort(o->items, o->count, sizeof(*o->items), by_path);
	for (size_t i = 0; i < o->count; i++)
		if (kept == 0 || strcmp(o->items[kept - 1].path,
		    o->items[i].path) != 0)
			o->items[kept++] = o->items[i];
	o->count = kept;
}

/* Terminates each line with a NUL; a line that contains one is an error. */
static int
cut_lines(char *text, const char *end, size_t *line)
{
	*line = 1;
	for (char *s = text; s < end; s++) {
		if (*s == '\0')
			return -EINVAL;
		if (*s == '\n') {
			*s = '\0';
			++*line;
		}
	}
	return 0;
}

int
walk_order_read(struct walk_order **out, char *text, size_t len, bool nul,
    size_t *line)
{
	struct walk_order *o = sys_calloc(1, sizeof(*o));
	int rc = 0;

	if (o == NULL) {
		sys_free(text);
		return -ENOMEM;
	}
	o->text = text;
	o->nul = nul;
	if (!nul)
		rc = cut_lines(text, text + len, line);
	if (rc == 0) {
		o->form = find_form(o, text + len);
		rc = take_lines(o, text + len, line);
	}
	if (rc != 0) {
		walk_order_free(o);
		return rc;
	}
	if (o->count > 0)
		rank_all(o);
	if (o->touch_count > 0)
		qsort(o->touches, o->touch_count, sizeof(*o->touches),
		    by_touch);
	*out = o;
	return 0;
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
find(const struct walk_order *o, const char *path, size_t len)
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
	struct item *it = find(o, path, len);

	while (it == NULL && o->form == PRIORITIES && len > 0) {
		while (len > 0 && path[--len] != '/')
			;
		it = find(o, path, len);
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
