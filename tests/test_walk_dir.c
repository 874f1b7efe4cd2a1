/*
 * test_walk_dir.c - files that change or disappear while a tree is walked
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk/walk.h"

#include "scratch.h"
#include "walk_log.h"

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

enum { BIG_B = 1 << 20 };

static char dir[SCRATCH_B];

/* State shared by a test's callbacks. */
struct scene {
	struct walk_log log;
	const char *victim;		/* changed after its first piece */
	off_t size;			/* its size after the change */
	atomic_bool done;
	atomic_bool cancel;
	int refuse;			/* returned by row() */
	uint64_t planned;		/* bytes */
	atomic_ullong progressed;
	atomic_uint looks[2];		/* before, after */
	atomic_ullong asked_B;		/* for the last file */
};

static int
row(void *arg, const struct walk_file *f)
{
	struct scene *s = arg;

	walk_log_row(&s->log, f);
	return s->refuse;
}

static void
progress(void *arg, uint64_t bytes)
{
	struct scene *s = arg;

	atomic_fetch_add(&s->progressed, bytes);
	/* other files have one byte, and may be read at the same time */
	if (s->victim != NULL && bytes > 1 &&
	    !atomic_exchange(&s->done, true))
		assert_int_equal(truncate(s->victim, s->size), 0);
}

static void
end_it(void *arg, uint64_t bytes)
{
	struct scene *s = arg;

	atomic_fetch_add(&s->progressed, bytes);
	atomic_store(&s->cancel, true);
}

static void
plan(void *arg, uint64_t files, uint64_t bytes)
{
	struct scene *s = arg;

	(void)files;
	s->planned = bytes;
}

static void
look(void *arg, int fd, const struct stat *st, bool after, uint64_t asked_B,
    uint64_t *mine)
{
	struct scene *s = arg;

	assert_true(fd >= 0 && S_ISREG(st->st_mode));
	if (after)
		assert_int_equal(*mine, st->st_ino);
	*mine = st->st_ino;
	atomic_store(&s->asked_B, asked_B);
	atomic_fetch_add(&s->looks[after], 1);
}

static void
fill(const char *name, size_t size)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	for (size_t i = 0; i < size; i++)
		putc((int)(i * 2654435761u >> 24), f);
	assert_int_equal(fclose(f), 0);
}

static int
setup(void **state)
{
	(void)state;
	if (scratch_make(dir) == NULL || chdir(dir) == -1 ||
	    mkdir("t", 0700) == -1 || mkdir("t/sub", 0700) == -1)
		return 1;
	fill("t/big", BIG_B);
	fill("t/one", 1);
	fill("t/sub/two", 2);
	return link("t/one", "t/sub/name") == -1 ||
	    symlink("one", "t/soft") == -1;
}

static int
teardown(void **state)
{
	(void)state;
	return system("rm -rf t") != 0 || chdir("/") == -1 || rmdir(dir) == -1;
}

/* Walks t with one thread and the options in o. */
static int
walk(struct scene *s, struct walk_options o, struct walk_result *r)
{
	int rc, fd = open("t", O_RDONLY | O_DIRECTORY);
	struct digest_algo *none = NULL;

	assert_true(fd >= 0);
	assert_int_equal(digest_algo_open(&none, "none"), 0);
	o.threads = 1;
	o.digest = none;
	o.damage = walk_log_damage;
	if (o.row == NULL)
		o.row = row;
	o.arg = s;
	rc = walk_dir(fd, "t", &o, r);
	close(fd);
	digest_algo_close(none);
	walk_log_sort(&s->log);
	return rc;
}

static void
assert_row(const struct scene *s, size_t i, const char *want)
{
	assert_true(i < s->log.count);
	assert_string_equal(s->log.line[i], want);
}

static void
every_file(void **state)
{
	struct scene s = { .victim = NULL };
	struct walk_result r;

	(void)state;
	assert_int_equal(walk(&s, (struct walk_options){ .plan = plan,
	    .progress = progress, .look = look }, &r), 0);
	assert_int_equal(s.log.count, 5);
	assert_row(&s, 0, "big|0|1048576|0|");
	assert_row(&s, 1, "one|0|1|0|");
	assert_row(&s, 2, "soft|2|0|0|");
	assert_row(&s, 3, "sub/name|0|1|0|");
	assert_row(&s, 4, "sub/two|0|2|0|");
	assert_int_equal(r.files, 4);
	assert_int_equal(r.links, 1);
	assert_int_equal(r.bytes, BIG_B + 4);
	assert_int_equal(r.read_B, BIG_B + 3);
	assert_int_equal(r.duplicates, 1);
	assert_int_equal(r.errors, 0);
	/* one byte with two names counts as half a byte for each, rounded */
	assert_int_equal(s.planned, BIG_B + 2);
	assert_int_equal(s.progressed, BIG_B + 3);
	assert_int_equal(s.looks[0], 3);
	assert_int_equal(s.looks[1], 3);
	walk_log_free(&s.log);
}

