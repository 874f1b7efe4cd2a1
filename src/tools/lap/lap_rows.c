/*
 * lap_rows.c - the rows of the runs: writing them, and those in the file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "base/args.h"
#include "base/sys.h"
#include "base/table.h"
#include "base/utc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each group is written by the function of the same name below. */
static const char *const columns[] = {
	/* names */
	"series", "seed", "cell", "label", "keys", "run", "round", "pos",
	"stage", "start_utc", "cache",
	/* usage */
	"wall_s", "user_s", "sys_s", "util", "maxrss_KiB", "rss_floor",
	"minflt", "majflt", "nvcsw", "nivcsw", "rchar_B", "wchar_B", "read_B",
	"write_B", "cancelled_B",
	/* machine */
	"tree_cpu_s", "cg_peak_B", "steal_s", "psi_cpu_us", "psi_io_us",
	"psi_mem_us", "load1", "rx_B", "tx_B", "stdout_B",
	/* report */
	"in_B", "out_B", "stall_in_s", "stall_out_s", "stall_work_s",
	/* ending */
	"exit", "signal", "left", "flags"
};

enum { MACHINE_COLUMNS = 10 };

static void
put_names(struct lap *l, const struct lap_run *r, int stage)
{
	struct table *t = l->table;
	char date[UTC_B];

	table_text(t, l->series);
	table_int(t, l->o.seed);
	table_int(t, (r->cell - l->cells) + 1);
	table_text(t, r->cell->label);
	table_text(t, r->cell->keys);
	table_int(t, r->run);
	table_int(t, r->round);
	table_int(t, r->pos);
	if (stage < 0)
		table_text(t, "all");
	else
		table_int(t, stage + 1);
	utc_text(date, r->utc_ns);
	table_text(t, date);
	table_text(t, r->cell->cold ? "cold" : l->o.warmup > 0 ? "warm" :
	    "unknown");
}

/*
 * Returns the peak memory of lap itself, which a child shares until it calls
 * execve(2).  getrusage(2) does not provide it, because its value includes the
 * parent's.  Reading it is slow, but it can have grown only if there have been
 * page faults.
 */
static int64_t
own_peak_KiB(struct lap *l)
{
	struct rusage own;
	FILE *f;

	getrusage(RUSAGE_SELF, &own);
	if (l->own_faults == own.ru_minflt)
		return l->own_peak_KiB;
	l->own_faults = own.ru_minflt;
	f = fopen("/proc/self/status", "re");
	if (f != NULL) {
		char line[128];

		while (fgets(line, sizeof(line), f) != NULL)
			if (strncmp(line, "VmHWM:", 6) == 0)
				l->own_peak_KiB = strtoll(line + 6, NULL, 10);
		fclose(f);
	}
	return l->own_peak_KiB;
}

static void
put_usage(struct lap *l, const struct proc_usage *u, uint64_t wall_ns)
{
	const uint64_t io[] = { u->rchar_B, u->wchar_B, u->read_B, u->write_B,
		u->cancelled_B };
	double wall = (double)wall_ns / 1e9;
	struct table *t = l->table;

	table_real(t, wall, 9);
	table_real(t, (double)u->user_us / 1e6, 6);
	table_real(t, (double)u->sys_us / 1e6, 6);
	table_real(t, (double)(u->user_us + u->sys_us) / 1e6 / wall, 3);
	table_int(t, u->maxrss_KiB);
	table_bool(t, u->maxrss_KiB <= own_peak_KiB(l));
	table_int(t, u->minflt);
	table_int(t, u->majflt);
	table_int(t, u->nvcsw);
	table_int(t, u->nivcsw);
	for (size_t i = 0; i < sizeof(io) / sizeof(io[0]); i++)
		if (u->io)
			table_int(t, (int64_t)io[i]);
		else
			table_none(t);
}

/* Returns the growth of a counter; -1 if unknown. */
static int64_t
growth(int64_t before, int64_t after)
{
	return before < 0 || after < before ? -1 : after - before;
}

