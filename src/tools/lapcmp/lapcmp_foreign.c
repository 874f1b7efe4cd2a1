/*
 * lapcmp_foreign.c - reading the runs recorded by hyperfine, time and perf
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: hyperfine's export formats; GNU time(1) and the format of POSIX and
 * of shells; "CSV FORMAT" in perf-stat(1).  None of them runs its commands in
 * rounds, so the runs belong to no series.
 */
#include "lapcmp.h"

#include "base/args.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The run that the lines read so far describe. */
struct lines {
	struct cmp *c;
	const char *name;		/* of the file, for messages */
	struct cmp_run run;
	double user, sys;		/* NaN: not yet known */
	char *command;			/* that of the run, or NULL */
	size_t runs;			/* added so far */
	uint64_t line;
};

static void
begin_run(struct lines *l)
{
	l->run = (struct cmp_run){ .wall = NAN, .cpu = NAN };
	l->user = l->sys = NAN;
	sys_free(l->command);
	l->command = NULL;
}

/* Adds the run; its label is the command, or the file's name. */
static int
end_run(struct lines *l)
{
	const char *base = strrchr(l->name, '/');
	int rc;

	if (isnan(l->run.wall)) {
		msg_error(&l->c->msg, "%s:%" PRIu64 ": a run ends here "
		    "without its elapsed time", l->name, l->line);
		return -EINVAL;
	}
	l->run.label = l->command != NULL ? l->command :
	    base != NULL ? base + 1 : l->name;
	if (isnan(l->run.cpu))
		l->run.cpu = l->user + l->sys;
	rc = cmp_add(l->c, &l->run);
	l->runs++;
	begin_run(l);
	return rc;
}

/*
 * Parses a time: seconds, [h:]m:s, or 1m2.345s.  Returns seconds, or NaN.
 */
static double
clock_time(const char *s)
{
	double total = 0, v;
	char *end;

	for (;; s = end + 1) {
		if (*s < '0' || *s > '9')
			return NAN;
		v = strtod(s, &end);
		if (*end == ':' || *end == 'm')
			total = (total + v) * 60;
		else if (*end == '\0' || (*end == 's' && end[1] == '\0'))
			return total + v;
		else
			return NAN;
	}
}

/* Returns the text after a prefix, or NULL. */
static char *
after(char *line, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(line, prefix, n) == 0 ? line + n : NULL;
}

/* Reads a line of time's; others are the command's own. */
static int
time_line(struct lines *l, char *line)
{
	char clock[32], *s;

	line += strspn(line, " \t");
	line[strcspn(line, "\r\n")] = '\0';
	if (after(line, "Command exited with non-zero status ") != NULL ||
	    after(line, "Command terminated by signal ") != NULL ||
	    after(line, "Command stopped by signal ") != NULL) {
		l->run.failed = true;
		return 0;
	}
	if (sscanf(line, "%lfuser %lfsystem %31[0-9:.]elapsed", &l->user,
	    &l->sys, clock) == 3) {
		l->run.wall = clock_time(clock);
		return end_run(l);
	}
	if ((s = after(line, "Command being timed: \"")) != NULL) {
		sys_free(l->command);
		l->command = strcopy_part(s, strlen(s) - (*s != '\0'));
		return l->command == NULL ? -ENOMEM : 0;
	}
	if ((s = after(line, "Elapsed (wall clock) time (h:mm:ss or m:ss): "))
	    != NULL || (s = after(line, "real")) != NULL)
		l->run.wall = clock_time(s + strspn(s, " \t"));
	else if ((s = after(line, "User time (seconds): ")) != NULL ||
	    (s = after(line, "user")) != NULL)
		l->user = clock_time(s + strspn(s, " \t"));
	else if ((s = after(line, "System time (seconds): ")) != NULL)
		l->sys = clock_time(s);
	else if (after(line, "Exit status: ") != NULL && l->command != NULL)
		return end_run(l);
	else if ((s = after(line, "sys")) != NULL && !isnan(l->run.wall)) {
		l->sys = clock_time(s + strspn(s, " \t"));
		if (!isnan(l->sys))
			return end_run(l);
	}
	return 0;
}

