/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/stamp.h"

#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[SCRATCH_B];

static int
set_up(void **state)
{
	(void)state;
	return scratch_enter(dir);
}

static int
tear_down(void **state)
{
	(void)state;
	return scratch_leave(dir);
}

static void
make(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fclose(f);
}

/* Each of the values alone makes another file of it. */
static void
values(void **state)
{
	struct stamp is, was;

	(void)state;
	make("file");
	is = stamp_of("file");
	assert_int_not_equal(is.ino, 0);
	assert_false(stamp_has_changed("file", &is));
#define OTHER(value)						\
	was = is;						\
	was.value++;						\
	if (!stamp_has_changed("file", &was))			\
		fail_msg("another " #value " is no change")
	OTHER(dev);
	OTHER(ino);
	OTHER(size);
	OTHER(modified.tv_sec);
	OTHER(modified.tv_nsec);
	OTHER(changed.tv_sec);
	OTHER(changed.tv_nsec);
}

static void
appears(void **state)
{
	const struct stamp none = { .size = 0 };
	struct stamp was = stamp_of("missing");

	(void)state;
	assert_memory_equal(&was, &none, sizeof(none));
	assert_false(stamp_has_changed("missing", &was));
	make("missing");
	assert_true(stamp_has_changed("missing", &was));
	was = stamp_of("missing");
	/* the same file by a link */
	assert_int_equal(symlink("missing", "link"), 0);
	assert_false(stamp_has_changed("link", &was));
	assert_int_equal(unlink("missing"), 0);
	assert_true(stamp_has_changed("link", &was));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(appears),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
