/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure/caches.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { PID = 77 };

/* A child that waits for ever, at a clock of which each look takes a second. */
static bool hangs;
static uint64_t seconds;

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __real_waitpid(pid_t pid, int *status, int how);
pid_t __wrap_waitpid(pid_t pid, int *status, int how);
uint64_t __real_sys_now_ns(void);
uint64_t __wrap_sys_now_ns(void);
void __real_sys_sleep_ns(uint64_t ns);
void __wrap_sys_sleep_ns(uint64_t ns);

pid_t
__wrap_fork(void)
{
	return hangs ? PID : __real_fork();
}

pid_t
__wrap_waitpid(pid_t pid, int *status, int how)
{
	if (!hangs)
		return __real_waitpid(pid, status, how);
	assert_int_equal(pid, PID);
	assert_int_equal(how, WNOHANG);
	/* if nobody loses patience */
	*status = 0;
	return seconds > 4 * CACHES_LIMIT_S ? PID : 0;
}

uint64_t
__wrap_sys_now_ns(void)
{
	return hangs ? seconds++ * UINT64_C(1000000000) : __real_sys_now_ns();
}

void
__wrap_sys_sleep_ns(uint64_t ns)
{
	if (!hangs)
		__real_sys_sleep_ns(ns);
}

/* Whoever else writes may prolong it, but not beyond the limit. */
static void
no_response(void **state)
{
	(void)state;
	hangs = true;
	assert_int_equal(caches_drop(), -ETIMEDOUT);
	hangs = false;
	assert_in_range(seconds, CACHES_PATIENCE_S, CACHES_LIMIT_S + 2);
}

/* If permission is denied, the call reports it.  No child is left behind. */
static void
may_or_not(void **state)
{
	int may = caches_may_drop(), rc;

	(void)state;
	if (may != 0) {
		assert_true(may == -EACCES || may == -EROFS || may == -ENOENT);
		assert_int_equal(caches_drop(), may);
		return;
	}
	rc = caches_drop();
	assert_true(rc == 0 || rc == -ETIMEDOUT);
	if (rc == 0) {
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		assert_int_equal(errno, ECHILD);
	}
}

static void
reasons(void **state)
{
	(void)state;
	assert_string_equal(caches_reason(-ETIMEDOUT),
	    "a filesystem does not respond");
	assert_string_equal(caches_reason(-EACCES), "Permission denied");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_response),
		cmocka_unit_test(may_or_not),
		cmocka_unit_test(reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
