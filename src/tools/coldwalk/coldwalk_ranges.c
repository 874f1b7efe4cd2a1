/*
 * coldwalk_ranges.c - parsing and sorting lists of file ranges
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "coldwalk.h"

#include "base/args.h"
#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct part {
	const char *name;
	struct walk_range range;
};

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

bool
coldwalk_parse_range(char *line, char **path, struct walk_range *r)
{
	char *tab = strchr(line, '\t');
	size_t digits = strspn(line, "0123456789");

	if (tab == NULL || digits == 0 || line + digits != tab)
		return false;
	*path = tab + 1;
	return cut_number(tab + 1, &r->len) && cut_number(tab + 1, &r->offset);
}

static int
by_part_place(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c != 0 ? c : (x->range.offset > y->range.offset) -
	    (x->range.offset < y->range.offset);
}

int
coldwalk_sort_ranges(struct coldwalk *c)
{
	size_t count = c->only_count, n = 0;
	struct part *parts = sys_calloc(count + 1, sizeof(*parts));

	if (parts == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		parts[i] = (struct part){ c->only[i], c->ranges[i] };
	qsort(parts, count, sizeof(*parts), by_part_place);
	for (size_t i = 0; i < count; i++) {
		if (n == 0 || strcmp(c->only[n - 1], parts[i].name) != 0)
			c->only[n++] = parts[i].name;
		c->ranges[i] = parts[i].range;
		c->range_ends[n - 1] = i + 1;
	}
	c->only_count = n;
	sys_free(parts);
	return 0;
}
