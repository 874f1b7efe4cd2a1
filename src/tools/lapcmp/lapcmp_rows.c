/*
 * lapcmp_rows.c - the runs that are compared
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lapcmp.h"

#include "base/array.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Looks up or adds a string of len bytes.  Returns 0 or -ENOMEM. */
static int
intern(struct cmp_names *n, const char *s, size_t len, uint32_t *number)
{
	void *more = n->text;
	char *copy;

	/* Equal texts are adjacent or alternate, so search backwards. */
	for (uint32_t i = n->count; i-- > 0;)
		if (strlen(n->text[i]) == len &&
		    memcmp(n->text[i], s, len) == 0) {
			*number = i;
			return 0;
		}
	if (array_grow(&more, n->count, &n->room, sizeof(*n->text)) != 0)
		return -ENOMEM;
	n->text = more;
	copy = strcopy_part(s, len);
	if (copy == NULL)
		return -ENOMEM;
	n->text[n->count] = copy;
	*number = n->count++;
	return 0;
}

/* Returns whether the name in a pair "key=val" is in the list "a,b". */
static bool
in_list(const char *pair, const char *list)
{
	size_t len = strcspn(pair, "=;");

	for (;; list++) {
		size_t n = strcspn(list, ",");

		if (n == len && strncmp(list, pair, len) == 0)
			return true;
		list += n;
		if (*list == '\0')
			return false;
	}
}

/* Builds the group's name from the requested keys: "cache=cold;key=val;...". */
static int
group_of(struct cmp *c, const struct runs_run *r, uint32_t *number)
{
	const char *keys = r->keys, *cache = r->cache;
	char *group = sys_malloc(strlen(keys) + strlen(cache) + 16), *s;
	int rc;

	if (group == NULL)
		return -ENOMEM;
	s = group;
	if (*cache != '\0' && (c->o.keys == NULL ||
	    in_list("cache=", c->o.keys)))
		s += sprintf(s, "cache=%s;", cache);
	while (*keys != '\0') {
		size_t n = strcspn(keys, ";");

		if (c->o.keys == NULL || in_list(keys, c->o.keys))
			s += sprintf(s, "%.*s;", (int)n, keys);
		keys += n;
		keys += *keys == ';';
	}
	rc = intern(&c->rows.groups, group,
	    (size_t)(s - group) - (s > group), number);
	sys_free(group);
	return rc;
}

/* Records the lowest index of a label among the commands of an invocation. */
static int
note_cell(struct cmp_rows *rows, const struct cmp_row *row)
{
	if (rows->cells_room < rows->labels.room) {
		int64_t *more = sys_realloc(rows->cells,
		    rows->labels.room * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		for (size_t i = rows->cells_room; i < rows->labels.room; i++)
			more[i] = INT64_MAX;
		rows->cells = more;
		rows->cells_room = rows->labels.room;
	}
	if (row->cell > 0 && row->cell < rows->cells[row->label])
		rows->cells[row->label] = row->cell;
	return 0;
}

/* Adds a run, if it is of the stage that is compared. */
static int
add_run(void *arg, const struct runs_run *r)
{
	struct cmp *c = arg;
	struct cmp_rows *rows = &c->rows;
	struct cmp_row row = { .run = r->run, .cell = r->cell,
		.failed = r->failed, .v = { [CMP_WALL] = r->wall,
		[CMP_CPU] = r->cpu } };
	void *more = rows->row;
	int rc;

	if (*r->stage != '\0' && strcmp(r->stage, c->o.stage) != 0)
		return 0;
	memcpy(row.cause, r->cause, sizeof(row.cause));
	if (array_grow(&more, rows->count, &rows->room, sizeof(row)) != 0)
		return -ENOMEM;
	rows->row = more;
	rc = group_of(c, r, &row.group);
	if (rc == 0)
		rc = intern(&rows->labels, r->label, strlen(r->label),
		    &row.label);
	if (rc == 0)
		rc = note_cell(rows, &row);
	if (rc == 0)
		rc = intern(&rows->series, r->series,
		    strlen(r->series), &row.series);
	if (rc != 0)
		return rc;
	/* without a number: the one after the last of its label */
	for (size_t i = rows->count; row.run == 0 && i-- > 0;)
		if (rows->row[i].label == row.label &&
		    rows->row[i].group == row.group &&
		    rows->row[i].series == row.series)
			row.run = rows->row[i].run + 1;
	if (row.run == 0)
		row.run = 1;
	rows->row[rows->count++] = row;
	return 0;
}

int
cmp_read(struct cmp *c, const char *path)
{
	char why[RUNS_WHY];
	bool means;
	int rc = runs_read(path, add_run, c, &means, why);

	if (rc != 0)
		msg_error(&c->msg, "%s", why);
	else if (means)
		msg_note(&c->msg, "%s: hyperfine's CSV has only the mean of "
		    "each command; its JSON has every run", path);
	return rc;
}

static void
names_free(struct cmp_names *n)
{
	for (uint32_t i = 0; i < n->count; i++)
		sys_free(n->text[i]);
	sys_free(n->text);
}

void
cmp_rows_free(struct cmp_rows *rows)
{
	names_free(&rows->groups);
	names_free(&rows->labels);
	names_free(&rows->series);
	sys_free(rows->cells);
	sys_free(rows->row);
}
