/*
 * test_cache.c - a cache returns what was written, or nothing
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cache_made.h"

#include "base/sys.h"

#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { LIMIT = 1 << 30 };

/* Either kind of store keeps what was written until it is closed. */
static void
test_keeps(void **state)
{
	uint8_t buf[LENGTH + 1], want[LENGTH];

	(void)state;
	for (int kept = 0; kept < 2; kept++) {
		struct cache_store *s = open_store(kept, LIMIT);
		struct cache *c = open_key(s, "key");
		struct cache *other = open_key(s, "another");
		struct cache_counts n;

		assert_int_equal(count(c), 0);
		write_all(c);
		assert_int_equal(count(c), RANGES);
		assert_int_equal(count(other), 0);
		/* the length need not be known, but there must be room */
		assert_int_equal(cache_find(c, NULL, 5000, sizeof(buf), buf),
		    LENGTH);
		fill(want, 1);
		assert_memory_equal(buf, want, LENGTH);
		assert_int_equal(cache_find(c, NULL, 5000, LENGTH - 1, buf),
		    -ENOENT);
		assert_int_equal(cache_read(c, NULL, 5000, LENGTH + 1, buf),
		    -ENOENT);
		cache_drop(c, NULL, 5000);
		assert_int_equal(count(c), RANGES - 1);
		assert_int_equal(write_one(c, 1), 0);
		assert_int_equal(count(c), RANGES);
		write_all(other);
		assert_int_equal(cache_clear(c), 0);
		assert_int_equal(count(c), 0);
		assert_int_equal(count(other), RANGES);
		write_all(c);
		assert_int_equal(count(c), RANGES);
		cache_store_counted(s, &n);
		assert_int_equal(n.limit, LIMIT);
		assert_true(n.used >= 2 * RANGES * LENGTH);
		assert_int_equal(n.stored_bytes, (3 * RANGES + 1) * LENGTH);
		assert_int_equal(n.hits, 5 * RANGES + 1);
		assert_int_equal(n.failures, 0);
		cache_close(c);
		cache_close(other);
		cache_store_close(s);
		s = open_store(kept, LIMIT);
		c = open_key(s, "key");
		assert_int_equal(count(c), kept ? RANGES : 0);
		cache_close(c);
		cache_store_close(s);
	}
	assert_int_equal(warnings, 0);
}

/* Several users of a directory see what the others store. */
static void
test_shared(void **state)
{
	struct cache_store *a = open_store(true, LIMIT);
	struct cache_store *b = open_store(true, LIMIT);
	struct cache *x = open_key(a, "key"), *y = open_key(b, "key");

	(void)state;
	for (unsigned i = 0; i < RANGES; i++) {
		assert_int_equal(write_one(i % 2 ? x : y, i), 0);
		assert_true(has(i % 2 ? y : x, i));
	}
	/* both may store the same */
	write_all(x);
	write_all(y);
	assert_int_equal(count(x), RANGES);
	assert_int_equal(cache_clear(y), 0);
	assert_int_equal(count(x), 0);
	/* the directory of the layer is made again */
	assert_int_equal(nftw(dir, remove_below, 8, FTW_DEPTH | FTW_PHYS), 0);
	write_all(x);
	assert_int_equal(count(y), RANGES);
	cache_close(x);
	cache_close(y);
	cache_store_close(a);
	cache_store_close(b);
}

/* A file that was truncated or changed anywhere costs one range. */
static void
test_damaged(void **state)
{
	struct cache_store *s = open_store(true, LIMIT);
	struct cache *c = open_key(s, "key");
	const char *path;
	struct stat st;

	(void)state;
	write_all(c);
	path = find_range();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, CACHE_HEADER + LENGTH);
	for (off_t at = 0; at < st.st_size; at += at < CACHE_HEADER ? 1 : 97) {
		uint8_t byte;
		int f;

		assert_int_equal(truncate(path, at), 0);
		assert_int_equal(count(c), RANGES - 1);
		write_all(c);
		assert_int_equal(count(c), RANGES);
		f = open(path, O_RDWR);
		assert_int_equal(pread(f, &byte, 1, at), 1);
		byte ^= 4;
		assert_int_equal(pwrite(f, &byte, 1, at), 1);
		close(f);
		assert_int_equal(count(c), RANGES - 1);
		write_all(c);
		assert_int_equal(count(c), RANGES);
	}
	cache_close(c);
	cache_store_close(s);
}

/*
 * Anything else in a file's place is not read: another key's file, a link to a
 * good one, a directory, or a FIFO.
 */