/* Only the file that grows or shrinks has an error. */
static void
one_changes(off_t size)
{
	struct scene s = { .victim = "t/big", .size = size };
	const char *only[] = { "big", "one" };
	struct walk_result r;
	char want[64];

	assert_int_equal(walk(&s, (struct walk_options){
	    .progress = progress, .only = only, .only_count = 2 }, &r), 0);
	assert_true(s.done);
	assert_int_equal(s.log.count, 2);
	snprintf(want, sizeof(want), "|%d|", -EAGAIN);
	assert_non_null(strstr(s.log.line[0], want));
	assert_row(&s, 1, "one|0|1|0|");
	assert_int_equal(r.errors, 1);
	walk_log_free(&s.log);
	fill("t/big", BIG_B);
}

static void
a_file_that_changes(void **state)
{
	(void)state;
	one_changes(2 * BIG_B);
	one_changes(BIG_B / 2);
	one_changes(0);
}

/* While the file is read, only the time of its last change becomes another. */
static struct timespec touched;

static void
touch(void *arg, uint64_t bytes)
{
	struct scene *s = arg;
	const struct timespec times[2] = { touched, touched };

	if (bytes > 1 && !atomic_exchange(&s->done, true))
		assert_int_equal(utimensat(AT_FDCWD, s->victim, times, 0), 0);
}

static void
a_file_that_is_touched(void **state)
{
	const struct timespec old[2] = { { 1000, 500 }, { 1000, 500 } };
	static const struct timespec news[] = { { 1000, 501 }, { 999, 500 },
		{ 1000, 500 } };
	const char *only[] = { "big" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct scene s = { .victim = "t/big" };
		struct walk_result r;

		assert_int_equal(utimensat(AT_FDCWD, "t/big", old, 0), 0);
		touched = news[i];
		assert_int_equal(walk(&s, (struct walk_options){
		    .progress = touch, .only = only, .only_count = 1 }, &r), 0);
		assert_true(s.done);
		/* but for the last one */
		assert_int_equal(r.errors, i < 2);
		walk_log_free(&s.log);
	}
}

static void
looking_alone(void **state)
{
	struct scene s = { .victim = NULL };
	struct walk_result r;

	(void)state;
	assert_int_equal(walk(&s, (struct walk_options){ .look = look,
	    .look_only = true, .progress = progress }, &r), 0);
	assert_int_equal(s.looks[0], 3);
	assert_int_equal(s.looks[1], 0);
	assert_int_equal(s.progressed, 0);
	assert_int_equal(r.read_B, 0);
	walk_log_free(&s.log);
}

static void
parts_alone(void **state)
{
	const char *only[] = { "big" };
	const struct walk_range ranges[] = { { 0, 10 }, { BIG_B - 5, 100 },
		{ BIG_B + 7, 100 } };
	const size_t ends[] = { 3 };
	struct scene s = { .victim = NULL };
	struct walk_result r;

	(void)state;
	assert_int_equal(walk(&s, (struct walk_options){ .look = look,
	    .only = only, .only_count = 1, .ranges = ranges,
	    .range_ends = ends }, &r), 0);
	assert_int_equal(r.read_B, 15);
	assert_int_equal(s.asked_B, 15);
	assert_int_equal(walk(&s, (struct walk_options){ .look = look,
	    .only = only, .only_count = 1 }, &r), 0);
	assert_true(s.asked_B == UINT64_MAX);
	walk_log_free(&s.log);
}

static void
some_are_not_there(void **state)
{
	const char *only[] = { "no", "one", "soft", "sub" };
	struct scene s = { .victim = NULL };
	struct walk_result r;
	char want[64];

	(void)state;
	assert_int_equal(walk(&s, (struct walk_options){ .only = only,
	    .only_count = 4 }, &r), 0);
	assert_int_equal(s.log.count, 4);
	snprintf(want, sizeof(want), "no|0|0|%d|", -ENOENT);
	assert_row(&s, 0, want);
	assert_row(&s, 1, "one|0|1|0|");
	assert_int_equal(r.errors, 3);
	walk_log_free(&s.log);
}

static void
an_end_before_the_end(void **state)
{
	struct scene s = { .refuse = -ENOSPC }, c = { .victim = NULL };
	const char *only[] = { "big" };
	struct walk_result r;

	(void)state;
	assert_int_equal(walk(&s, (struct walk_options){ .look = NULL }, &r),
	    -ENOSPC);
	assert_int_equal(walk(&c, (struct walk_options){ .progress = end_it,
	    .only = only, .only_count = 1, .cancel = &c.cancel }, &r),
	    -ECANCELED);
	/* between two pieces */
	assert_true(c.progressed > 0 && c.progressed < BIG_B);
	assert_int_equal(c.log.count, 0);
	walk_log_free(&s.log);
	walk_log_free(&c.log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file),
		cmocka_unit_test(a_file_that_changes),
		cmocka_unit_test(a_file_that_is_touched),
		cmocka_unit_test(looking_alone),
		cmocka_unit_test(parts_alone),
		cmocka_unit_test(some_are_not_there),
		cmocka_unit_test(an_end_before_the_end),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
