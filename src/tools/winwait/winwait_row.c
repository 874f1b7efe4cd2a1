/*
 * winwait_row.c - reporting the result as a row or as text
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "winwait.h"

#include "base/sys.h"
#include "base/table.h"
#include "measure/provenance.h"

#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const columns[] = {
	"series", "criterion", "result", "start_s", "created_ms", "mapped_ms",
	"seen_ms", "quiet_ms", "class", "title", "user_s", "sys_s", "majflt",
	"left", "exit", "signal"
};

/* Returns the total resource usage of the command's processes. */
static struct proc_usage
used(const struct proc_run *r)
{
	struct proc_usage sum = r->stages[0].used;

	proc_usage_add(&sum, &r->orphans);
	return sum;
}

/* Returns the time from the start to a later time, in ms. */
static double
since(const struct proc_run *r, uint64_t ns)
{
	return ns == 0 || ns < r->start_ns ? NAN :
	    (double)(ns - r->start_ns) / 1e6;
}

const char *
winwait_result(const struct winwait *w, const struct proc_run *r)
{
	switch (w->seen.result) {
	case RESULT_SEEN: return "seen";
	case RESULT_ERROR_WINDOW: return "error";
	case RESULT_LOST: return "lost";
	default: return r->timed_out ? "timeout" : "exit";
	}
}

static void
put_row(struct table *t, const struct winwait *w, const struct proc_run *r)
{
	const struct winwait_seen *s = &w->seen;
	struct proc_usage u = used(r);
	int status = r->stages[0].status;
	/* otherwise winwait itself killed the command */
	bool own = s->result == RESULT_NONE && !r->timed_out;
	bool times = s->result == RESULT_SEEN;

	table_text(t, w->o.line ? "line" : "window");
	table_text(t, winwait_result(w, r));
	table_real(t, (double)r->start_ns / 1e9, 6);
	table_real(t, times ? since(r, s->created_ns) : NAN, 3);
	table_real(t, times ? since(r, s->mapped_ns) : NAN, 3);
	table_real(t, times ? since(r, s->seen_ns) : NAN, 3);
	table_real(t, times ? since(r, s->quiet_ns) : NAN, 3);
	table_text(t, s->class[0] != '\0' ? s->class : NULL);
	table_text(t, s->title[0] != '\0' ? s->title : NULL);
	table_real(t, (double)u.user_us / 1e6, 6);
	table_real(t, (double)u.sys_us / 1e6, 6);
	table_int(t, u.majflt);
	table_int(t, r->left);
	table_known(t, own && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	table_known(t, own && WIFSIGNALED(status) ? WTERMSIG(status) : -1);
}

static int
write_result_row(const struct winwait *w, const struct proc_run *r)
{
	enum { COUNT = sizeof(columns) / sizeof(columns[0]) };
	char series[PROVENANCE_SERIES_B] = "";
	const struct provenance p = { .series = series, .tool = "winwait",
		.argc = w->o.argc, .argv = w->o.argv };
	enum table_format format = w->o.json ? TABLE_JSON : TABLE_CSV;
	struct table *t;
	int rc = w->o.output != NULL ? table_append(&t, w->o.output, format,
	    columns, COUNT) : table_to_fd(&t, STDOUT_FILENO, format, columns,
	    COUNT), closed;

	if (rc != 0)
		return rc;
	if (w->o.provenance)
		table_inline_comments(t);
	/* A launch that is repeated continues the series. */
	if (w->o.output != NULL)
		rc = provenance_again(w->o.output, w->o.provenance, &p,
		    series);
	if (rc == 0) {
		provenance_series(series);
		rc = provenance_write(t, &p);
	}
	if (rc >= 0) {
		table_text(t, series);
		put_row(t, w, r);
		rc = table_end(t);
	}
	closed = table_close(t);
	return rc < 0 ? rc : closed;
}

static void
say(const struct winwait *w, const struct proc_run *r)
{
	const struct winwait_seen *s = &w->seen;
	const char *what = w->o.line ? "line" : "window";

	if (s->result == RESULT_ERROR_WINDOW)
		printf("error: a window of class '%s', titled '%s'\n", s->class,
		    s->title);
	else if (s->result != RESULT_SEEN && r->timed_out)
		printf("timeout: no %s within %g s\n", what, w->o.timeout_s);
	else if (s->result != RESULT_SEEN)
		printf("exit: no %s before the command exited with status %d\n",
		    what, proc_status(r->stages[0].status));
	else
		printf("%.1f ms  %s\n", since(r, s->seen_ns), w->o.line ?
		    "line" : s->class);
}

int
winwait_write(struct winwait *w, const struct proc_run *r)
{
	if (w->o.csv || w->o.json || w->o.output != NULL)
		return write_result_row(w, r);
	say(w, r);
	return 0;
}
