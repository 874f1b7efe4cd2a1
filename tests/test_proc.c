/*
 * test_proc.c - running commands: status, limits, what they leave behind
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc_shell.h"

#include "measure/leftover.h"
#include "base/sys.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/*
 * Nothing can be killed, all waiting is in vain, and each look at the clock takes
 * a second.
 */
static bool deaf;
static uint64_t late;

int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);
int __real_sigtimedwait(const sigset_t *set, siginfo_t *info,
    const struct timespec *timeout);
int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info,
    const struct timespec *timeout);
uint64_t __real_sys_now_ns(void);
uint64_t __wrap_sys_now_ns(void);

int
__wrap_kill(pid_t pid, int sig)
{
	return deaf ? 0 : __real_kill(pid, sig);
}

int
__wrap_sigtimedwait(const sigset_t *set, siginfo_t *info,
    const struct timespec *timeout)
{
	if (!deaf)
		return __real_sigtimedwait(set, info, timeout);
	errno = EAGAIN;
	return -1;
}

uint64_t
__wrap_sys_now_ns(void)
{
	late += deaf ? UINT64_C(1000000000) : 0;
	return __real_sys_now_ns() + late;
}

/* What cannot be killed is not waited for. */
static void
immortal(void **state)
{
	static const char *const text[] = { "exec sleep 1000" };
	struct fixture *f = *state;
	int status;

	prepare(f, 1, text);
	f->run.timeout_ns = 50000000;
	deaf = true;
	assert_int_equal(proc_run(&f->proc, &f->run), -ETIMEDOUT);
	deaf = false;
	assert_true(f->run.timed_out);
	assert_true(f->stage[0].pid > 0);
	assert_int_equal(kill(f->stage[0].pid, SIGKILL), 0);
	assert_int_equal(waitpid(f->stage[0].pid, &status, 0),
	    f->stage[0].pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	free(f->argv[0][2]);
	f->argv[0][2] = NULL;
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

/* As many stages as there may be, and one more or less. */
static void
many_stages(void **state)
{
	static char path[] = "/bin/cat";
	static char *argv[] = { path, NULL };
	static struct proc_stage stages[PROC_STAGES_MAX + 1];
	struct fixture *f = *state;
	struct proc_run run = { .stages = stages, .in = -1, .out = -1,
		.err = -1 };

	for (int i = 0; i <= PROC_STAGES_MAX; i++) {
		stages[i].path = path;
		stages[i].argv = argv;
		stages[i].envp = environ;
	}
	assert_int_equal(proc_run(&f->proc, &run), -EINVAL);
	run.count = PROC_STAGES_MAX + 1;
	assert_int_equal(proc_run(&f->proc, &run), -EINVAL);
	run.count = PROC_STAGES_MAX;
	assert_int_equal(proc_run(&f->proc, &run), 0);
	for (int i = 0; i < PROC_STAGES_MAX; i++)
		assert_int_equal(stages[i].status, 0);
	assert_int_equal(run.left, 0);
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
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses),
		cmocka_unit_test(pipeline),
		cmocka_unit_test(many_stages),
		cmocka_unit_test(immortal),
		cmocka_unit_test(not_executable),
		cmocka_unit_test(time_out),
		cmocka_unit_test(stopped),
		cmocka_unit_test(left),
		cmocka_unit_test(kept),
		cmocka_unit_test(finding),
		cmocka_unit_test(late_end),
		cmocka_unit_test(identities),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
