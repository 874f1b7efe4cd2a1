/*
 * coldwalk_list.c - reading the list of files to be read
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "coldwalk.h"

#include "base/args.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 1 << 30 };	/* maximum size */

static int
by_list_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Removes a number, preceded by a tab, from the end of a line. */
static bool
cut_number(char *line, uint64_t *value)
{
	char *tab = strrchr(line, '\t');
	int64_t n = 0;

	if (tab == NULL || args_int(tab + 1, 0, INT64_MAX, &n) != 0)
		return false;
	*tab = '\0';
	*value = (uint64_t)n;
	return true;
}

/*
 * Adds the lines of the text, which is modified.  Lines of a list with ranges
 * have an order, path, offset_B and length_B, separated by tabs.
 */
static int
add_lines(struct coldwalk *c, size_t len)
{
	char end = c->o.null_lines ? '\0' : '\n';
	char *s = c->only_text, *stop = s + len, *next;
	size_t lines = 1;

	for (size_t i = 0; i < len; i++)
		lines += s[i] == end;
	c->only = sys_calloc(lines, sizeof(*c->only));
	if (c->o.ranges) {
		c->ranges = sys_calloc(lines, sizeof(*c->ranges));
		c->range_ends = sys_calloc(lines, sizeof(*c->range_ends));
	}
	if (c->only == NULL || (c->o.ranges && (c->ranges == NULL ||
	    c->range_ends == NULL)))
		return -ENOMEM;
	for (; s < stop; s = next + 1) {
		struct walk_range r = { 0, 0 };
		char *path = s;

		next = memchr(s, end, (size_t)(stop - s));
		next = next == NULL ? stop : next;
		*next = '\0';
		if (strlen(s) != (size_t)(next - s)) {
			msg_error(&c->msg, "%s: a name contains NUL (did you "
			    "mean -0?)", c->o.files_from);
			return -EINVAL;
		}
		if (*s == '\0')
			continue;
		if (c->o.ranges) {
			size_t digits = strspn(s, "0123456789");

			if (digits > 0 && s[digits] == '\t')
				path = s + digits + 1;
			if (path == s || !cut_number(path, &r.len) ||
			    !cut_number(path, &r.offset)) {
				msg_error(&c->msg, "%s: expected a number, "
				    "path, offset and length, separated by "
				    "tabs; found '%s'", c->o.files_from, path);
				continue;
			}
			c->ranges[c->only_count] = r;
		}
		/* outside the tree, or its root */
		if (path_clean(path) != 0 || *path == '\0') {
			msg_error(&c->msg, "%s: '%s' is not a path inside a "
			    "tree", c->o.files_from, path);
			continue;
		}
		c->only[c->only_count++] = path;
	}
	return 0;
}

struct part {
	const char *name;
	struct walk_range range;
};

static int
by_name_and_offset(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c != 0 ? c : (x->range.offset > y->range.offset) -
	    (x->range.offset < y->range.offset);
}

int
coldwalk_read_list(struct coldwalk *c)
{
	const char *name = c->o.files_from;
	bool in = strcmp(name, "-") == 0;
	int fd = in ? STDIN_FILENO : sys_openat(AT_FDCWD, name,
	    O_RDONLY | O_CLOEXEC, 0);
	struct part *parts;
	size_t len = 0, n = 0;
	int rc = fd < 0 ? fd :
	    fdio_read_all(fd, LIST_MAX, &c->only_text, &len);
	if (fd >= 0 && !in)
		sys_close(fd);
	if (rc == 0)
		rc = add_lines(c, len);
	if (rc == 0 && c->o.ranges) {
		/* sort the names, and merge equal ones with all their ranges */
		parts = sys_calloc(c->only_count + 1, sizeof(*parts));
		if (parts == NULL) {
			rc = -ENOMEM;
			goto out;
		}
		for (size_t i = 0; i < c->only_count; i++)
			parts[i] = (struct part){ c->only[i], c->ranges[i] };
		qsort(parts, c->only_count, sizeof(*parts),
		    by_name_and_offset);
		for (size_t i = 0; i < c->only_count; i++) {
			if (n == 0 ||
			    strcmp(c->only[n - 1], parts[i].name) != 0)
				c->only[n++] = parts[i].name;
			c->ranges[i] = parts[i].range;
			c->range_ends[n - 1] = i + 1;
		}
		c->only_count = n;
		sys_free(parts);
	} else if (rc == 0 && c->only_count > 0) {
		qsort(c->only, c->only_count, sizeof(*c->only), by_list_name);
		for (size_t i = 0; i < c->only_count; i++)
			if (n == 0 || strcmp(c->only[n - 1], c->only[i]) != 0)
				c->only[n++] = c->only[i];
		c->only_count = n;
	}
out:
	if (rc != 0 && rc != -EINVAL)
		msg_error(&c->msg, "%s: %s", in ? "standard input" : name,
		    strerror(-rc));
	return rc;
}
