/*
 * runs.c - reading the runs that a file records
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/runs.h"

#include "base/args.h"
#include "base/fdio.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/table.h"
#ifdef COLDPRESS_JSON
#include "base/json.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { EXPORT_MAX_B = 1 << 30 };

struct reader {
	FILE *f;
	const char *name;
	runs_fn *take;
	void *arg;
	bool *means;
	char *why;
};

/* Says what is wrong at a line of the file, if it is not 0.  Returns -EINVAL. */
static int __attribute__((format(printf, 3, 4)))
runs_wrong(const struct reader *r, uint64_t line, const char *fmt, ...)
{
	int n = snprintf(r->why, RUNS_WHY, "%s:", r->name);
	va_list ap;

	if (line > 0 && n < RUNS_WHY)
		n += snprintf(r->why + n, (size_t)(RUNS_WHY - n),
		    "%" PRIu64 ":", line);
	if (n >= RUNS_WHY - 1)
		return -EINVAL;
	r->why[n++] = ' ';
	va_start(ap, fmt);
	vsnprintf(r->why + n, (size_t)(RUNS_WHY - n), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static struct runs_run
new_run(void)
{
	struct runs_run run = { .label = "", .series = "", .keys = "",
		.cache = "", .stage = "", .wall = NAN, .cpu = NAN };

	for (int i = 0; i < RUNS_CAUSES; i++)
		run.cause[i] = NAN;
	return run;
}

/* Rows */

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
#ifdef COLDPRESS_JSON
	yajl_val object;
#endif
};

static const char *
text(const struct input *in, enum column c)
{
#ifdef COLDPRESS_JSON
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

/* Takes the current row.  Returns 0 or -errno, -EINVAL without a run or time. */
static int
take_row(const struct reader *r, const struct input *in)
{
	struct runs_run run = new_run();

	run.label = text(in, LABEL);
	run.series = text(in, SERIES);
	run.keys = text(in, KEYS);
	run.cache = text(in, CACHE);
	run.stage = text(in, STAGE);
	run.wall = real(in, WALL);
	run.cpu = real(in, USER) + real(in, SYS);
	run.failed = *text(in, SIGNAL) != '\0' || (in->col[EXIT] >= 0 &&
	    strcmp(text(in, EXIT), "0") != 0);
	if (args_int(text(in, RUN), 0, INT64_MAX, &run.run) != 0 ||
	    !(run.wall >= 0))
		return -EINVAL;
	args_int(text(in, CELL), 1, INT64_MAX, &run.cell);
	run.cause[RUNS_STEAL] = real(in, STEAL) / run.wall;
	run.cause[RUNS_PSI_CPU] = real(in, PSI_CPU) / 1e6 / run.wall;
	run.cause[RUNS_PSI_IO] = real(in, PSI_IO) / 1e6 / run.wall;
	run.cause[RUNS_PSI_MEM] = real(in, PSI_MEM) / 1e6 / run.wall;
	run.cause[RUNS_NIVCSW] = real(in, NIVCSW);
	run.cause[RUNS_MAJFLT] = real(in, MAJFLT);
	run.cause[RUNS_READ] = real(in, READ);
	return r->take(r->arg, &run);
}

static int
read_csv(const struct reader *r)
{
	struct input in = { .r = NULL };
	int rc = table_open_file(&in.r, r->f);

	if (rc == -ENODATA || rc == -EINVAL)
		return runs_wrong(r, 0, rc == -ENODATA ? "has no rows" :
		    "has no header");
	if (rc != 0)
		return rc;
	for (int i = 0; i < COLUMNS; i++) {
		in.col[i] = table_column(in.r, names[i]);
		if (i < NEEDED && in.col[i] < 0) {
			rc = runs_wrong(r, 0, "the column %s is missing; "
			    "expected label, run and wall_s, or the output of "
			    "hyperfine, time or perf stat -x,", names[i]);
			goto out;
		}
	}
	while ((rc = table_next(in.r)) == 1) {
		rc = take_row(r, &in);
		if (rc != 0)
			break;
	}
	if (rc == -EINVAL)
		runs_wrong(r, table_line(in.r), "not a valid row");
out:
	table_reader_free(in.r);
	return rc;
}

#ifdef COLDPRESS_JSON
static int
read_json_lines(const struct reader *r)
{
	char *line = NULL, what[JSON_WHY];
	struct input in = { .col = { [EXIT] = 0 } };
	uint64_t at = 0;
	size_t room = 0;
	ssize_t len;
	int rc = 0;

	while (rc == 0 && (len = getline(&line, &room, r->f)) > 0) {
		at++;
		if (*line == '\n')
			continue;
		rc = json_parse(&in.object, line, (size_t)len, what);
		if (rc == -EBADMSG) {
			rc = runs_wrong(r, at, "%s", what);
			break;
		}
		if (rc == 0)
			rc = json_text(in.object, names[LABEL]) == NULL ?
			    -EINVAL : take_row(r, &in);
		yajl_tree_free(in.object);
		if (rc == -EINVAL)
			runs_wrong(r, at, "not a valid row; expected label, "
			    "run and wall_s");
	}
	if (rc == 0 && !feof(r->f))
		rc = -errno;
	free(line);
	return rc;
}
#endif

/* Records of time and perf */

/* The run that the lines read so far describe. */
struct lines {
	const struct reader *r;
	struct runs_run run;
	double user, sys;		/* NaN: not yet known */
	char *command;			/* that of the run, or NULL */
	size_t runs;			/* added so far */
	uint64_t line;
};

static void
begin_run(struct lines *l)
{
	l->run = new_run();
	l->user = l->sys = NAN;
	sys_free(l->command);
	l->command = NULL;
}

/* Adds the run; its label is the command, or the file's name. */
static int
end_run(struct lines *l)
{
	const char *name = l->r->name, *base = strrchr(name, '/');
	int rc;

	if (isnan(l->run.wall))
		return runs_wrong(l->r, l->line, "a run ends here without its "
		    "elapsed time");
	l->run.label = l->command != NULL ? l->command :
	    base != NULL ? base + 1 : name;
	if (isnan(l->run.cpu))
		l->run.cpu = l->user + l->sys;
	rc = l->r->take(l->r->arg, &l->run);
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
	if (isnan(l->run.wall))
		return runs_wrong(l->r, l->line, "no duration_time; expected "
		    "the counters of perf stat -x, -e "
		    "duration_time,user_time,system_time");
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
	static const char *const events[] = { "duration_time", "user_time",
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
		return runs_wrong(l->r, l->line, "not a counter of perf stat "
		    "-x,");
	if (field[3] != NULL && *field[3] != '\0' &&
	    field[3][strlen(field[3]) - 1] == '%')
		return runs_wrong(l->r, l->line, "the mean of several runs; "
		    "expected one run (perf stat --append, not -r)");
	field[2][strcspn(field[2], ":")] = '\0';
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (strcmp(field[2], events[i]) != 0 ||
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
read_lines(const struct reader *r, bool perf)
{
	struct lines l = { .r = r };
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	begin_run(&l);
	while (rc == 0 && getline(&line, &room, r->f) > 0) {
		l.line++;
		rc = perf ? perf_line(&l, line) : time_line(&l, line);
	}
	if (rc == 0 && !feof(r->f))
		rc = -errno;
	if (rc == 0 && perf)
		rc = end_counters(&l, l.runs == 0 || !isnan(l.run.wall) ||
		    !isnan(l.user) || !isnan(l.sys) || !isnan(l.run.cpu));
	if (rc == 0 && l.runs == 0)
		rc = runs_wrong(r, 0, "no complete run of time");
	begin_run(&l);
	free(line);
	return rc;
}

/* Exports of hyperfine */

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

static int
read_hyperfine_csv(const struct reader *in)
{
	static const char parameter[] = "parameter_";
	struct table_reader *r = NULL;
	struct strbuf keys = { .len = 0 };
	int rc = table_open_file(&r, in->f), command, mean, user, sys;

	if (rc != 0)
		return rc;
	command = table_column(r, "command");
	mean = table_column(r, "mean");
	user = table_column(r, "user");
	sys = table_column(r, "system");
	if (command < 0 || mean < 0 || user < 0 || sys < 0)
		rc = -EINVAL;
	while (rc == 0 && (rc = table_next(r)) == 1) {
		struct runs_run run = new_run();
		double u, s;

		run.label = table_value(r, command);
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
		rc = keys.failed ? -ENOMEM : in->take(in->arg, &run);
	}
	*in->means = true;
	if (rc == -EINVAL || rc == -ERANGE)
		rc = runs_wrong(in, table_line(r), "not a row of hyperfine's");
	table_reader_free(r);
	strbuf_free(&keys);
	return rc;
}

#ifdef COLDPRESS_JSON
/* Takes the runs of a command. */
static int
take_result(const struct reader *in, yajl_val result)
{
	yajl_val times = json_member(result, "times", yajl_t_array);
	yajl_val codes = json_member(result, "exit_codes", yajl_t_array);
	yajl_val given = json_member(result, "parameters", yajl_t_object);
	const char *command = json_text(result, "command");
	struct runs_run run = new_run();
	struct strbuf keys = { .len = 0 };
	int rc = command == NULL || times == NULL ? -EINVAL : 0;

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
	run.label = command;
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
		rc = in->take(in->arg, &run);
	}
	strbuf_free(&keys);
	return rc;
}

static int
read_hyperfine_json(const struct reader *in)
{
	char what[JSON_WHY] = "no results with times", *text = NULL;
	yajl_val root = NULL, results;
	size_t len;
	int rc = fdio_read_all(fileno(in->f), EXPORT_MAX_B, &text, &len);

	if (rc == 0)
		rc = json_parse(&root, text, len, what);
	if (rc == 0) {
		results = json_member(root, "results", yajl_t_array);
		if (results == NULL || results->u.array.len == 0)
			rc = -EINVAL;
		for (size_t i = 0; rc == 0 && i < results->u.array.len; i++)
			rc = take_result(in, results->u.array.values[i]);
	}
	if (rc == -EINVAL || rc == -EBADMSG)
		rc = runs_wrong(in, 0, "not hyperfine's JSON: %s", what);
	yajl_tree_free(root);
	sys_free(text);
	return rc;
}
#endif

/* Any of these */

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

/* Reads the file, whose format its first line tells. */
static int
read_any(const struct reader *r)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	int rc;

	while ((got = getline(&line, &room, r->f)) > 0 &&
	    (*line == '#' || first_of(line) == '\0'))
		;
	rc = got < 0 && !feof(r->f) ? -errno : 0;
	rewind(r->f);
	if (rc != 0)
		goto out;
	if (first_of(line) == '{') {
#ifdef COLDPRESS_JSON
		const char *s = strchr(line, '{') + 1;

		s += strspn(s, " \t\r\n");
		rc = *s == '\0' || strncmp(s, "\"results\"", 9) == 0 ?
		    read_hyperfine_json(r) : read_json_lines(r);
#else
		rc = runs_wrong(r, 0, "is JSON, which this program was built "
		    "without (yajl); expected CSV");
#endif
	} else if (strncmp(line, "command,mean,", 13) == 0)
		rc = read_hyperfine_csv(r);
	else if (is_time(line))
		rc = read_lines(r, false);
	else if (is_counter(line))
		rc = read_lines(r, true);
	else
		rc = read_csv(r);
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
runs_read(const char *path, runs_fn *take, void *arg, bool *means,
    char why[RUNS_WHY])
{
	struct reader r = { .take = take, .arg = arg, .means = means,
		.why = why, .name = strcmp(path, "-") == 0 ? "standard input" :
		path };
	int rc;

	*why = '\0';
	*means = false;
	rc = open_input(path, &r.f);
	if (rc == 0) {
		rc = read_any(&r);
		fclose(r.f);
	}
	if (rc != 0 && *why == '\0')
		runs_wrong(&r, 0, "%s", strerror(-rc));
	return rc;
}
