/*
 * lap_run.c - the steps before and after a run
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * None of this is part of the measured time; see proc.c.
 */
#include "lap.h"

#include "base/sys.h"
#include "base/utc.h"
#include "measure/caches.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A reading of the machine's counters is reused for the next run if it is no
 * older than this.
 */
static const uint64_t FRESH_NS = 1000000;

static int
report_failed(struct lap *l, const char *what, int rc)
{
	msg_error(&l->msg, "%s: %s", what, strerror(-rc));
	return LAP_FAILED;
}

static int
open_counter(const char *iface, const char *name)
{
	char path[256];

	if (strchr(iface, '/') != NULL || (size_t)snprintf(path, sizeof(path),
	    "/sys/class/net/%s/statistics/%s", iface, name) >= sizeof(path))
		return -ENOENT;
	return sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

static int64_t
read_counter(int fd)
{
	char text[32];
	ssize_t n = fd < 0 ? -1 : sys_pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	return strtoll(text, NULL, 10);
}

int
lap_run_open(struct lap *l)
{
	char name[LEFTOVER_ID_B + 8];
	bool cold = false;
	struct stat st;

	for (size_t i = 0; i < l->cell_count; i++)
		cold |= l->cells[i].cold;
	if (cold) {
		int rc = caches_may_drop();

		if (rc != 0)
			return report_failed(l, "cannot drop caches", rc);
	}
	if (l->o.net != NULL) {
		l->net.rx = open_counter(l->o.net, "rx_bytes");
		l->net.tx = open_counter(l->o.net, "tx_bytes");
		if (l->net.rx < 0 || l->net.tx < 0)
			return report_failed(l, l->o.net, l->net.rx < 0 ?
			    l->net.rx : l->net.tx);
	}
	/* Reopen the file for each run, so that each run has its own offset. */
	if (fstat(STDIN_FILENO, &st) == 0 &&
	    (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
		l->in_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	if (l->o.plain)
		return 0;
	pressure_open(&l->pressure);
	leftover_end_groups("lap");
	snprintf(name, sizeof(name), "lap.%s", l->id);
	l->grouped = cgroup_create(&l->group, name) == 0;
	l->proc.group = l->grouped ? &l->group : NULL;
	proc_try_group(&l->proc);
	return 0;
}

void
lap_run_close(struct lap *l)
{
	const int fds[] = { l->net.rx, l->net.tx };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			sys_close(fds[i]);
	if (l->grouped)
		cgroup_remove(&l->group);
	if (!l->o.plain)
		pressure_close(&l->pressure);
}

/* Runs the -p command.  Returns 0, LAP_FAILED, or -N if signal N stopped it. */
static int
run_prepare(struct lap *l, const struct lap_cell *c)
{
	static char shell[] = "/bin/sh", name[] = "sh", flag[] = "-c";
	char *text = strdup(c->prepare);
	char *argv[] = { name, flag, text, NULL };
	struct proc_stage st = { .path = shell, .argv = argv,
		.envp = l->envs[0] };
	struct proc_run r = { .stages = &st, .count = 1, .in = -1,
		.out = STDERR_FILENO, .err = -1, .keep = true };
	int rc = text == NULL ? -ENOMEM : proc_run(&l->proc, &r);

	free(text);
	if (rc != 0)
		return report_failed(l, c->prepare, rc);
	if (r.stopped != 0)
		return -r.stopped;
	if (st.status != 0) {
		msg_error(&l->msg, "the -p command exited with status %d",
		    proc_status(st.status));
		return LAP_FAILED;
	}
	return 0;
}

/* Opens the standard input and output of the run.  Returns 0 or LAP_FAILED. */
static int
open_ends(struct lap *l, struct proc_run *r)
{
	struct stat st, own;
	bool ours = false;

	if (l->in_at >= 0) {
		r->in = sys_openat(AT_FDCWD, "/proc/self/fd/0",
		    O_RDONLY | O_CLOEXEC, 0);
		if (r->in < 0)
			return report_failed(l, "standard input", r->in);
		if (lseek(r->in, l->in_at, SEEK_SET) == -1)
			return report_failed(l, "standard input", -errno);
	}
	if (l->o.show) {
		r->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		if (r->out < 0)
			return report_failed(l, "standard output", -errno);
	}
	if (l->o.show || l->o.to == NULL)
		return 0;
	r->out = sys_openat(AT_FDCWD, l->o.to,
	    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (r->out < 0)
		return report_failed(l, l->o.to, r->out);
	if (fstat(r->out, &st) == -1)
		return 0;
	/* lap's own standard output or error must not be truncated */
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		ours |= fstat(fd, &own) == 0 && st.st_dev == own.st_dev &&
		    st.st_ino == own.st_ino;
	if (!ours && S_ISREG(st.st_mode) && ftruncate(r->out, 0) == -1)
		return report_failed(l, l->o.to, -errno);
	return 0;
}

static void
look_before(struct lap *l, struct lap_run *r)
{
	uint64_t now = sys_now_ns();

	if (now - l->stalls_ns > FRESH_NS)
		pressure_read_stalls(&l->pressure, &l->last);
	/*
	 * Steal is counted in ticks: a reading less than a tick old is exact.
	 */
	if (now - l->steal_ns > (uint64_t)l->pressure.tick_ns) {
		pressure_read_steal(&l->pressure, &l->last);
		l->steal_ns = now;
	}
	r->before = l->last;
	if (l->o.net != NULL) {
		l->net.rx_B = read_counter(l->net.rx);
		l->net.tx_B = read_counter(l->net.tx);
	}
	if (l->grouped)
		cgroup_mark(&l->group);
}

static void
look_after(struct lap *l, struct lap_run *r)
{
	bool ticked = r->proc.end_ns - r->proc.start_ns >=
	    (uint64_t)l->pressure.tick_ns;

	pressure_read_stalls(&l->pressure, &l->last);
	if (ticked)
		pressure_read_steal(&l->pressure, &l->last);
	l->stalls_ns = sys_now_ns();
	if (ticked)
		l->steal_ns = l->stalls_ns;
	r->after = l->last;
	if (!ticked)
		r->after.steal_ns = -1;
	if (l->o.net != NULL) {
		r->rx_B = read_counter(l->net.rx) - l->net.rx_B;
		r->tx_B = read_counter(l->net.tx) - l->net.tx_B;
	}
	if (l->proc.group != NULL) {
		int64_t now = cgroup_cpu_us(&l->group);

		/* The group contains no other processes. */
		r->tree_cpu_us = now - l->last_cpu_us;
		l->last_cpu_us = now;
		r->cg_peak_B = cgroup_peak_B(&l->group);
		/* replace the group if processes in it were killed */
		if (l->group.killed) {
			l->last_cpu_us = 0;
			if (cgroup_renew(&l->group) != 0) {
				l->grouped = false;
				l->proc.group = NULL;
			}
		}
	}
}

int
lap_run_status(const struct lap_run *r)
{
	for (int i = r->proc.count - 1; i >= 0; i--)
		if (r->proc.stages[i].status != 0)
			return r->proc.stages[i].status;
	return 0;
}

int
lap_run_one(struct lap *l, struct lap_cell *c, int64_t run, int64_t round,
    int64_t pos)
{
	struct lap_run r = { .cell = c, .run = run, .round = round, .pos = pos,
		.tree_cpu_us = -1, .cg_peak_B = -1, .rx_B = -1, .tx_B = -1,
		.to_B = -1,
		.proc = { .stages = c->stages, .count = c->count, .in = -1,
		    .out = -1, .err = -1, .io = !l->o.plain,
		    .timeout_ns = (uint64_t)(l->o.timeout_s * 1e9) } };
	struct stat st;
	int rc = 0, status;

	lap_env_set(l, c, run);
	if (c->prepare != NULL && *c->prepare != '\0')
		rc = run_prepare(l, c);
	if (rc == 0 && c->cold) {
		rc = caches_drop();
		if (rc != 0) {
			msg_error(&l->msg, "cannot drop caches: %s",
			    caches_reason(rc));
			return LAP_FAILED;
		}
	}
	if (rc == 0)
		rc = open_ends(l, &r.proc);
	if (rc != 0)
		return rc;
	if (!l->o.plain)
		look_before(l, &r);
	r.utc_ns = utc_now_ns();
	rc = proc_run(&l->proc, &r.proc);
	if (!l->o.plain)
		look_after(l, &r);
	if (r.proc.out >= 0) {
		if (fstat(r.proc.out, &st) == 0 && S_ISREG(st.st_mode))
			r.to_B = st.st_size;
		sys_close(r.proc.out);
	}
	if (r.proc.in >= 0)
		sys_close(r.proc.in);
	if (rc != 0) {
		if (r.proc.failed < 0)
			return report_failed(l, c->label, rc);
		msg_error(&l->msg, "%s: %s",
		    r.proc.stages[r.proc.failed].argv[0], strerror(-rc));
		return rc == -ENOENT ? LAP_NOT_FOUND : LAP_CANNOT_RUN;
	}
	if (r.proc.stopped != 0)
		return -r.proc.stopped;
	status = proc_status(lap_run_status(&r));
	if (l->status == 0)
		l->status = status;
	lap_reports_read(l, &r);
	if (run == 0)
		return 0;
	lap_sample(l, &r);
	rc = lap_rows_write(l, &r);
	if (rc != 0)
		return report_failed(l, l->o.out != NULL ? l->o.out :
		    "standard output", rc);
	if (!l->o.fail_fast || status == 0)
		return 0;
	msg_error(&l->msg, "%s: run %" PRId64 " exited with status %d; stopped "
	    "by --fail-fast", c->label, run, status);
	return status;
}
