/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure/caches.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

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
		cmocka_unit_test(may_or_not),
		cmocka_unit_test(reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
