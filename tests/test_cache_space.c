/*
 * test_cache_space.c - a cache stays within its limit, and frees space
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cache_made.h"

#include "sys_fault.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void
test_limit(void **state)
{
	char path[SCRATCH_B + 96];
	struct cache *c;
	struct stat st;
	uint8_t *big = calloc(1, 1 << 20);

	(void)state;
	assert_non_null(big);
	assert_int_equal(cache_open(&c, fd, "key", 4 << 20), 0);
	for (unsigned i = 0; i < 40; i++) {
		memset(big, (int)i + 1, 1 << 20);
		assert_int_equal(cache_write(c, NULL, (uint64_t)i << 20,
		    1 << 20, big), 0);
	}
	assert_int_equal(cache_write(c, NULL, 1, (1 << 20) + 1, big),
	    -ENOSPC);
	/* the last ranges are present, but the first ones are not */
	assert_int_equal(cache_read(c, NULL, 39 << 20, 1 << 20, big), 0);
	assert_int_equal(big[77], 40);
	assert_int_equal(cache_read(c, NULL, 0, 1 << 20, big), -ENOENT);
	cache_close(c);
	file_path(path);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_blocks * 512 < 6 << 20);
	/* the holes are discovered when they are read */
	assert_int_equal(cache_open(&c, fd, "key", 1 << 30), 0);
	assert_int_equal(cache_read(c, NULL, 0, 1 << 20, big), -ENOENT);
	assert_int_equal(cache_read(c, NULL, 39 << 20, 1 << 20, big), 0);
	cache_close(c);
	free(big);
}

/* Ranges smaller than a block are freed, too. */
static void
test_limit_of_small_ranges(void **state)
{
	char path[SCRATCH_B + 96];
	uint8_t buf[LENGTH];
	struct cache *c;
	struct stat st;

	(void)state;
	assert_true(fault_plan("pwrite:1:EINTR,pwrite:3:short,pwrite:5:EINTR"));
	assert_int_equal(cache_open(&c, fd, "key", 1 << 20), 0);
	for (unsigned i = 0; i < 20000; i++) {
		fill(buf, i);
		assert_int_equal(cache_write(c, NULL, i, LENGTH, buf), 0);
	}
	cache_close(c);
	file_path(path);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 20000 * LENGTH);
	assert_true(st.st_blocks * 512 < (1 << 20) + (64 << 10));
	/* the file is still a valid cache */
	assert_int_equal(cache_open(&c, fd, "key", 1 << 20), 0);
	assert_int_equal(cache_read(c, NULL, 0, LENGTH, buf), -ENOENT);
	for (unsigned i = 19200; i < 20000; i++) {
		uint8_t want[LENGTH];

		fill(want, i);
		assert_int_equal(cache_read(c, NULL, i, LENGTH, buf), 0);
		assert_memory_equal(buf, want, LENGTH);
	}
	assert_int_equal(cache_write(c, NULL, 0, LENGTH, buf), 0);
	cache_close(c);
	assert_int_equal(cache_open(&c, fd, "key", 1 << 20), 0);
	assert_int_equal(cache_read(c, NULL, 0, LENGTH, buf), 0);
	cache_close(c);
}

static void
test_clear(void **state)
{
	struct cache *c = reopen(NULL), *other = reopen(NULL);

	(void)state;
	write_all(c);
	assert_int_equal(cache_clear(other), -EROFS);
	cache_close(other);
	assert_int_equal(cache_clear(c), 0);
	assert_int_equal(count(c), 0);
	c = reopen(c);
	assert_int_equal(count(c), 0);
	write_all(c);
	assert_int_equal(cache_clear(c), 0);
	write_all(c);
	c = reopen(c);
	assert_int_equal(count(c), RANGES);
	cache_close(c);
}

static void
test_trim(void **state)
{
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char path[SCRATCH_B + 96];
	struct cache *c = reopen(NULL);

	(void)state;
	write_all(c);
	cache_close(c);
	file_path(path);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	assert_int_equal(cache_open(&c, fd, "other", 1 << 30), 0);
	write_all(c);
	cache_close(c);
	assert_int_equal(cache_trim(fd, 1 << 30), 0);
	c = reopen(NULL);
	assert_int_equal(count(c), RANGES);
	cache_close(c);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	assert_int_equal(cache_trim(fd, 100000), 0);
	assert_int_equal(cache_open(&c, fd, "other", 1 << 30), 0);
	assert_int_equal(count(c), RANGES);
	c = reopen(c);
	assert_int_equal(count(c), 0);
	cache_close(c);
}

/* The file cannot grow: what does not fit is not stored, the rest is kept. */
static void
test_full(void **state)
{
	char path[SCRATCH_B + 96];
	struct rlimit old, limit;
	struct cache *c = reopen(NULL);
	struct stat st;
	uint8_t buf[LENGTH] = { 1 };

	(void)state;
	write_all(c);
	file_path(path);
	assert_int_equal(stat(path, &st), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	for (int room = 0; room < 2; room++) {
		limit.rlim_cur = (rlim_t)st.st_size + (room ? 500 : 0);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		errno = 0;
		assert_int_equal(cache_write(c, NULL, 1 << 30, LENGTH, buf),
		    room ? -ENOSPC : -EFBIG);
		assert_int_equal(cache_read(c, NULL, 1 << 30, LENGTH, buf),
		    -ENOENT);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(count(c), RANGES);
	assert_int_equal(cache_write(c, NULL, 1 << 30, LENGTH, buf), 0);
	c = reopen(c);
	assert_int_equal(count(c), RANGES);
	assert_int_equal(cache_read(c, NULL, 1 << 30, LENGTH, buf), 0);
	cache_close(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_limit, clear),
		cmocka_unit_test_teardown(test_limit_of_small_ranges, clear),
		cmocka_unit_test_teardown(test_clear, clear),
		cmocka_unit_test_teardown(test_trim, clear),
		cmocka_unit_test_teardown(test_full, clear),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