/* Ends a run of perf's, if its counters have been read. */
static int
end_counters(struct lines *l, bool any)
{
	if (!any)
		return 0;
	if (isnan(l->run.wall)) {
		msg_error(&l->c->msg, "%s:%" PRIu64 ": no duration_time; "
		    "expected the counters of perf stat -x, -e "
		    "duration_time,user_time,system_time", l->name, l->line);
		return -EINVAL;
	}
	/* one that has not counted anything is not printed */
	if (isnan(l->sys) && !isnan(l->user))
		l->sys = 0;
	else if (isnan(l->user) && !isnan(l->sys))
		l->user = 0;
	return end_run(l);
}

/* Reads a line of perf's: a value, its unit, the event, and more. */
static int
perf_line(struct lines *l, char *line)
{
	static const char *const names[] = { "duration_time", "user_time",
		"system_time", "task-clock" };
	double *const values[] = { &l->run.wall, &l->user, &l->sys,
		&l->run.cpu };
	bool known = !isnan(l->run.wall) || !isnan(l->user) ||
	    !isnan(l->sys) || !isnan(l->run.cpu);
	char *field[4] = { NULL };
	double value;
	int rc;

	if (*line == '#' || *line == '\n')
		return *line == '#' ? end_counters(l, known) : 0;
	line[strcspn(line, "\n")] = '\0';
	for (int i = 0; i < 4 && line != NULL; i++)
		field[i] = strsep(&line, ",");
	if (field[2] == NULL)
		return -EBADMSG;
	if (field[3] != NULL && *field[3] != '\0' &&
	    field[3][strlen(field[3]) - 1] == '%') {
		msg_error(&l->c->msg, "%s:%" PRIu64 ": the mean of several "
		    "runs; expected one run (perf stat --append, not -r)",
		    l->name, l->line);
		return -EINVAL;
	}
	field[2][strcspn(field[2], ":")] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(field[2], names[i]) != 0 ||
		    args_real(field[0], 0, 1e300, &value) != 0)
			continue;
		/* the next run, appended without a comment */
		if (!isnan(*values[i])) {
			rc = end_counters(l, true);
			if (rc != 0)
				return rc;
		}
		*values[i] = value /
		    (strcmp(field[1], "msec") == 0 ? 1e3 : 1e9);
	}
	return 0;
}

static int
read_lines(struct cmp *c, FILE *f, const char *name, bool perf)
{
	struct lines l = { .c = c, .name = name };
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	begin_run(&l);
	while (rc == 0 && getline(&line, &room, f) > 0) {
		l.line++;
		rc = perf ? perf_line(&l, line) : time_line(&l, line);
	}
	if (rc == 0 && !feof(f))
		rc = -errno;
	if (rc == 0 && perf)
		rc = end_counters(&l, l.runs == 0 || !isnan(l.run.wall) ||
		    !isnan(l.user) || !isnan(l.sys) || !isnan(l.run.cpu));
	if (rc == -EBADMSG)
		msg_error(&c->msg, "%s:%" PRIu64 ": not a counter of perf "
		    "stat -x,", name, l.line);
	if (rc == 0 && l.runs == 0) {
		msg_error(&c->msg, "%s: no complete run of time", name);
		rc = -EINVAL;
	}
	begin_run(&l);
	free(line);
	return rc;
}

int
cmp_read_time(struct cmp *c, FILE *f, const char *name)
{
	return read_lines(c, f, name, false);
}

int
cmp_read_perf(struct cmp *c, FILE *f, const char *name)
{
	return read_lines(c, f, name, true);
}

/* Adds name=value to keys; a separator within value becomes a colon. */
static void
add_parameter(struct strbuf *keys, const char *name, const char *value)
{
	char *s;

	if (keys->len > 0)
		strbuf_char(keys, ';');
	strbuf_fmt(keys, "%s=%s", name, value);
	if (!keys->failed)
		for (s = keys->data + keys->len - strlen(value); *s != '\0'; s++)
			if (*s == ';')
				*s = ':';
}

