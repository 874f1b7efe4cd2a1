/*
 * test_proc_time.c - the processor time of commands and of their orphans
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc_shell.h"

#include "measure/cgroup.h"
#include "measure/leftover.h"

#include <setjmp.h>
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

enum { BURN_US = 200000 };

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

/* Processor time is neither lost nor counted twice; starting takes time too. */
static void
in_range_us(uint64_t us, uint64_t want)
{
	if (us < want || us >= 2 * want)
		fail_msg("%ju us, not %ju", (uintmax_t)us, (uintmax_t)want);
}

/* Processors for which proc_clone.c has no system call. */
#if defined(__x86_64__) || defined(__aarch64__)
static const bool no_group = false;
#else
static const bool no_group = true;
#endif

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
	if (!proc_try_group(&f->proc)) {
		assert_true(no_group);
		print_message("no child can be made in a control group\n");
		cgroup_remove(&g);
		return;
	}
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

int
main(int argc, char *argv[])
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(processor_time),
	};

	if (argc > 1)
		return strcmp(argv[1], "burn") == 0 ? burn() : burn_orphans();
	return cmocka_run_group_tests(tests, setup, teardown);
}
