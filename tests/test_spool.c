/*
 * test_spool.c - records that are read in reverse, from files that fail
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../src/lazy/pack/spool.h"
#include "sys_fault.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { RECORDS = 40, RECORD_B = 100000 };

/*
 * Writes and reads the records while the plan is in force.  Returns what the
 * spool returns at last.
 */
static int
run(const char *plan)
{
	static char data[RECORD_B];
	struct spool *s;
	const void *got;
	size_t len;
	int rc = 0;

	assert_int_equal(spool_open(&s, "."), 0);
	for (int i = 0; i < RECORDS; i++) {
		memset(data, i, sizeof(data));
		assert_int_equal(spool_push(s, data, RECORD_B - (size_t)i), 0);
	}
	assert_true(fault_plan(plan));
	for (int i = RECORDS; i-- > 0; ) {
		rc = spool_pop(s, &got, &len);
		if (rc != 1)
			break;
		memset(data, i, sizeof(data));
		assert_int_equal(len, RECORD_B - i);
		assert_memory_equal(got, data, len);
	}
	if (rc == 1)
		rc = spool_pop(s, &got, &len);
	spool_close(s);
	return rc;
}

static void
reads(void **state)
{
	unsigned long n;

	(void)state;
	assert_int_equal(run(""), 0);
	n = fault_count(FAULT_PREAD);
	assert_true(n > 2);
	for (unsigned long k = 1; k <= n; k++) {
		char plan[32];

		snprintf(plan, sizeof(plan), "pread:%lu:EIO", k);
		assert_int_equal(run(plan), -EIO);
		snprintf(plan, sizeof(plan), "pread:%lu:ENOMEM", k);
		assert_int_equal(run(plan), -ENOMEM);
	}
	assert_true(fault_plan(""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
