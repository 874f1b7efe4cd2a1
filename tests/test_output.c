/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/output.h"

#include "base/fdio.h"
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[SCRATCH_B];

static int
setup(void **state)
{
	(void)state;
	return scratch_make(dir) == NULL || chdir(dir) == -1;
}

static int
teardown(void **state)
{
	(void)state;
	unlink("new");
	unlink("old");
	return chdir("/") == -1 || rmdir(dir) == -1;
}

static int
names(void)
{
	DIR *d = opendir(".");
	int n = 0;

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

static void
make(const char *name, const char *text, bool replace, int want)
{
	struct output o;

	assert_int_equal(output_create(&o, name, replace), 0);
	assert_int_equal(fdio_write(o.fd, text, strlen(text)), 0);
	assert_int_equal(output_commit(&o, true), want);
}

static void
expect(const char *name, const char *text)
{
	char buf[64];
	int fd = open(name, O_RDONLY);
	ssize_t n = fdio_read(fd, buf, sizeof(buf));

	close(fd);
	assert_int_equal(n, strlen(text));
	assert_memory_equal(buf, text, strlen(text));
}

static void
has_no_name_before_commit(void **state)
{
	struct output o;

	(void)state;
	assert_int_equal(output_create(&o, "new", false), 0);
	assert_int_equal(names(), 0);
	output_abort(&o);
	assert_int_equal(names(), 0);
	make("new", "1", false, 0);
	expect("new", "1");
	assert_int_equal(names(), 1);
}

static void
never_clobbers(void **state)
{
	struct output o;

	(void)state;
	assert_int_equal(output_create(&o, "new", false), -EEXIST);
	/* a file that appears in between must not be clobbered either */
	assert_int_equal(output_create(&o, "old", false), 0);
	make("old", "first", false, 0);
	assert_int_equal(output_commit(&o, false), -EEXIST);
	expect("old", "first");
	assert_int_equal(names(), 2);
}

static void
replaces_when_told(void **state)
{
	(void)state;
	make("old", "second", true, 0);
	expect("old", "second");
	assert_int_equal(names(), 2);
}

static void
a_device_is_written_to(void **state)
{
	struct stat st;

	(void)state;
	make("/dev/null", "x", true, 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void
refuses_what_is_no_file(void **state)
{
	struct output o;

	(void)state;
	assert_int_equal(output_create(&o, "nowhere/new", false), -ENOENT);
	assert_int_equal(output_create(&o, "new/", false), -EISDIR);
	assert_int_equal(output_create(&o, dir, true), -EISDIR);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_no_name_before_commit),
		cmocka_unit_test(never_clobbers),
		cmocka_unit_test(replaces_when_told),
		cmocka_unit_test(a_device_is_written_to),
		cmocka_unit_test(refuses_what_is_no_file),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
