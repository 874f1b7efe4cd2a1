/*
 * test_index.c - an index in memory, which runs out at each place
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sys_fault.h"

#include "lazy/index.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { CHUNK = (256 << 10) - 16, MOST = 400 };

static char why[LAYER_WHY];

static const struct tar_xattr xattrs[] = { { "user.a", "one", 3 },
	{ "user.b", "three", 5 } };
static const struct layer_entry entry = { .type = TAR_FILE, .path = "./d/a/",
	.link = "to", .uname = "me", .gname = "us", .size = 100,
	.xattrs = xattrs, .xattr_count = 2 };

/* All strings of an entry are copied, or it is not added. */
static void
exhausted(void **state)
{
	unsigned added = 0;

	(void)state;
	for (size_t left = 0; left < MOST; left++) {
		struct lazy_index x = { .entries = NULL };
		int rc;

		assert_true(fault_plan(""));
		assert_non_null(arena_take(&x.arena, CHUNK - left));
		/* the first is for the array */
		assert_true(fault_plan("malloc:2+:ENOMEM"));
		*why = '\0';
		rc = index_entry(&x, &entry, why);
		assert_true(fault_plan(""));
		if (rc != 0) {
			assert_int_equal(rc, -ENOMEM);
			assert_int_equal(x.entry_count, 0);
			assert_true(*why != '\0');
		} else {
			const struct layer_entry *e = x.entries;

			assert_int_equal(x.entry_count, 1);
			assert_string_equal(e->path, "d/a");
			assert_string_equal(e->link, "to");
			assert_string_equal(e->uname, "me");
			assert_string_equal(e->gname, "us");
			for (int i = 0; i < 2; i++) {
				assert_string_equal(e->xattrs[i].name,
				    xattrs[i].name);
				assert_memory_equal(e->xattrs[i].value,
				    xattrs[i].value, xattrs[i].length);
			}
			added++;
		}
		index_free(&x);
	}
	assert_in_range(added, 100, MOST - 50);
}

/* Runs lie in their file and their unit, one after the other. */
static void
runs(void **state)
{
	static const struct {
		struct layer_run run;
		const char *says;	/* NULL: it is added */
	} rows[] = {
		{ { 0, 10, 0, 0 }, NULL }, { { 90, 10, 40, 0 }, NULL },
		{ { 20, 10, 0, 0 }, NULL }, { { 0, 50, 0, 0 }, NULL },
		{ { 19, 10, 0, 0 }, "overlaps" },
		{ { 20, 0, 0, 0 }, "beyond the end of a file" },
		{ { 91, 10, 0, 0 }, "beyond the end of a file" },
		{ { 101, 1, 0, 0 }, "beyond the end of a file" },
		{ { 20, UINT64_MAX, 0, 0 }, "beyond the end of a file" },
		{ { 20, 10, 0, 1 }, "does not exist" },
		{ { 20, 10, 41, 0 }, "beyond the end of its unit" },
		{ { 20, 10, UINT64_MAX, 0 }, "beyond the end of its unit" },
		{ { 20, 51, 0, 0 }, "beyond the end of its unit" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct layer_run first = { .offset = 10, .length = 10 };
		const struct layer_unit unit = { .content = 50 };
		struct lazy_index x = { .entries = NULL };
		int rc;

		assert_int_equal(index_run(&x, &first, why), -EBADMSG);
		assert_int_equal(index_unit(&x, &unit, why), 0);
		assert_int_equal(index_entry(&x, &entry, why), 0);
		/* rows that begin before it are of a file without another */
		if (rows[i].run.offset >= 19)
			assert_int_equal(index_run(&x, &first, why), 0);
		*why = '\0';
		rc = index_run(&x, &rows[i].run, why);
		if (rc != (rows[i].says == NULL ? 0 : -EBADMSG) || (rc != 0 &&
		    strstr(why, rows[i].says) == NULL))
			fail_msg("row %zu: %d, %s", i, rc, why);
		index_free(&x);
	}
}

static void
units(void **state)
{
	struct layer_unit unit = { .content = LAYER_UNIT_MAX };
	struct lazy_index x = { .entries = NULL };
	struct layer_entry large = entry;

	(void)state;
	assert_int_equal(index_unit(&x, &unit, why), 0);
	unit.content++;
	assert_int_equal(index_unit(&x, &unit, why), -EFBIG);
	x.unit_most = LAYER_UNIT_MAX + 1ULL;
	assert_int_equal(index_unit(&x, &unit, why), 0);
	unit.content++;
	assert_int_equal(index_unit(&x, &unit, why), -EFBIG);
	large.size = INT64_MAX;
	assert_int_equal(index_entry(&x, &large, why), 0);
	large.size++;
	assert_int_equal(index_entry(&x, &large, why), -EBADMSG);
	large = entry;
	large.type = TAR_DIR;
	assert_int_equal(index_entry(&x, &large, why), 0);
	assert_int_equal(index_run(&x, &(struct layer_run){ .length = 1 }, why),
	    -EBADMSG);
	assert_non_null(strstr(why, "not a file has data"));
	index_free(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exhausted),
		cmocka_unit_test(runs),
		cmocka_unit_test(units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