static void
put_machine(struct lap *l, const struct lap_run *r)
{
	int64_t steal = growth(r->before.steal_ns, r->after.steal_ns);
	struct table *t = l->table;

	table_real(t, r->tree_cpu_us < 0 ? NAN : (double)r->tree_cpu_us / 1e6,
	    6);
	table_known(t, r->cg_peak_B);
	if (l->o.plain) {
		for (int i = 0; i < PRESSURE_STALLS + 2; i++)
			table_none(t);
	} else {
		table_real(t, steal < 0 ? NAN : (double)steal / 1e9, 2);
		for (int i = 0; i < PRESSURE_STALLS; i++)
			table_known(t, growth(r->before.stall_us[i],
			    r->after.stall_us[i]));
		table_real(t, r->after.load1 < 0 ? NAN : r->after.load1, 2);
	}
	table_known(t, r->rx_B);
	table_known(t, r->tx_B);
	table_known(t, r->to_B);
}

/* Writes a report: LAP_REPORTS values, or NULL if there are none. */
static void
put_report(struct table *t, const double *report)
{
	for (int i = 0; i < LAP_REPORTS; i++) {
		double v = report == NULL ? NAN : report[i];

		if (isfinite(v) && (i == LAP_IN_B || i == LAP_OUT_B) &&
		    fabs(v) < 9e18)
			table_int(t, (int64_t)v);
		else
			table_real(t, v, 6);
	}
}

void
lap_flags(const struct lap *l, const struct lap_run *r, char *text)
{
	static const char *const names[] = { "cpu", "io", "mem" };
	double limit = 0.05 * (double)(r->proc.end_ns - r->proc.start_ns);
	char *s = text;

	if (r->proc.timed_out)
		s = stpcpy(s, "timeout ");
	if (!l->o.plain) {
		if ((double)growth(r->before.steal_ns, r->after.steal_ns) >
		    limit)
			s = stpcpy(s, "steal ");
		for (int i = 0; i < PRESSURE_STALLS; i++)
			if ((double)growth(r->before.stall_us[i],
			    r->after.stall_us[i]) * 1e3 > limit) {
				s = stpcpy(s, names[i]);
				*s++ = ' ';
			}
	}
	s[s > text ? -1 : 0] = '\0';
}

static void
put_status(struct table *t, int status)
{
	if (WIFSIGNALED(status)) {
		table_none(t);
		table_int(t, WTERMSIG(status));
	} else {
		table_int(t, WEXITSTATUS(status));
		table_none(t);
	}
}

int
lap_rows_write(struct lap *l, const struct lap_run *r)
{
	struct proc_usage used = r->proc.orphans;
	struct table *t = l->table;
	const double *report = NULL;
	char flags[LAP_FLAGS_B];
	int reports = 0, rc = 0;

	if (t == NULL)
		return 0;
	/*
	 * Write all rows or none: the row of a single stage would be written
	 * again on resuming.
	 */
	table_hold(t);
	for (int i = 0; i < r->proc.count && rc == 0; i++) {
		const struct proc_stage *st = &r->proc.stages[i];
		bool wrote = false;

		proc_usage_add(&used, &st->used);
		for (int k = 0; k < LAP_REPORTS; k++)
			wrote |= !isnan(r->reports[i][k]);
		if (wrote) {
			report = r->reports[i];
			reports++;
		}
		if (r->proc.count == 1)
			break;
		put_names(l, r, i);
		put_usage(l, &st->used, st->end_ns - st->start_ns);
		for (int k = 0; k < MACHINE_COLUMNS; k++)
			table_none(t);
		put_report(t, r->reports[i]);
		put_status(t, st->status);
		table_none(t);
		table_none(t);
		rc = table_end(t);
	}
	if (rc != 0)
		return rc;
	put_names(l, r, -1);
	put_usage(l, &used, r->proc.end_ns - r->proc.start_ns);
	put_machine(l, r);
	put_report(t, reports == 1 ? report : NULL);
	put_status(t, lap_run_status(r));
	table_int(t, r->proc.left);
	lap_flags(l, r, flags);
	table_text(t, flags);
	rc = table_end(t);
	return rc == 0 ? table_release(t) : rc;
}

/* The key of the comment that records a label's command. */
static const char NOTE[] = "command";

