/*
 * test_strbuf.c - text of any length is appended whole, or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sys_fault.h"

#include "base/strbuf.h"
#include "base/sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 20000 };

static char text[MOST + 1];

/* Formats texts of all lengths, with what is around them. */
static void
lengths(void **state)
{
	(void)state;
	for (size_t n = 0; n <= MOST; n += n < 600 ? 1 : 997) {
		struct strbuf b = { .data = NULL };

		strbuf_str(&b, "before ");
		text[n] = '\0';
		strbuf_fmt(&b, "<%s>%d", text, 7);
		text[n] = 'x';
		assert_false(b.failed);
		assert_int_equal(b.len, 7 + n + 3);
		assert_memory_equal(b.data, "before <", 8);
		assert_memory_equal(b.data + 8, text, n);
		assert_memory_equal(b.data + 8 + n, ">7", 2);
		strbuf_free(&b);
	}
}

/* Without memory, nothing is appended, and that is known. */
static void
no_memory(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= 2; k++) {
		struct strbuf b = { .data = NULL };

		assert_true(fault_plan(k == 1 ? "malloc:1:ENOMEM" :
		    "malloc:2:ENOMEM"));
		strbuf_fmt(&b, "%s", text);
		assert_true(fault_plan(""));
		assert_true(b.failed);
		assert_int_equal(b.len, 0);
		strbuf_free(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),
		cmocka_unit_test(no_memory),
	};

	memset(text, 'x', MOST);
	assert_true(fault_plan(""));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