int
cmp_read_hyperfine_csv(struct cmp *c, FILE *f, const char *name)
{
	static const char parameter[] = "parameter_";
	struct table_reader *r = NULL;
	struct strbuf keys = { .len = 0 };
	int rc = table_open_file(&r, f), command, mean, user, sys;

	if (rc != 0)
		return rc;
	command = table_column(r, "command");
	mean = table_column(r, "mean");
	user = table_column(r, "user");
	sys = table_column(r, "system");
	if (command < 0 || mean < 0 || user < 0 || sys < 0)
		rc = -EINVAL;
	while (rc == 0 && (rc = table_next(r)) == 1) {
		struct cmp_run run = { .label = table_value(r, command) };
		double u, s;

		rc = args_real(table_value(r, mean), 0, 1e300, &run.wall);
		if (rc == 0)
			rc = args_real(table_value(r, user), 0, 1e300, &u);
		if (rc == 0)
			rc = args_real(table_value(r, sys), 0, 1e300, &s);
		if (rc != 0)
			break;
		run.cpu = u + s;
		strbuf_clear(&keys);
		for (int i = 0; i < table_columns(r); i++)
			if (strncmp(table_name(r, i), parameter,
			    sizeof(parameter) - 1) == 0)
				add_parameter(&keys, table_name(r, i) +
				    sizeof(parameter) - 1, table_value(r, i));
		strbuf_char(&keys, '\0');
		run.keys = keys.data;
		rc = keys.failed ? -ENOMEM : cmp_add(c, &run);
	}
	if (rc == 0)
		msg_note(&c->msg, "%s: hyperfine's CSV has only the mean of "
		    "each command; its JSON has every run", name);
	else if (rc == -EINVAL || rc == -ERANGE)
		msg_error(&c->msg, "%s:%" PRIu64 ": not a row of hyperfine's",
		    name, table_line(r));
	table_reader_free(r);
	strbuf_free(&keys);
	return rc;
}

#ifdef COLDPRESS_OCI
#include "base/fdio.h"
#include "image/oci/json.h"

enum { EXPORT_MAX_B = 1 << 30 };

/* Adds the runs of a command. */
static int
add_result(struct cmp *c, yajl_val result)
{
	yajl_val times = json_member(result, "times", yajl_t_array);
	yajl_val codes = json_member(result, "exit_codes", yajl_t_array);
	yajl_val given = json_member(result, "parameters", yajl_t_object);
	struct cmp_run run = { .label = json_text(result, "command"),
	    .cpu = NAN };
	struct strbuf keys = { .len = 0 };
	int rc = run.label == NULL || times == NULL ? -EINVAL : 0;

	for (size_t i = 0; given != NULL && i < given->u.object.len; i++) {
		yajl_val v = given->u.object.values[i];

		if (YAJL_IS_STRING(v))
			add_parameter(&keys, given->u.object.keys[i],
			    YAJL_GET_STRING(v));
		else if (YAJL_IS_NUMBER(v))
			add_parameter(&keys, given->u.object.keys[i],
			    YAJL_GET_NUMBER(v));
	}
	strbuf_char(&keys, '\0');
	if (keys.failed)
		rc = -ENOMEM;
	run.keys = keys.data;
	for (size_t i = 0; rc == 0 && i < times->u.array.len; i++) {
		yajl_val v = times->u.array.values[i];
		yajl_val code = codes != NULL && i < codes->u.array.len ?
		    codes->u.array.values[i] : NULL;

		if (!YAJL_IS_NUMBER(v) || args_real(YAJL_GET_NUMBER(v), 0,
		    1e300, &run.wall) != 0) {
			rc = -EINVAL;
			break;
		}
		/* null: ended by a signal */
		run.failed = code != NULL && !(YAJL_IS_INTEGER(code) &&
		    YAJL_GET_INTEGER(code) == 0);
		rc = cmp_add(c, &run);
	}
	strbuf_free(&keys);
	return rc;
}

int
cmp_read_hyperfine_json(struct cmp *c, FILE *f, const char *name)
{
	char why[JSON_WHY] = "no results with times", *text = NULL;
	yajl_val root = NULL, results;
	size_t len;
	int rc = fdio_read_all(fileno(f), EXPORT_MAX_B, &text, &len);

	if (rc == 0)
		rc = json_parse(&root, text, len, why);
	if (rc == 0) {
		results = json_member(root, "results", yajl_t_array);
		if (results == NULL || results->u.array.len == 0)
			rc = -EINVAL;
		for (size_t i = 0; rc == 0 && i < results->u.array.len; i++)
			rc = add_result(c, results->u.array.values[i]);
	}
	if (rc == -EINVAL || rc == -EBADMSG)
		msg_error(&c->msg, "%s: not hyperfine's JSON: %s", name, why);
	yajl_tree_free(root);
	sys_free(text);
	return rc;
}
#endif