/* Adds a string to a 64-bit FNV-1a hash. */
static uint64_t
add_hash(uint64_t h, const char *s)
{
	do
		h = (h ^ (unsigned char)*s) * 0x100000001b3;
	while (*s++ != '\0');
	return h;
}

/* These functions hash the label and keys of a command, and its words. */
static uint64_t
name_hash(const struct lap_cell *c)
{
	return add_hash(add_hash(0xcbf29ce484222325, c->label), c->keys);
}

static uint64_t
text_hash(const struct lap_cell *c)
{
	return add_hash(0xcbf29ce484222325, c->text);
}

static int
write_comments(struct lap *l, int argc, char **argv)
{
	const struct provenance p = { .series = l->series, .tool = "lap",
		.argc = argc, .argv = argv };
	const char *cache = "as left by the previous run";
	const char *group = "not available";
	struct table *t = l->table;
	int rc = provenance_write(t, &p);

	if (l->o.plain)
		group = "not used";
	else if (l->proc.group != NULL)
		group = l->group.name;
	if (rc == 0)
		rc = table_comment(t, "cgroup", "%s", group);
	if (l->o.cold)
		cache = "dropped before each run";
	else if (l->o.colds.count > 0)
		cache = "dropped before some runs: see the cache column";
	if (rc == 0)
		rc = table_comment(t, "cache", "%s", cache);
	if (rc == 0)
		rc = table_comment(t, "seed", "%" PRId64, l->o.seed);
	for (size_t i = 0; i < l->cell_count && rc == 0; i++)
		rc = table_comment(t, NOTE, "%016" PRIx64 " %016" PRIx64
		    " %s: %s", name_hash(&l->cells[i]),
		    text_hash(&l->cells[i]), l->cells[i].label,
		    l->cells[i].text);
	/* the regular files named in the commands are usually their input */
	if (rc == 0 && l->in_at >= 0)
		rc = provenance_input(t, "/proc/self/fd/0");
	for (size_t i = 0; i < l->cell_count; i++)
		for (int k = 0; k < l->cells[i].count; k++) {
			char **words = l->cells[i].stages[k].argv;

			while (rc == 0 && *++words != NULL)
				rc = provenance_input(t, *words);
		}
	return rc;
}

enum { COL_LABEL, COL_KEYS, COL_RUN, COL_STAGE, COL_SERIES, COL_SEED, COLS };

/*
 * Reports an error if runs of one command would be added to those of another.
 * Returns 0 or LAP_FAILED.
 */
static int
check_notes(struct lap *l, bool inlined)
{
	FILE *f = table_open_comments(l->o.out, inlined);
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	if (f == NULL)
		return 0;
	while (rc == 0 && getline(&line, &room, f) > 0) {
		uint64_t name, text;
		int n = 0;

		if (sscanf(line, "# command: %16" SCNx64 " %16" SCNx64 " %n",
		    &name, &text, &n) != 2 || n == 0)
			continue;
		for (size_t i = 0; rc == 0 && i < l->cell_count; i++)
			if (name == name_hash(&l->cells[i]) &&
			    text != text_hash(&l->cells[i])) {
				msg_error(&l->msg, "%s: the label '%s' belongs"
				    " to another command; choose another"
				    " -l or -o", l->o.out, l->cells[i].label);
				rc = LAP_FAILED;
			}
	}
	free(line);
	fclose(f);
	return rc;
}

/*
 * Marks the run of the current row as done.  Returns whether it was a run of
 * one of this invocation's commands.
 */
static bool
mark_done(struct lap *l, const struct table_reader *r, const int col[COLS])
{
	const char *label = table_value(r, col[COL_LABEL]);
	const char *keys = table_value(r, col[COL_KEYS]);
	int64_t run;

	/*
	 * The row of the whole run is written last; without it, a run is
	 * incomplete.
	 */
	if (strcmp(table_value(r, col[COL_STAGE]), "all") != 0 ||
	    args_int(table_value(r, col[COL_RUN]), 1, INT64_MAX, &run) != 0)
		return false;
	for (size_t i = 0; i < l->cell_count; i++) {
		if (strcmp(l->cells[i].label, label) != 0 ||
		    strcmp(l->cells[i].keys, keys) != 0)
			continue;
		if (run <= l->o.runs)
			l->cells[i].done[(run - 1) / 8] |=
			    (uint8_t)(1U << (run - 1) % 8);
		return true;
	}
	return false;
}

