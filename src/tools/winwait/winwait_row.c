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

/* Returns the time from the start to a later time, in ms. */
static double
since(const struct proc_run *r, uint64_t ns)
{
	return ns == 0 || ns < r->start_ns ? NAN :
	    (double)(ns - r->start_ns) / 1e6;
}

int
winwait_write(struct winwait *w, const struct proc_run *r)
{
	enum { COUNT = sizeof(columns) / sizeof(columns[0]) };
	char series[PROVENANCE_SERIES_B] = "";
	const struct provenance p = { .series = series, .tool = "winwait",
		.argc = w->o.argc, .argv = w->o.argv };
	enum table_format format = w->o.json ? TABLE_JSON : TABLE_CSV;
	static const char *const results[] = { [RESULT_NONE] = "exit",
	    [RESULT_SEEN] = "seen", [RESULT_ERROR_WINDOW] = "error",
	    [RESULT_LOST] = "lost" };
	const char *what = w->o.line ? "line" : "window";
	const struct winwait_seen *s = &w->seen;
	int status = r->stages[0].status, rc, closed;
	/* otherwise winwait itself killed the command */
	bool own = s->result == RESULT_NONE && !r->timed_out;
	bool times = s->result == RESULT_SEEN;
	struct proc_usage u = r->stages[0].used;
	struct table *t;

	if (!w->o.csv && !w->o.json && w->o.output == NULL) {
		if (s->result == RESULT_ERROR_WINDOW)
			printf("error: a window of class '%s', titled '%s'\n",
			    s->class, s->title);
		else if (times)
			printf("%.1f ms  %s\n", since(r, s->seen_ns),
			    w->o.line ? "line" : s->class);
		else if (r->timed_out)
			printf("timeout: no %s within %g s\n", what,
			    w->o.timeout_s);
		else
			printf("exit: no %s before the command exited with "
			    "status %d\n", what, proc_status(status));
		return 0;
	}
	rc = w->o.output != NULL ? table_append(&t, w->o.output, format,
	    columns, COUNT) : table_to_fd(&t, STDOUT_FILENO, format, columns,
	    COUNT);
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
		table_text(t, what);
		table_text(t, s->result == RESULT_NONE && r->timed_out ?
		    "timeout" : results[s->result]);
		table_real(t, (double)r->start_ns / 1e9, 6);
		table_real(t, times ? since(r, s->created_ns) : NAN, 3);
		table_real(t, times ? since(r, s->mapped_ns) : NAN, 3);
		table_real(t, times ? since(r, s->seen_ns) : NAN, 3);
		table_real(t, times ? since(r, s->quiet_ns) : NAN, 3);
		table_text(t, s->class[0] != '\0' ? s->class : NULL);
		table_text(t, s->title[0] != '\0' ? s->title : NULL);
		proc_usage_add(&u, &r->orphans);
		table_real(t, (double)u.user_us / 1e6, 6);
		table_real(t, (double)u.sys_us / 1e6, 6);
		table_int(t, u.majflt);
		table_int(t, r->left);
		table_known(t, own && WIFEXITED(status) ?
		    WEXITSTATUS(status) : -1);
		table_known(t, own && WIFSIGNALED(status) ?
		    WTERMSIG(status) : -1);
		rc = table_end(t);
	}
	closed = table_close(t);
	return rc < 0 ? rc : closed;
}
