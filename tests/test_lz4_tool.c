/*
 * test_lz4_tool.c - LZ4 compared with lz4(1), and files from other programs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lz4_made.h"

#include "base/fdio.h"
#include "scratch.h"

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[SCRATCH_B];

static bool
have_lz4(void)
{
	return system("lz4 --version >/dev/null 2>&1") == 0;
}

static void
put_file(const char *name, struct bytes b)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fdio_write(fd, b.p, b.n), 0);
	close(fd);
}

static struct bytes
get_file(const char *name)
{
	int fd = open(name, O_RDONLY);
	struct bytes b;

	assert_true(fd >= 0);
	b = read_fd(fd);
	close(fd);
	return b;
}

static void
tool_reads_ours(void **state)
{
	static const int levels[] = { 1, 9 };
	struct bytes in = sample(9 * MIB, 12), empty = { in.p, 0 };

	(void)state;
	if (!have_lz4())
		skip();
	for (size_t i = 0; i < 4; i++) {
		struct bytes want = i < 2 ? in : empty, out;
		struct bytes z = pack(want, levels[i % 2], 0, 2, false);

		put_file("ours.lz4", z);
		assert_int_equal(system("lz4 -dc <ours.lz4 >out"), 0);
		out = get_file("out");
		assert_same(out, want);
		free(out.p);
		free(z.p);
	}
	free(in.p);
}

static void
we_read_the_tool(void **state)
{
	static const char *const options[] = { "", "-B4", "-B5", "-B6", "-B7",
	    "-B4 -BD", "-B5 -BD", "-B7 -BD", "-BX", "-B4 -BD -BX", "-B6 -BX",
	    "--no-frame-crc", "-B4 -BD --no-frame-crc", "--content-size",
	    "-BD --content-size", "-l", "-9", "-9 -BD -B4", "--fast=8",
	    "-12 -B4" };
	struct bytes in = sample(9 * MIB, 13);
	char command[200];

	(void)state;
	if (!have_lz4())
		skip();
	put_file("in", in);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct bytes z;

		snprintf(command, sizeof(command),
		    "lz4 -qf %s in theirs.lz4", options[i]);
		assert_int_equal(system(command), 0);
		z = get_file("theirs.lz4");
		assert_unpacks(z, in);
		free(z.p);
	}
	free(in.p);
}

/* Tests files from other programs, as judged by lz4(1). */
static void
vectors(void **state)
{
	const char *at = getenv("COLDPRESS_VECTORS");
	char pattern[4096], command[4200];
	glob_t g;

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/lz4/*", at == NULL ? "" : at);
	if (at == NULL || !have_lz4() || glob(pattern, 0, NULL, &g) != 0)
		skip();
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct bytes z = get_file(g.gl_pathv[i]), want, out;
		int rc;

		snprintf(command, sizeof(command),
		    "lz4 -qdc <'%s' >want 2>errors", g.gl_pathv[i]);
		rc = system(command);
		want = get_file("want");
		if (rc == 0) {
			assert_unpacks(z, want);
		} else {
			assert_true(unpack(z, 2, false, &out) < 0);
			free(out.p);
		}
		free(z.p);
		free(want.p);
	}
	globfree(&g);
}

static int
setup(void **state)
{
	const char *at = getenv("COLDPRESS_VECTORS");
	char *full = realpath(at == NULL ? "../shared/vectors" : at, NULL);

	(void)state;
	if (full != NULL)
		setenv("COLDPRESS_VECTORS", full, 1);
	free(full);
	return scratch_make(dir) == NULL || chdir(dir) == -1;
}

static int
teardown(void **state)
{
	static const char *const names[] = { "in", "ours.lz4", "theirs.lz4",
	    "out", "want", "errors" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	return chdir("/") == -1 || rmdir(dir) == -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tool_reads_ours),
		cmocka_unit_test(we_read_the_tool),
		cmocka_unit_test(vectors),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
