/* SPDX-License-Identifier: BSD-2-Clause */
#include "lazy/cache.h"

#include "base/sys.h"
#include "scratch.h"
#include "sys_fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { LENGTH = 1000, RANGES = 50 };

static char dir[SCRATCH_B];
static int fd;

static int
set_up(void **state)
{
	(void)state;
	if (scratch_make(dir) == NULL)
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	return fd < 0 ? -1 : 0;
}

/* The name of the only file. */
static void
file_path(char path[SCRATCH_B + 96])
{
	DIR *d = opendir(dir);
	struct dirent *e;

	assert_non_null(d);
	*path = '\0';
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			snprintf(path, SCRATCH_B + 96, "%s/%.90s", dir,
			    e->d_name);
	closedir(d);
}

static int
clear(void **state)
{
	char path[SCRATCH_B + 96];

	(void)state;
	for (file_path(path); *path != '\0'; file_path(path))
		if (unlink(path) != 0)
			return -1;
	return 0;
}

static int
tear_down(void **state)
{
	clear(state);
	close(fd);
	return rmdir(dir);
}

static void
fill(uint8_t *buf, unsigned i)
{
	for (size_t k = 0; k < LENGTH; k++)
		buf[k] = (uint8_t)(i * 7 + k * 13 + (k >> 3));
}

static void
write_all(struct cache *c)
{
	uint8_t buf[LENGTH];

	for (unsigned i = 0; i < RANGES; i++) {
		fill(buf, i);
		assert_int_equal(cache_write(c, i % 5 == 0 ? "side" : NULL,
		    i * 5000, LENGTH, buf), 0);
	}
}

/* Returns how many ranges are stored; all must have the right bytes. */
static unsigned
count(struct cache *c)
{
	uint8_t buf[LENGTH], want[LENGTH];
	unsigned n = 0;

	for (unsigned i = 0; i < RANGES; i++) {
		const char *object = i % 5 == 0 ? "side" : NULL;

		assert_int_equal(cache_read(c, i % 5 == 0 ? NULL : "side",
		    i * 5000, LENGTH, buf), -ENOENT);
		if (cache_read(c, object, i * 5000, LENGTH, buf) != 0)
			continue;
		fill(want, i);
		assert_memory_equal(buf, want, LENGTH);
		n++;
	}
	return n;
}

static struct cache *
reopen(struct cache *c)
{
	cache_close(c);
	assert_int_equal(cache_open(&c, fd, "key", 1 << 30), 0);
	return c;
}

static void
test_keeps(void **state)
{
	struct cache *c = reopen(NULL), *other;

	(void)state;
	assert_int_equal(count(c), 0);
	write_all(c);
	assert_int_equal(count(c), RANGES);
	/* another process may read, but not write */
	assert_int_equal(cache_open(&other, fd, "key", 1 << 30), 0);
	assert_int_equal(count(other), RANGES);
	assert_int_equal(cache_write(other, NULL, 1, 1, "x"), -ENOSPC);
	cache_close(other);
	assert_int_equal(cache_open(&other, fd, "another", 1 << 30), 0);
	assert_int_equal(count(other), 0);
	cache_close(other);
	c = reopen(c);
	assert_int_equal(count(c), RANGES);
	cache_drop(c, NULL, 5000);
	assert_int_equal(count(c), RANGES - 1);
	cache_close(c);
	assert_int_equal(cache_open(&c, fd, NULL, 1 << 30), 0);
	write_all(c);
	assert_int_equal(count(c), RANGES);
	cache_close(c);
}

/*
 * A file truncated anywhere keeps the ranges before the cut, and accepts more.
 */
static void
test_cut(void **state)
{
	char path[SCRATCH_B + 96];
	struct stat st;
	struct cache *c = reopen(NULL);

	(void)state;
	write_all(c);
	cache_close(c);
	file_path(path);
	assert_int_equal(stat(path, &st), 0);
	for (off_t size = st.st_size; size > 0; size -= 517) {
		unsigned whole = (unsigned)(size / (LENGTH + CACHE_HEADER));

		assert_int_equal(truncate(path, size), 0);
		c = reopen(NULL);
		assert_int_equal(count(c), whole);
		cache_close(c);
	}
	c = reopen(NULL);
	write_all(c);
	c = reopen(c);
	assert_int_equal(count(c), RANGES);
	cache_close(c);
}

/*
 * A changed byte costs one range or, in a header, all ranges from there onward.
 */
