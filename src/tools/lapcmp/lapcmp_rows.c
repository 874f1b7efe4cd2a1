/*
 * lapcmp_rows.c - recognizing a file's format, and reading lap's rows
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lapcmp.h"

#include "base/args.h"
#include "base/array.h"
#include "base/fdio.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/table.h"
#ifdef COLDPRESS_OCI
#include "image/oci/json.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* A row, either of CSV or a line of JSON. */
struct input {
	struct table_reader *r;
	int col[COLUMNS];		/* negative: missing */
#ifdef COLDPRESS_OCI
	yajl_val object;
#endif
};

static const char *
text(const struct input *in, enum column c)
{
#ifdef COLDPRESS_OCI
	if (in->object != NULL) {
		yajl_val v = json_member(in->object, names[c], yajl_t_any);

		if (YAJL_IS_STRING(v))
			return YAJL_GET_STRING(v);
		return YAJL_IS_NUMBER(v) ? YAJL_GET_NUMBER(v) : "";
	}
#endif
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
group_of(struct cmp *c, const struct cmp_run *r, uint32_t *number)
{
	const char *keys = r->keys != NULL ? r->keys : "";
	const char *cache = r->cache != NULL ? r->cache : "";
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

int
cmp_add(struct cmp *c, const struct cmp_run *r)
{
	const char *series = r->series != NULL ? r->series : "";
	struct cmp_rows *rows = &c->rows;
	struct cmp_row row = { .run = r->run, .cell = r->cell,
		.failed = r->failed, .v = { [CMP_WALL] = r->wall,
		[CMP_CPU] = r->cpu } };
	void *more = rows->row;
	int rc;

	if (!(r->wall >= 0))
		return -EINVAL;
	for (int i = 0; i < CMP_CAUSES; i++)
		row.cause[i] = r->causes != NULL ? r->causes[i] : NAN;
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
		rc = intern(&rows->series, series, strlen(series), &row.series);
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

/* Adds the current row.  Returns 0, -EINVAL (no run or time) or -ENOMEM. */
static int
add_row(struct cmp *c, const struct input *in)
{
	double wall = real(in, WALL);
	const double causes[CMP_CAUSES] = {
		[CMP_STEAL] = real(in, STEAL) / wall,
		[CMP_PSI_CPU] = real(in, PSI_CPU) / 1e6 / wall,
		[CMP_PSI_IO] = real(in, PSI_IO) / 1e6 / wall,
		[CMP_PSI_MEM] = real(in, PSI_MEM) / 1e6 / wall,
		[CMP_NIVCSW] = real(in, NIVCSW),
		[CMP_MAJFLT] = real(in, MAJFLT),
		[CMP_READ] = real(in, READ)
	};
	struct cmp_run run = { .label = text(in, LABEL),
		.series = text(in, SERIES), .keys = text(in, KEYS),
		.cache = text(in, CACHE), .wall = wall,
		.cpu = real(in, USER) + real(in, SYS), .causes = causes,
		.failed = *text(in, SIGNAL) != '\0' };

	if (*text(in, STAGE) != '\0' &&
	    strcmp(text(in, STAGE), c->o.stage) != 0)
		return 0;
	if (in->col[EXIT] >= 0)
		run.failed |= strcmp(text(in, EXIT), "0") != 0;
	if (args_int(text(in, RUN), 0, INT64_MAX, &run.run) != 0)
		return -EINVAL;
	args_int(text(in, CELL), 1, INT64_MAX, &run.cell);
	return cmp_add(c, &run);
}

static int
read_csv(struct cmp *c, FILE *f, const char *name)
{
	struct input in = { .r = NULL };
	int rc = table_open_file(&in.r, f);

	if (rc == -ENODATA || rc == -EINVAL)
		msg_error(&c->msg, "%s: %s", name, rc == -ENODATA ?
		    "has no rows" : "has no header");
	if (rc != 0)
		return rc == -ENODATA ? -EINVAL : rc;
	for (int i = 0; i < COLUMNS; i++) {
		in.col[i] = table_column(in.r, names[i]);
		if (i < NEEDED && in.col[i] < 0) {
			msg_error(&c->msg, "%s: the column %s is missing; "
			    "expected label, run and wall_s, or the output of "
			    "hyperfine, time or perf stat -x,", name, names[i]);
			rc = -EINVAL;
			goto out;
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
out:
	table_reader_free(in.r);
	return rc;
}

#ifdef COLDPRESS_OCI
static int
read_json_lines(struct cmp *c, FILE *f, const char *name)
{
	char *line = NULL, why[JSON_WHY];
	struct input in = { .col = { [EXIT] = 0 } };
	uint64_t at = 0;
	size_t room = 0;
	ssize_t len;
	int rc = 0;

	while (rc == 0 && (len = getline(&line, &room, f)) > 0) {
		at++;
		if (*line == '\n')
			continue;
		rc = json_parse(&in.object, line, (size_t)len, why);
		if (rc == -EBADMSG) {
			msg_error(&c->msg, "%s:%" PRIu64 ": %s", name, at, why);
			break;
		}
		if (rc == 0)
			rc = json_text(in.object, names[LABEL]) == NULL ?
			    -EINVAL : add_row(c, &in);
		yajl_tree_free(in.object);
		if (rc == -EINVAL)
			msg_error(&c->msg, "%s:%" PRIu64 ": not a valid row; "
			    "expected label, run and wall_s", name, at);
	}
	if (rc == 0 && !feof(f))
		rc = -errno;
	free(line);
	return rc;
}
#endif

/* Returns whether the line begins like one of perf's: value,unit,event. */
static bool
is_counter(const char *line)
{
	double value;
	int n = 0;

	if (strncmp(line, "<not ", 5) == 0)
		return true;
	return sscanf(line, "%lf,%n", &value, &n) == 1 && n > 0;
}

/* Returns whether the line is one of time's. */
static bool
is_time(const char *line)
{
	static const char *const begins[] = { "real", "Command being timed",
		"Command exited with non-zero status",
		"Command terminated by signal" };
	double user;
	int n = 0;

	line += strspn(line, " \t");
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(line, begins[i], strlen(begins[i])) == 0 &&
		    strchr(line, ',') == NULL)
			return true;
	return sscanf(line, "%lfuser %n", &user, &n) == 1 && n > 0;
}

/* Returns the line's first character that is not blank. */
static char
first_of(const char *line)
{
	return line[strspn(line, " \t\r\n")];
}

/*
 * Reads f, whose format its first line tells.  -EINVAL, -EBADMSG and -ERANGE
 * have been reported.
 */
static int
read_any(struct cmp *c, FILE *f, const char *name)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	int rc;

	while ((got = getline(&line, &room, f)) > 0 &&
	    (*line == '#' || first_of(line) == '\0'))
		;
	rc = got < 0 && !feof(f) ? -errno : 0;
	rewind(f);
	if (rc != 0)
		goto out;
	if (first_of(line) == '{') {
#ifdef COLDPRESS_OCI
		const char *s = strchr(line, '{') + 1;

		s += strspn(s, " \t\r\n");
		rc = *s == '\0' || strncmp(s, "\"results\"", 9) == 0 ?
		    cmp_read_hyperfine_json(c, f, name) :
		    read_json_lines(c, f, name);
#else
		msg_error(&c->msg, "%s: is JSON, and this lapcmp was built "
		    "without yajl; expected CSV", name);
		rc = -EINVAL;
#endif
	} else if (strncmp(line, "command,mean,", 13) == 0)
		rc = cmp_read_hyperfine_csv(c, f, name);
	else if (is_time(line))
		rc = cmp_read_time(c, f, name);
	else if (is_counter(line))
		rc = cmp_read_perf(c, f, name);
	else
		rc = read_csv(c, f, name);
out:
	free(line);
	return rc;
}

/*
 * Opens path, or standard input for "-", as a file that can be rewound: a pipe
 * is copied to memory, where its rows will be anyway.
 */
static int
open_input(const char *path, FILE **f)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? sys_dup(STDIN_FILENO) : sys_openat(AT_FDCWD, path,
	    O_RDONLY | O_CLOEXEC, 0);
	int copy = -1, rc = 0;
	char buf[1 << 16];
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	if (lseek(fd, 0, SEEK_CUR) != 0) {
		copy = memfd_create("rows", MFD_CLOEXEC);
		if (copy == -1)
			rc = -errno;
		while (rc == 0 && (n = fdio_read(fd, buf, sizeof(buf))) > 0)
			rc = fdio_write(copy, buf, (size_t)n);
		sys_close(fd);
		fd = copy;
		if (rc == 0)
			rc = n < 0 ? (int)n : 0;
		if (rc == 0 && lseek(fd, 0, SEEK_SET) == -1)
			rc = -errno;
	}
	*f = rc == 0 ? fdopen(fd, "r") : NULL;
	if (rc == 0 && *f == NULL)
		rc = -errno;
	if (rc != 0 && fd >= 0)
		sys_close(fd);
	return rc;
}

int
cmp_read(struct cmp *c, const char *path)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	FILE *f;
	int rc = open_input(path, &f);

	if (rc == 0) {
		rc = read_any(c, f, name);
		fclose(f);
	}
	/* the readers describe what is wrong with the content */
	if (rc != 0 && rc != -EINVAL && rc != -EBADMSG && rc != -ERANGE)
		msg_error(&c->msg, "%s: %s", name, strerror(-rc));
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
