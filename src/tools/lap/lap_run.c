/*
 * lap_run.c - the steps before and after a run, and its environment
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * None of this is part of the measured time; see proc.c.
 */
#include "lap.h"

#include "base/flatjson.h"
#include "base/sys.h"
#include "base/utc.h"
#include "measure/caches.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
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

enum { SLOT_LABEL, SLOT_RUN, SLOT_ID, SLOT_STAGE, SLOT_STATS, SLOTS };

enum { LINE_MAX_B = 4096 };

/* Returns whether lap sets this variable. */
static bool
is_own_variable(const char *s)
{
	static const char *const names[] = { "LAP_LABEL=", "LAP_RUN=",
		"LAP_ID=", "LAP_STAGE=", "PZC_STATS=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(s, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Builds the environments of all stages.  Returns 0 or LAP_FAILED. */
static int
open_environments(struct lap *l)
{
	const char *tmp = getenv("TMPDIR");
	int stages = 0, rc = 0;

	if (!l->o.plain) {
		tmp = tmp != NULL && *tmp != '\0' ? tmp : "/tmp";
		leftover_remove(tmp, "lap");
		if ((size_t)snprintf(l->dir, sizeof(l->dir), "%s/lap.%s", tmp,
		    l->id) >= sizeof(l->dir)) {
			rc = -ENAMETOOLONG;
		} else if (mkdir(l->dir, 0700) == -1) {
			*l->dir = '\0';
			rc = -errno;
		} else {
			l->dirfd = sys_openat(AT_FDCWD, l->dir,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
			rc = l->dirfd < 0 ? l->dirfd : 0;
		}
	}
	for (uint32_t i = 0; i < l->cell_count; i++)
		if (l->cells[i].count > stages)
			stages = l->cells[i].count;
	for (char **e = environ; *e != NULL; e++)
		l->env_base += !is_own_variable(*e);
	snprintf(l->env_id, sizeof(l->env_id), "LAP_ID=%s", l->id);
	l->reports = sys_calloc((size_t)stages, sizeof(*l->reports));
	l->envs = sys_calloc((size_t)stages + 1, sizeof(*l->envs));
	if (rc == 0 && (l->envs == NULL || l->reports == NULL))
		rc = -ENOMEM;
	/* the environment of each stage; stage 0 is -p */
	for (int s = 0; rc == 0 && s <= stages; s++) {
		size_t size = strlen(l->dir) + 64;
		char **env = sys_calloc((size_t)l->env_base + SLOTS + 1,
		    sizeof(*env)), *text;
		int n = 0;

		l->envs[l->env_count++] = env;
		if (env == NULL) {
			rc = -ENOMEM;
			break;
		}
		for (char **e = environ; *e != NULL; e++)
			if (!is_own_variable(*e))
				env[n++] = *e;
		env[n + SLOT_RUN] = l->env_run;
		if (s == 0)
			continue;
		env[n + SLOT_ID] = l->env_id;
		text = sys_malloc(size);
		if (text == NULL) {
			rc = -ENOMEM;
			break;
		}
		env[n + SLOT_STAGE] = text;
		text += snprintf(text, size, "LAP_STAGE=%d", s) + 1;
		if (*l->dir != '\0') {
			snprintf(text, size - 32, "PZC_STATS=%s/%d", l->dir, s);
			env[n + SLOT_STATS] = text;
		}
	}
	for (uint32_t i = 0; rc == 0 && i < l->cell_count; i++)
		for (int k = 0; k < l->cells[i].count; k++)
			l->cells[i].stages[k].envp = l->envs[k + 1];
	if (rc == 0)
		return 0;
	msg_error(&l->msg, "%s: %s", *l->dir != '\0' ? l->dir :
	    "temporary files", strerror(-rc));
	return LAP_FAILED;
}

int
lap_run_open(struct lap *l)
{
	char name[LEFTOVER_ID_B + 8];
	bool cold = false;
	struct stat st;

	if (open_environments(l) != 0)
		return LAP_FAILED;
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
	for (int s = 0; l->envs != NULL && s < l->env_count; s++) {
		/* the text of SLOT_STATS is in the same allocation */
		if (s > 0 && l->envs[s] != NULL)
			sys_free(l->envs[s][l->env_base + SLOT_STAGE]);
		sys_free(l->envs[s]);
	}
	sys_free(l->envs);
	sys_free(l->reports);
	if (*l->dir != '\0')
		leftover_rmdir(AT_FDCWD, l->dir);
	if (l->dirfd >= 0)
		sys_close(l->dirfd);
}

/* Reads the last line of the file with this name, and removes the file. */
static void
read_report(const struct lap *l, const char *name, double report[LAP_REPORTS])
{
	static const char *const names[LAP_REPORTS] = {
		[LAP_IN_B] = "in_B", [LAP_OUT_B] = "out_B",
		[LAP_STALL_IN] = "stall_in_s", [LAP_STALL_OUT] = "stall_out_s",
		[LAP_STALL_WORK] = "stall_work_s"
	};
	int fd = sys_openat(l->dirfd, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	char text[LINE_MAX_B];
	struct flatjson j;
	const char *line;
	ssize_t n = -1;
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = sys_pread(fd, text, sizeof(text),
		    st.st_size > LINE_MAX_B ? st.st_size - LINE_MAX_B : 0);
	sys_close(fd);
	sys_unlinkat(l->dirfd, name, 0);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n <= 0)
		return;
	line = memrchr(text, '\n', (size_t)n);
	line = line == NULL ? text : line + 1;
	if (flatjson_open(&j, line, (size_t)(text + n - line)) != 0)
		return;
	while (flatjson_next(&j) == 1)
		for (int i = 0; j.is_number && i < LAP_REPORTS; i++)
			if (strlen(names[i]) == j.name_len &&
			    memcmp(names[i], j.name, j.name_len) == 0)
				report[i] = j.number;
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

/* Returns whether the descriptor is of this file. */
static bool
is_same(const struct stat *st, int fd)
{
	struct stat own;

	return fstat(fd, &own) == 0 && st->st_dev == own.st_dev &&
	    st->st_ino == own.st_ino;
}

/* Opens the standard input and output of the run.  Returns 0 or LAP_FAILED. */
static int
open_ends(struct lap *l, struct proc_run *r)
{
	struct stat st;

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
	/* lap's own standard output or error must not be truncated */
	if (fstat(r->out, &st) == -1 || !S_ISREG(st.st_mode) ||
	    is_same(&st, STDOUT_FILENO) || is_same(&st, STDERR_FILENO))
		return 0;
	/* nor may its rows, or what the commands are to read */
	if (is_same(&st, l->lock) ||
	    (l->in_at >= 0 && is_same(&st, STDIN_FILENO))) {
		msg_error(&l->msg, "--stdout %s: it is %s; not overwritten",
		    l->o.to, is_same(&st, l->lock) ? "the file of the rows" :
		    "the standard input");
		return LAP_FAILED;
	}
	return ftruncate(r->out, 0) == -1 ?
	    report_failed(l, l->o.to, -errno) : 0;
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
	char name[12];
	uint64_t now;
	int rc = 0, status;

	snprintf(l->env_run, sizeof(l->env_run), "LAP_RUN=%" PRId64, run);
	for (int s = 0; s <= c->count; s++)
		l->envs[s][l->env_base + SLOT_LABEL] = c->label_env;
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
	now = sys_now_ns();
	if (!l->o.plain && now - l->stalls_ns > FRESH_NS)
		pressure_read_stalls(&l->pressure, &l->last);
	/* steal is counted in ticks: a reading less than a tick old is exact */
	if (!l->o.plain &&
	    now - l->steal_ns > (uint64_t)l->pressure.tick_ns) {
		pressure_read_steal(&l->pressure, &l->last);
		l->steal_ns = now;
	}
	r.before = l->last;
	if (!l->o.plain && l->o.net != NULL) {
		l->net.rx_B = read_counter(l->net.rx);
		l->net.tx_B = read_counter(l->net.tx);
	}
	if (l->grouped)
		cgroup_mark(&l->group);
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
	r.reports = l->reports;
	for (int s = 0; s < c->count; s++) {
		for (int i = 0; i < LAP_REPORTS; i++)
			l->reports[s][i] = NAN;
		snprintf(name, sizeof(name), "%d", s + 1);
		if (*l->dir != '\0')
			read_report(l, name, l->reports[s]);
	}
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