static void
test_replaced(void **state)
{
	struct cache_store *s = open_store(true, LIMIT);
	struct cache *c = open_key(s, "another");
	char path[sizeof(range_path)], other[sizeof(range_path)], *folder;
	uint8_t buf[LENGTH];

	(void)state;
	assert_int_equal(write_one(c, 1), 0);
	strcpy(other, find_range());
	cache_close(c);
	assert_int_equal(rename(other, "other"), 0);
	assert_int_equal(rmdir(dirname(other)), 0);
	c = open_key(s, "key");
	assert_int_equal(write_one(c, 1), 0);
	strcpy(path, find_range());
	assert_int_equal(rename(path, "good"), 0);
	assert_int_equal(rename("other", path), 0);
	assert_false(has(c, 1));
	assert_int_equal(write_one(c, 1), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(link("good", path), 0);
	assert_true(has(c, 1));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("good", path), 0);
	assert_false(has(c, 1));
	assert_int_equal(write_one(c, 1), 0);
	assert_true(has(c, 1));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(has(c, 1));
	assert_int_equal(write_one(c, 1), 0);
	assert_true(has(c, 1));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(cache_read(c, NULL, 5000, LENGTH, buf), -EINVAL);
	assert_true(write_one(c, 1) < 0);
	assert_int_equal(rmdir(path), 0);
	cache_close(c);
	/* in the place of a directory */
	folder = dirname(path);
	assert_int_equal(rmdir(folder), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(i == 0 ? symlink(dir, folder) : i == 1 ?
		    mkfifo(folder, 0600) : mknod(folder, S_IFREG | 0600, 0),
		    0);
		assert_int_equal(cache_open(&c, s, "key"), -EINVAL);
		assert_int_equal(unlink(folder), 0);
	}
	assert_int_equal(unlink("good"), 0);
	cache_store_close(s);
}

static bool
has_text(const char *key, const char *want)
{
	char *text;
	size_t len;
	int rc = cache_text_read(fd, key, 16, &text, &len);
	bool same;

	if (rc != 0) {
		assert_null(text);
		return false;
	}
	same = len == strlen(want) && strcmp(text, want) == 0;
	sys_free(text);
	return same;
}

static char text_path[SCRATCH_B + 160];

static int
note_text(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	if (f->level == 1)
		snprintf(text_path, sizeof(text_path), "%s", path);
	return f->level == 1;
}

/* Text is read back exactly as written, or not at all. */
static void
test_text(void **state)
{
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
	assert_int_equal(nftw(dir, note_text, 8, FTW_PHYS), 1);
	assert_int_equal(stat(text_path, &st), 0);
	for (off_t i = 0; i < st.st_size; i++) {
		assert_int_equal(truncate(text_path, i), 0);
		assert_false(has_text("k", "text"));
		assert_int_equal(cache_text_write(fd, "k", "text", 4), 0);
	}
	file = open(text_path, O_WRONLY);
	assert_int_equal(pwrite(file, "T", 1, st.st_size - 4), 1);
	close(file);
	assert_false(has_text("k", "text"));
	/* and is removed like other files */
	cache_store_close(open_store(true, 0));
	assert_int_equal(stat(text_path, &st), -1);
	/* no writer is waited for */
	assert_int_equal(mkfifo(text_path, 0600), 0);
	assert_false(has_text("k", "text"));
	assert_int_equal(cache_text_write(fd, "k", "text", 4), -EINVAL);
}

/* Killed writers leave no wrong data. */
static void
test_killed(void **state)
{
	struct cache_store *s;
	struct cache *c;

	(void)state;
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			const struct cache_options o = { .dir = fd,
				.kept = true, .limit = LIMIT };

			if (cache_store_open(&s, &o) != 0 ||
			    cache_open(&c, s, "key") != 0)
				_exit(1);
			for (unsigned k = 0; ; k = (k + 1) % RANGES) {
				cache_drop(c, object_of(k), k * 5000);
				(void)write_one(c, k);
			}
		}
		usleep((unsigned)i * 300);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		s = open_store(true, LIMIT);
		c = open_key(s, "key");
		(void)count(c);
		write_all(c);
		assert_int_equal(count(c), RANGES);
		cache_close(c);
		cache_store_close(s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_keeps, clear),
		cmocka_unit_test_teardown(test_shared, clear),
		cmocka_unit_test_teardown(test_damaged, clear),
		cmocka_unit_test_teardown(test_replaced, clear),
		cmocka_unit_test_teardown(test_text, clear),
		cmocka_unit_test_teardown(test_killed, clear),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
