/*
 * coldwalk_list.c - reading the list of files to be read
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "coldwalk.h"

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

static void
add_line(struct coldwalk *c, char *s)
{
	struct walk_range r = { 0, 0 };

	if (c->o.ranges && !coldwalk_parse_range(s, &s, &r)) {
		msg_error(&c->msg, "%s: expected a number, path, offset and "
		    "length, separated by tabs; found '%s'",
		    c->o.files_from, s);
		return;
	}
	/* outside the tree, or its root */
	if (path_clean(s) != 0 || *s == '\0') {
		msg_error(&c->msg, "%s: '%s' is not a path inside a tree",
		    c->o.files_from, s);
		return;
	}
	if (c->o.ranges)
		c->ranges[c->only_count] = r;
	c->only[c->only_count++] = s;
}

static int
split_list(struct coldwalk *c, size_t len)
{
	char end = c->o.null_lines ? '\0' : '\n';
	char *s = c->only_text, *stop = s + len;
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
	while (s < stop) {
		char *next = memchr(s, end, (size_t)(stop - s));

		next = next == NULL ? stop : next;
		*next = '\0';
		if (strlen(s) != (size_t)(next - s)) {
			msg_error(&c->msg, "%s: a name contains NUL (did you "
			    "mean -0?)",
			    c->o.files_from);
			return -EINVAL;
		}
		if (*s != '\0')
			add_line(c, s);
		s = next + 1;
	}
	return 0;
}

static void
sort_list(struct coldwalk *c)
{
	size_t n = 0;

	if (c->only_count == 0)
		return;
	qsort(c->only, c->only_count, sizeof(*c->only), by_list_name);
	for (size_t i = 0; i < c->only_count; i++)
		if (n == 0 || strcmp(c->only[n - 1], c->only[i]) != 0)
			c->only[n++] = c->only[i];
	c->only_count = n;
}

int
coldwalk_read_list(struct coldwalk *c)
{
	const char *name = c->o.files_from;
	bool in = strcmp(name, "-") == 0;
	int fd = in ? STDIN_FILENO : sys_openat(AT_FDCWD, name,
	    O_RDONLY | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : 0;
	size_t len = 0;

	if (rc == 0)
		rc = fdio_read_all(fd, LIST_MAX, &c->only_text, &len);
	if (fd >= 0 && !in)
		sys_close(fd);
	if (rc == 0)
		rc = split_list(c, len);
	if (rc == 0 && c->o.ranges)
		rc = coldwalk_sort_ranges(c);
	else if (rc == 0)
		sort_list(c);
	if (rc != 0 && rc != -EINVAL)
		msg_error(&c->msg, "%s: %s", in ? "standard input" : name,
		    strerror(-rc));
	return rc;
}
