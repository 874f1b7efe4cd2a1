/*
 * lapcmp_rows.c - reading lap's rows
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lapcmp.h"

#include "base/args.h"
#include "base/array.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The columns used; the first NEEDED are required. */
enum column { LABEL, RUN, WALL, NEEDED, USER = NEEDED, SYS, SERIES, KEYS,
	CACHE, STAGE, EXIT, SIGNAL, STEAL, PSI_CPU, PSI_IO, PSI_MEM, NIVCSW,
	MAJFLT, READ, CELL, COLUMNS };

static const char *const names[COLUMNS] = {
	[LABEL] = "label", [RUN] = "run", [WALL] = "wall_s", [USER] = "user_s",
	[SYS] = "sys_s", [SERIES] = "series", [KEYS] = "keys",
	[CACHE] = "cache", [STAGE] = "stage", [EXIT] = "exit",
	[SIGNAL] = "signal", [STEAL] = "steal_s", [PSI_CPU] = "psi_cpu_us",
	[PSI_IO] = "psi_io_us", [PSI_MEM] = "psi_mem_us",
	[NIVCSW] = "nivcsw", [MAJFLT] = "majflt", [READ] = "read_B",
	[CELL] = "cell"
};

struct input {
	struct table_reader *r;
	int col[COLUMNS];		/* negative: missing */
};

static const char *
text(const struct input *in, enum column c)
{
	return in->col[c] < 0 ? "" : table_value(in->r, in->col[c]);
}

/* Returns the value, or NaN if it is missing. */
static double
real(const struct input *in, enum column c)
{
	double v;

	return args_real(text(in, c), -1e300, 1e300, &v) == 0 ? v : NAN;
}

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
group_of(struct cmp *c, const struct input *in, uint32_t *number)
{
	const char *keys = text(in, KEYS), *cache = text(in, CACHE);
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

static void
read_causes(const struct input *in, struct cmp_row *row)
{
	double wall = row->v[CMP_WALL];

	row->cause[CMP_STEAL] = real(in, STEAL) / wall;
	row->cause[CMP_PSI_CPU] = real(in, PSI_CPU) / 1e6 / wall;
	row->cause[CMP_PSI_IO] = real(in, PSI_IO) / 1e6 / wall;
	row->cause[CMP_PSI_MEM] = real(in, PSI_MEM) / 1e6 / wall;
	row->cause[CMP_NIVCSW] = real(in, NIVCSW);
	row->cause[CMP_MAJFLT] = real(in, MAJFLT);
	row->cause[CMP_READ] = real(in, READ);
}

/* Adds the current row.  Returns 0, -EINVAL (no run or time) or -ENOMEM. */
static int
add_row(struct cmp *c, const struct input *in)
{
	struct cmp_rows *rows = &c->rows;
	const char *label = text(in, LABEL), *series = text(in, SERIES);
	struct cmp_row row = { .run = 0 };
	void *more = rows->row;
	int rc = 0;

	if (in->col[STAGE] >= 0 && strcmp(text(in, STAGE), c->o.stage) != 0)
		return 0;
	row.v[CMP_WALL] = real(in, WALL);
	row.v[CMP_CPU] = real(in, USER) + real(in, SYS);
	row.failed = (in->col[EXIT] >= 0 && strcmp(text(in, EXIT), "0") != 0) ||
	    *text(in, SIGNAL) != '\0';
	if (args_int(text(in, RUN), 0, INT64_MAX, &row.run) != 0 ||
	    !(row.v[CMP_WALL] >= 0))
		return -EINVAL;
	args_int(text(in, CELL), 1, INT64_MAX, &row.cell);
	read_causes(in, &row);
	if (array_grow(&more, rows->count, &rows->room, sizeof(row)) != 0)
		return -ENOMEM;
	rows->row = more;
	rc = group_of(c, in, &row.group);
	if (rc == 0)
		rc = intern(&rows->labels, label, strlen(label), &row.label);
	if (rc == 0)
		rc = note_cell(rows, &row);
	if (rc == 0)
		rc = intern(&rows->series, series, strlen(series), &row.series);
	if (rc == 0)
		rows->row[rows->count++] = row;
	return rc;
}

int
cmp_read(struct cmp *c, const char *path)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct input in = { .r = NULL };
	int rc = table_open(&in.r, path);

	if (rc != 0) {
		msg_error(&c->msg, "%s: %s", name, rc == -ENODATA ?
		    "has no rows" : strerror(-rc));
		return rc;
	}
	if (*table_name(in.r, 0) == '{' || *table_name(in.r, 0) == '[') {
		msg_error(&c->msg, "%s: is JSON; expected CSV, which lap "
		    "writes without --json", name);
		table_reader_free(in.r);
		return -EINVAL;
	}
	for (int i = 0; i < COLUMNS; i++) {
		in.col[i] = table_column(in.r, names[i]);
		if (i < NEEDED && in.col[i] < 0) {
			msg_error(&c->msg, "%s: the column %s is missing; "
			    "expected label, run and wall_s", name, names[i]);
			table_reader_free(in.r);
			return -EINVAL;
		}
	}
	while ((rc = table_next(in.r)) == 1) {
		rc = add_row(c, &in);
		if (rc != 0)
			break;
	}
	if (rc == -EINVAL)
		msg_error(&c->msg, "%s:%" PRIu64 ": not a valid row", name,
		    table_line(in.r));
	else if (rc < 0)
		msg_error(&c->msg, "%s: %s", name, strerror(-rc));
	table_reader_free(in.r);
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
