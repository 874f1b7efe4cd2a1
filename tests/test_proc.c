/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure/proc.h"

#include "measure/cgroup.h"
#include "measure/leftover.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { BURN_US = 200000, STAGES = 3 };

/* Uses BURN_US of processor time; the test program invoked as "X burn". */
static int
burn(void)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (t.tv_sec * 1000000 + t.tv_nsec / 1000 < BURN_US);
	return 0;
}

/* Two orphans use CPU time; we wait until they exit, but do not reap them. */
static int
burn_orphans(void)
{
	int fds[2];
	char c;

	if (pipe(fds) == -1)
		return 1;
	for (int i = 0; i < 2; i++)
		if (fork() == 0) {
			if (fork() == 0)
				_exit(burn());
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	close(fds[1]);
	return read(fds[0], &c, 1) != 0;
}

struct fixture {
	struct proc proc;
	struct proc_stage stage[STAGES];
	char *argv[STAGES][4];
	struct proc_run run;
};

static int
setup(void **state)
{
	struct fixture *f = sys_calloc(1, sizeof(*f));

	*state = f;
	return f == NULL ? -1 : proc_open(&f->proc);
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	proc_close(&f->proc);
	sys_free(f);
	return 0;
}

/* Stages that run the shell. */
static void
prepare(struct fixture *f, int count, const char *const *text)
{
	static char sh[] = "/bin/sh", flag[] = "-c";

	f->run = (struct proc_run){ .stages = f->stage, .count = count,
		.in = -1, .out = -1, .err = -1 };
	for (int i = 0; i < count; i++) {
		f->argv[i][0] = sh;
		f->argv[i][1] = flag;
		free(f->argv[i][2]);
		f->argv[i][2] = strdup(text[i]);
		f->argv[i][3] = NULL;
		f->stage[i].path = sh;
		f->stage[i].argv = f->argv[i];
		f->stage[i].envp = environ;
	}
}

static void
run_sh(struct fixture *f, const char *text)
{
	prepare(f, 1, &text);
	assert_int_equal(proc_run(&f->proc, &f->run), 0);
	free(f->argv[0][2]);
	f->argv[0][2] = NULL;
}

/* Runs this program in another role. */
static void
run_self(struct fixture *f, const char *part)
{
	static char self[] = "/proc/self/exe";

	prepare(f, 1, &part);
	f->stage[0].path = self;
	f->argv[0][1] = f->argv[0][2];
	f->argv[0][2] = NULL;
	assert_int_equal(proc_run(&f->proc, &f->run), 0);
	free(f->argv[0][1]);
	assert_int_equal(f->stage[0].status, 0);
}

static void
statuses(void **state)
{
	struct fixture *f = *state;

	run_sh(f, "exit 0");
	assert_int_equal(f->stage[0].status, 0);
	assert_true(f->run.start_ns < f->run.end_ns);
	assert_true(f->stage[0].used.maxrss_KiB > 0);
	run_sh(f, "exit 7");
	assert_int_equal(proc_status(f->stage[0].status), 7);
	run_sh(f, "kill -TERM $$");
	assert_int_equal(proc_status(f->stage[0].status), 128 + SIGTERM);
	assert_int_equal(f->run.left, 0);
	assert_int_equal(f->run.stopped, 0);
	/* our blocked signals do not affect a command */
	run_sh(f, "test \"$(grep SigBlk /proc/self/status | cut -f2)\" = "
	    "0000000000000000");
	assert_int_equal(f->stage[0].status, 0);
}

static void
pipeline(void **state)
{
	static const char *const text[] = { "echo one; exit 3",
		"sed s/one/two/", "read x; test \"$x\" = two" };
	struct fixture *f = *state;

	prepare(f, 3, text);
	f->run.io = true;
	assert_int_equal(proc_run(&f->proc, &f->run), 0);
	assert_int_equal(proc_status(f->stage[0].status), 3);
	assert_int_equal(f->stage[1].status, 0);
	assert_int_equal(f->stage[2].status, 0);
	assert_true(f->stage[1].used.io);
	assert_int_equal(f->stage[1].used.wchar_B, 4);
	assert_true(f->run.start_ns == f->stage[0].start_ns);
	for (int i = 0; i < 3; i++) {
		assert_true(f->stage[i].start_ns < f->stage[i].end_ns);
		assert_true(f->stage[i].end_ns <= f->run.end_ns);
		free(f->argv[i][2]);
		f->argv[i][2] = NULL;
	}
}

static void
not_executable(void **state)
{
	static const char *const text[] = { "sleep 1000", "true" };
	static char none[] = "/nonexistent", folder[] = "/";
	struct fixture *f = *state;

	prepare(f, 2, text);
	f->stage[1].path = none;
	assert_int_equal(proc_run(&f->proc, &f->run), -ENOENT);
	assert_int_equal(f->run.failed, 1);
	f->stage[1].path = folder;
	assert_int_equal(proc_run(&f->proc, &f->run), -EACCES);
	/* the first stage has also ended */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	for (int i = 0; i < 2; i++) {
		free(f->argv[i][2]);
		f->argv[i][2] = NULL;
	}
}

static void
time_out(void **state)
{
	static const char *const text[] = { "sleep 1000 & (sleep 1000 &); "
	    "trap '' TERM; sleep 1000" };
	struct fixture *f = *state;
	uint64_t limit_ns = 100000000;
	int status;

	/* late enough for the shell to ignore TERM by then */
	do {
		limit_ns *= 2;
		prepare(f, 1, text);
		f->run.timeout_ns = limit_ns;
		assert_int_equal(proc_run(&f->proc, &f->run), 0);
		assert_true(f->run.timed_out);
		assert_true(f->run.end_ns - f->run.start_ns >= limit_ns);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		status = proc_status(f->stage[0].status);
	} while (status == 128 + SIGTERM && limit_ns < UINT64_C(60000000000));
	assert_int_equal(status, 128 + SIGKILL);
	free(f->argv[0][2]);
	f->argv[0][2] = NULL;
}

/* A signal to us stops the run; that is reported, and we continue. */
static void
stopped(void **state)
{
	struct fixture *f = *state;

	run_sh(f, "kill -HUP $PPID; sleep 1000");
	assert_int_equal(f->run.stopped, SIGHUP);
	assert_int_equal(proc_status(f->stage[0].status), 128 + SIGKILL);
	assert_false(proc_pending(&f->proc));
	raise(SIGTERM);
	assert_true(proc_pending(&f->proc));
	run_sh(f, "sleep 1000");
	assert_int_equal(f->run.stopped, SIGTERM);
}

static void
left(void **state)
{
	struct fixture *f = *state;

	run_sh(f, "sleep 1000 & (sleep 1000 &) ; (sleep 1000 & sleep 1000) &");
	/* the third process may not have started its two children */
	assert_in_range(f->run.left, 3, 4);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	run_sh(f, "true");
	assert_int_equal(f->run.left, 0);
}

/* Processes that a -p command leaves behind are kept. */
static void
kept(void **state)
{
	static const char *const text[] = {
	    "exec >&2; sleep 1000 2>/dev/null & "
	    "echo $! >kept.pid" };
	struct fixture *f = *state;
	char line[32] = "";
	FILE *file;
	int pid;

	prepare(f, 1, text);
	f->run.keep = true;
	assert_int_equal(proc_run(&f->proc, &f->run), 0);
	run_sh(f, "true");
	assert_int_equal(f->run.left, 0);
	file = fopen("kept.pid", "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	pid = atoi(line);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	unlink("kept.pid");
}

/* Processor time is neither lost nor counted twice; starting takes time too. */
static void
in_range_us(uint64_t us, uint64_t want)
{
	if (us < want || us >= 2 * want)
		fail_msg("%ju us, not %ju", (uintmax_t)us, (uintmax_t)want);
}

/* Checks processor time: the command's, its orphans', and the group's total. */
static void
processor_time(void **state)
{
	struct fixture *f = *state;
	const struct proc_usage *u = &f->run.orphans;
	char id[LEFTOVER_ID_B], name[LEFTOVER_ID_B + 16];
	struct cgroup g;
	int64_t before;

	run_self(f, "burn");
	in_range_us(f->stage[0].used.user_us + f->stage[0].used.sys_us,
	    BURN_US);
	run_self(f, "orphans");
	in_range_us(u->user_us + u->sys_us, 2 * BURN_US);

	assert_int_equal(leftover_id(id), 0);
	snprintf(name, sizeof(name), "test.%s", id);
	if (cgroup_create(&g, name) != 0) {
		print_message("no control group to be had\n");
		return;
	}
	f->proc.group = &g;
	assert_true(proc_try_group(&f->proc));
	before = cgroup_cpu_us(&g);
	run_self(f, "orphans");
	assert_ptr_equal(f->proc.group, &g);
	in_range_us((uint64_t)(cgroup_cpu_us(&g) - before), 2 * BURN_US);
	/* an orphan may have closed its end of the pipe and still exist */
	assert_int_equal(cgroup_renew(&g), 0);
	run_sh(f, "grep -q test /proc/self/cgroup");
	assert_int_equal(f->stage[0].status, 0);
	run_sh(f, "sleep 1000 & sleep 1000 &");
	assert_int_equal(f->run.left, 2);
	assert_true(g.killed);
	assert_int_equal(cgroup_renew(&g), 0);
	run_sh(f, "sleep 0");
	assert_int_equal(f->stage[0].status, 0);
	assert_int_equal(f->run.left, 0);
	assert_false(g.killed);
	f->proc.group = NULL;
	cgroup_remove(&g);
}

static void
finding(void **state)
{
	char *s = NULL;

	(void)state;
	assert_int_equal(proc_find("sh", "/nonexistent:/bin", &s), 0);
	assert_string_equal(s, "/bin/sh");
	sys_free(s);
	assert_int_equal(proc_find("./x", "/bin", &s), 0);
	assert_string_equal(s, "./x");
	sys_free(s);
	assert_int_equal(proc_find("no such", "/bin:/usr/bin", &s), -ENOENT);
	assert_int_equal(proc_find("", "/bin", &s), -ENOENT);
	assert_int_equal(proc_find("passwd", "/etc", &s), -EACCES);
}

/*
 * Returns the exit status of a process that calls proc_end() after the run is
 * over.
 */
static int
end_late(void)
{
	struct proc p;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (proc_open(&p) != 0)
		return 1;
	p.self = getpid();
	proc_end(&p);
	proc_close(&p);
	return 0;
}

static void
late_end(void **state)
{
	pid_t pid = fork();
	int status = -1;

	(void)state;
	if (pid == 0)
		_exit(end_late());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
identities(void **state)
{
	char id[LEFTOVER_ID_B], other[LEFTOVER_ID_B + 8], *dot;

	(void)state;
	assert_int_equal(leftover_id(id), 0);
	assert_false(leftover_dead(id));
	/* the same PID, but started at another time */
	snprintf(other, sizeof(other), "%s1", id);
	assert_true(leftover_dead(other));
	/* processes in another namespace do not concern us */
	dot = strchr(other, '.');
	assert_non_null(dot);
	memmove(other + 1, dot, strlen(dot) + 1);
	other[0] = '9';
	assert_false(leftover_dead(other));
	assert_false(leftover_dead(""));
	assert_false(leftover_dead("1.2"));
	assert_false(leftover_dead("1.2.3.4"));
	assert_false(leftover_dead("1.-2.3"));
	assert_false(leftover_dead("99999999999999999999999.1.1"));
}

int
main(int argc, char *argv[])
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses),
		cmocka_unit_test(pipeline),
		cmocka_unit_test(not_executable),
		cmocka_unit_test(time_out),
		cmocka_unit_test(stopped),
		cmocka_unit_test(left),
		cmocka_unit_test(kept),
		cmocka_unit_test(processor_time),
		cmocka_unit_test(finding),
		cmocka_unit_test(late_end),
		cmocka_unit_test(identities),
	};

	if (argc > 1)
		return strcmp(argv[1], "burn") == 0 ? burn() : burn_orphans();
	return cmocka_run_group_tests(tests, setup, teardown);
}
