/*
 * test_cache.c - a cache returns what was written, or nothing
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cache_made.h"

#include "base/sys.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
	assert_int_equal(cache_open(&c, fd, "key", 1 << 30), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(cache_open(&c, fd, "key", 1 << 30), -EINVAL);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(cache_open(&c, fd, "key", 1 << 30), -EINVAL);
	assert_int_equal(cache_trim(fd, 0), 0);
	assert_int_equal(access(path, F_OK), 0);
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
	/* no writer is waited for */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(has_text("k", "text"));
	assert_int_equal(cache_text_write(fd, "k", "text", 4), -EINVAL);
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
		cmocka_unit_test_teardown(test_replaced, clear),
		cmocka_unit_test_teardown(test_text, clear),
		cmocka_unit_test_teardown(test_killed, clear),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