static void
test_flipped(void **state)
{
	char path[SCRATCH_B + 96];
	struct cache *c = reopen(NULL);
	struct stat st;
	int f;

	(void)state;
	write_all(c);
	cache_close(c);
	file_path(path);
	f = open(path, O_RDWR);
	assert_true(f >= 0 && fstat(f, &st) == 0);
	for (off_t at = 3; at < st.st_size; at += 211) {
		uint8_t byte, wrong;
		unsigned n;

		assert_int_equal(pread(f, &byte, 1, at), 1);
		wrong = byte ^ 4;
		assert_int_equal(pwrite(f, &wrong, 1, at), 1);
		/* read-only: another writer's file is not truncated */
		assert_int_equal(cache_open(&c, fd, "key", 1 << 30), 0);
		n = count(c);
		assert_true(n < RANGES);
		if (at % (LENGTH + CACHE_HEADER) >= CACHE_HEADER)
			assert_int_equal(n, RANGES - 1);
		else
			assert_int_equal(n, at / (LENGTH + CACHE_HEADER));
		cache_close(c);
		assert_int_equal(clear(NULL), 0);
		c = reopen(NULL);
		write_all(c);
		cache_close(c);
		close(f);
		f = open(path, O_RDWR);
		assert_true(f >= 0);
	}
	close(f);
}

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

/*
 * Anything else in a file's place is not read: another key's file, a link to a
 * good one, a directory, or a FIFO.
 */
static void
test_replaced(void **state)
{
	char path[SCRATCH_B + 96], other[SCRATCH_B + 96];
	struct cache *c = reopen(NULL);

	(void)state;
	file_path(path);
	cache_close(c);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cache_open(&c, fd, "another", 1 << 30), 0);
	write_all(c);
	cache_close(c);
	file_path(other);
	assert_int_equal(rename(other, path), 0);
	c = reopen(NULL);
	assert_int_equal(count(c), 0);
	write_all(c);
	c = reopen(c);
	assert_int_equal(count(c), RANGES);
	cache_close(c);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(cache_open(&c, fd, "key", 1 << 30), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(cache_open(&c, fd, "key", 1 << 30), -EISDIR);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	c = reopen(NULL);
	assert_true(cache_write(c, NULL, 1, 1, "x") < 0);
	assert_int_equal(count(c), 0);
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

static bool
has_text(const char *key, const char *want)
{
	char *text;
	size_t len;
	int rc = cache_text_read(fd, key, 16, &text, &len);
	bool has;

	if (rc != 0) {
		assert_null(text);
		return false;
	}
	has = len == strlen(want) && strcmp(text, want) == 0;
	sys_free(text);
	return has;
}

/* Text is read back exactly as written, or not at all. */
static void
test_text(void **state)
{
	char path[SCRATCH_B + 96];
	struct stat st;
	char *text;
	size_t len;
	int file;

	(void)state;
	assert_int_equal(cache_text_read(fd, "k", 16, &text, &len), -ENOENT);
	assert_int_equal(cache_text_write(fd, "k", "old", 3), 0);
	assert_int_equal(cache_text_write(fd, "k", "text", 4), 0);
	assert_true(has_text("k", "text"));
	assert_false(has_text("other", "text"));
	assert_int_equal(cache_text_read(fd, "k", 3, &text, &len), -EFBIG);
	file_path(path);
	assert_int_equal(stat(path, &st), 0);
	for (off_t i = 0; i < st.st_size; i++) {
		assert_int_equal(truncate(path, i), 0);
		assert_false(has_text("k", "text"));
		assert_int_equal(cache_text_write(fd, "k", "text", 4), 0);
	}
	file = open(path, O_WRONLY);
	assert_int_equal(pwrite(file, "T", 1, st.st_size - 4), 1);
	close(file);
	assert_false(has_text("k", "text"));
	/* and is removed like other files */
	assert_int_equal(cache_trim(fd, 0), 0);
	assert_int_equal(stat(path, &st), -1);
}

/* Killed writers leave no wrong data. */
static void
test_killed(void **state)
{
	struct cache *c;

	(void)state;
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			uint8_t buf[LENGTH];

			if (cache_open(&c, fd, "key", 1 << 30) != 0)
				_exit(1);
			for (unsigned k = 0; ; k = (k + 1) % RANGES) {
				fill(buf, k);
				cache_drop(c, k % 5 == 0 ? "side" : NULL,
				    k * 5000);
				(void)cache_write(c, k % 5 == 0 ? "side" :
				    NULL, k * 5000, LENGTH, buf);
			}
		}
		usleep((unsigned)i * 300);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		c = reopen(NULL);
		(void)count(c);
		cache_close(c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_keeps, clear),
		cmocka_unit_test_teardown(test_cut, clear),
		cmocka_unit_test_teardown(test_flipped, clear),
		cmocka_unit_test_teardown(test_limit, clear),
		cmocka_unit_test_teardown(test_limit_of_small_ranges, clear),
		cmocka_unit_test_teardown(test_clear, clear),
		cmocka_unit_test_teardown(test_replaced, clear),
		cmocka_unit_test_teardown(test_trim, clear),
		cmocka_unit_test_teardown(test_text, clear),
		cmocka_unit_test_teardown(test_killed, clear),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
