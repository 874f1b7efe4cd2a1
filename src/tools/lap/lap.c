/*
 * lap.c - run commands and pipelines, one raw row per run
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * lap_options.c and lap_cells.c parse the command line, lap_run.c performs one
 * run using proc.h, and lap_rows.c writes the result.  This file runs the
 * rounds.
 *
 * lap uses little memory, because its own memory is a lower bound on the peak
 * that it can measure for a command: rows are written as they are produced, and
 * memory use does not grow with their number.
 */
#include "lap.h"

#include "base/stats.h"
#include "base/sys.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The progress line with the time left, shown only on a terminal. */
struct progress {
	bool shown, wanted;
	bool open;			/* the number of runs is unknown */
	uint64_t start_ns, last_ns;
	int64_t done, total;
};

static void
show_progress(struct progress *p)
{
	uint64_t now;
	double spent;

	p->done++;
	if (!p->wanted)
		return;
	now = sys_now_ns();
	if (now - p->start_ns < 2000000000 || now - p->last_ns < 500000000)
		return;
	p->last_ns = now;
	p->shown = true;
	spent = (double)(now - p->start_ns) / 1e9;
	if (p->open) {
		fprintf(stderr, "\r%" PRId64 " runs, %.2f/s \033[K", p->done,
		    (double)p->done / spent);
		return;
	}
	fprintf(stderr, "\r%" PRId64 "/%" PRId64 " runs, %.0f %%, %.2f/s, "
	    "%.0f s left \033[K", p->done, p->total,
	    100.0 * (double)p->done / (double)p->total,
	    (double)p->done / spent,
	    spent / (double)p->done * (double)(p->total - p->done));
}

/*
 * Runs all rounds, after the warm-up rounds: each command once, in an order
 * that depends only on the seed and the round, so that a resumed series
 * continues in the same order.  Returns the result of lap_run_one().
 */
static int
run_rounds(struct lap *l)
{
	struct progress p = { .start_ns = sys_now_ns() };
	uint64_t measured_ns = 0;
	int rc = 0;

	/* the runs that are not yet in the file */
	for (size_t i = 0; i < l->cell_count; i++)
		for (int64_t run = 1; run <= l->o.runs; run++)
			p.total += !lap_done(&l->cells[i], run);
	if (p.total == 0)
		return 0;
	p.total += l->o.warmup * (int64_t)l->cell_count;
	p.open = lap_is_adaptive(&l->o);
	p.wanted = !l->msg.quiet && isatty(STDERR_FILENO);
	for (int64_t r = 1 - l->o.warmup; r <= l->o.runs && rc == 0 &&
	    !proc_pending(&l->proc); r++) {
		int64_t round = r > 0 ? r : r - 1, run = r > 0 ? r : 0;
		uint64_t state = (uint64_t)l->o.seed << 32 ^ (uint64_t)round;

		if (r == 1)
			measured_ns = sys_now_ns();
		if (p.open && r > 1 && lap_enough(l, measured_ns))
			break;
		stats_shuffle(&state, l->order, (uint32_t)l->cell_count);
		for (size_t i = 0; i < l->cell_count && rc == 0; i++) {
			struct lap_cell *c = &l->cells[l->order[i]];

			if (run > 0 && lap_done(c, run))
				continue;
			if (proc_pending(&l->proc))
				break;
			rc = lap_run_one(l, c, run, run, (int64_t)i + 1);
			show_progress(&p);
		}
		l->rounds = run;
	}
	if (p.shown)
		fputs("\r\033[K", stderr);
	return rc;
}

int
main(int argc, char *argv[])
{
	struct lap l = { .dirfd = -1, .in_at = -1, .samples = -1, .lock = -1,
		.net = { .rx = -1, .tx = -1 } };
	int rc, closed;

	msg_init(&l.msg, argv[0]);
	rc = proc_open(&l.proc);
	if (rc != 0) {
		msg_error(&l.msg, "commands cannot be run: %s",
		    strerror(-rc));
		return LAP_FAILED;
	}
	rc = lap_parse(&l, argc, argv);
	if (rc >= 0) {
		lap_cells_free(&l);
		proc_close(&l.proc);
		return rc;
	}
	rc = leftover_id(l.id);
	if (rc != 0) {
		msg_error(&l.msg, "/proc: %s", strerror(-rc));
		rc = LAP_FAILED;
		goto out;
	}
	leftover_kill();
	rc = lap_cells_read(&l);
	if (rc == 0)
		rc = lap_run_open(&l);
	if (rc == 0)
		rc = lap_rows_open(&l, argc, argv);
	if (!l.msg.quiet || l.o.markdown || l.o.within > 0)
		l.samples = memfd_create("lap", MFD_CLOEXEC);
	if (rc == 0)
		rc = run_rounds(&l);
out:
	closed = lap_rows_close(&l);
	if (rc == 0)
		rc = closed;
	if (rc == 0 && (!l.msg.quiet || l.o.markdown))
		rc = lap_summary(&l);
	if (rc == 0 && l.table == NULL && !l.o.markdown)
		msg_note(&l.msg, "the rows were not saved; -o FILE saves them");
	if (rc < 0 && l.o.out != NULL && !l.o.json)
		msg_note(&l.msg, "stopped; the same command with -r runs the "
		    "rest");
	lap_run_close(&l);
	lap_cells_free(&l);
	if (l.samples >= 0)
		sys_close(l.samples);
	/*
	 * The closed pipe has already been reported as an error; the signal
	 * would only repeat it.
	 */
	signal(SIGPIPE, SIG_IGN);
	proc_close(&l.proc);
	/* If stopped by a signal, terminate by the same signal. */
	if (rc < 0)
		proc_raise(-rc);
	if (rc == 0)
		rc = l.status;
	return msg_finish(&l.msg) == MSG_ERROR && rc == 0 ? LAP_FAILED : rc;
}