/*
 * Finds the runs of the same commands already in the file.  Returns 0 or an
 * exit status.
 */
static int
find_done_runs(struct lap *l)
{
	static const char *const names[COLS] = { "label", "keys", "run",
		"stage", "series", "seed" };
	struct table_reader *r = NULL;
	int col[COLS], rc = check_notes(l, false);

	if (rc == 0)
		rc = check_notes(l, true);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < l->cell_count; i++) {
		l->cells[i].done = sys_calloc(1, (size_t)l->o.runs / 8 + 1);
		if (l->cells[i].done == NULL)
			rc = -ENOMEM;
	}
	if (rc == 0)
		rc = table_open(&r, l->o.out);
	if (r == NULL && (rc == -ENODATA || rc == -ENOENT))
		return 0;
	for (int i = 0; rc == 0 && i < COLS; i++) {
		col[i] = table_column(r, names[i]);
		rc = col[i] < 0 ? col[i] : 0;
	}
	if (rc != 0)
		goto out;
	while ((rc = table_next(r)) == 1) {
		if (!mark_done(l, r, col))
			continue;
		snprintf(l->series, sizeof(l->series), "%s",
		    table_value(r, col[COL_SERIES]));
		if (!l->o.seeded)
			args_int(table_value(r, col[COL_SEED]), 0, UINT32_MAX,
			    &l->o.seed);
	}
	if (rc == -EINVAL)
		msg_error(&l->msg, "%s:%" PRIu64 ": not a row", l->o.out,
		    table_line(r));
out:
	table_reader_free(r);
	if (rc != 0 && rc != -EINVAL)
		msg_error(&l->msg, "%s: %s", l->o.out, strerror(-rc));
	return rc == 0 ? 0 : LAP_FAILED;
}

int
lap_rows_open(struct lap *l, int argc, char **argv)
{
	const size_t count = sizeof(columns) / sizeof(columns[0]);
	enum table_format format = l->o.json ? TABLE_JSON : TABLE_CSV;
	const char *out = l->o.out;
	int rc;

	provenance_series(l->series);
	if (out == NULL && (l->o.markdown || isatty(STDOUT_FILENO)))
		return 0;
	if (out == NULL || strcmp(out, "-") == 0) {
		out = "standard output";
		rc = table_to_fd(&l->table, STDOUT_FILENO, format, columns,
		    count);
	} else {
		/*
		 * Two instances of lap that append to one file would both
		 * perform all runs.  The lock is on a separate descriptor, and
		 * is released when that is closed.
		 */
		l->lock = sys_openat(AT_FDCWD, out,
		    O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (l->lock < 0)
			rc = l->lock;
		else if (flock(l->lock, LOCK_EX | LOCK_NB) == -1 &&
		    errno == EWOULDBLOCK)
			rc = -EBUSY;
		else
			rc = table_append(&l->table, out, format, columns,
			    count);
	}
	if (rc == 0 && l->o.provenance)
		table_inline_comments(l->table);
	if (rc == 0 && l->o.resume) {
		rc = find_done_runs(l);
		if (rc != 0)
			return rc;
	}
	if (rc == 0)
		rc = write_comments(l, argc, argv);
	if (rc == 0)
		return 0;
	if (rc == -EEXIST)
		msg_error(&l->msg, "%s: the columns do not match this lap "
		    "version; choose another -o", out);
	else
		msg_error(&l->msg, "%s: %s", out, rc == -EBUSY ?
		    "another lap is writing to it" : strerror(-rc));
	return LAP_FAILED;
}

int
lap_rows_close(struct lap *l)
{
	int rc = table_close(l->table);

	if (l->lock >= 0)
		sys_close(l->lock);
	if (rc == 0)
		return 0;
	msg_error(&l->msg, "%s: %s", l->o.out, strerror(-rc));
	return LAP_FAILED;
}

bool
lap_done(const struct lap_cell *c, int64_t run)
{
	return c->done != NULL &&
	    (c->done[(run - 1) / 8] >> (run - 1) % 8 & 1) != 0;
}
