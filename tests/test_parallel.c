/*
 * test_parallel.c - all threads, or fewer, or none
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/parallel.h"

#include "sys_fault.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { MOST = 2 * PARALLEL_MAX };

static atomic_uint calls[MOST];

static void
count(void *arg, unsigned i)
{
	atomic_uint *all = arg;

	atomic_fetch_add(&all[i], 1);
}

/*
 * Checks that the first n were called once, and no others; then resets the
 * counts.
 */
static void
assert_called(unsigned n)
{
	for (unsigned i = 0; i < MOST; i++)
		assert_int_equal(atomic_exchange(&calls[i], 0), i < n);
}

static void
each_once(void **state)
{
	(void)state;
	for (unsigned n = 1; n < 20; n += 3) {
		assert_int_equal(parallel_run(n, count, calls), n);
		assert_called(n);
		assert_int_equal(parallel_run_all(n, count, calls), 0);
		assert_called(n);
	}
	assert_int_equal(parallel_run(0, count, calls), 1);
	assert_called(1);
}

static void
no_more_than_the_most(void **state)
{
	(void)state;
	assert_true(parallel_run(PARALLEL_MAX + 1, count, calls) <=
	    PARALLEL_MAX);
	assert_int_equal(atomic_load(&calls[PARALLEL_MAX]), 0);
	for (unsigned i = 0; i < MOST; i++)
		atomic_store(&calls[i], 0);
	assert_int_equal(parallel_run_all(PARALLEL_MAX + 1, count, calls),
	    -EINVAL);
	assert_int_equal(parallel_run_all(0, count, calls), -EINVAL);
	assert_called(0);
	/* this many are not too many */
	assert_true(fault_plan("thread:2:EAGAIN"));
	assert_int_equal(parallel_run_all(PARALLEL_MAX, count, calls),
	    -EAGAIN);
	assert_true(fault_plan(""));
}

static void
when_one_does_not_start(void **state)
{
	(void)state;
	assert_true(fault_plan("thread:3:EAGAIN"));
	assert_int_equal(parallel_run(8, count, calls), 3);
	assert_called(3);
	assert_true(fault_plan("thread:3:EAGAIN"));
	assert_int_equal(parallel_run_all(8, count, calls), -EAGAIN);
	assert_called(0);
	assert_true(fault_plan("thread:1:EAGAIN"));
	assert_int_equal(parallel_run(2, count, calls), 1);
	assert_called(1);
	assert_true(fault_plan(""));
}

static void
without_memory(void **state)
{
	(void)state;
	assert_true(fault_plan("malloc:1:ENOMEM"));
	assert_int_equal(parallel_run(8, count, calls), 1);
	assert_called(1);
	assert_true(fault_plan("malloc:1:ENOMEM"));
	assert_int_equal(parallel_run_all(8, count, calls), -ENOMEM);
	assert_called(0);
	assert_true(fault_plan(""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_once),
		cmocka_unit_test(no_more_than_the_most),
		cmocka_unit_test(when_one_does_not_start),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
