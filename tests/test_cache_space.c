/*
 * test_cache_space.c - a cache stays within its limit, and frees space
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cache_made.h"

#include "base/sys.h"
#include "sys_fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MiB = 1 << 20, BIG = 300 << 10 };

/* The oldest ranges are freed, in either kind of store. */
static void
test_limit(void **state)
{
	uint8_t *big = calloc(1, MiB + 1);

	(void)state;
	assert_non_null(big);
	for (int kept = 0; kept < 2; kept++) {
		struct cache_store *s = open_store(kept, 4 * MiB);
		struct cache *c = open_key(s, "key");
		struct cache_counts n;

		for (unsigned i = 0; i < 40; i++) {
			memset(big, (int)i + 1, BIG);
			assert_int_equal(cache_write(c, NULL, (uint64_t)i *
			    BIG, BIG, big), 0);
			assert_true(du() <= 4 * MiB);
			cache_store_counted(s, &n);
			assert_true(n.used <= 4 * MiB);
		}
		assert_int_equal(cache_write(c, NULL, 1, MiB + 1, big),
		    -EFBIG);
		assert_int_equal(cache_read(c, NULL, 39 * BIG, BIG, big), 0);
		assert_int_equal(big[77], 40);
		assert_int_equal(cache_read(c, NULL, 30 * BIG, BIG, big), 0);
		assert_int_equal(big[77], 31);
		assert_int_equal(cache_read(c, NULL, 0, BIG, big), -ENOENT);
		cache_store_counted(s, &n);
		assert_true(n.evicted_bytes >= 26 * BIG);
		cache_close(c);
		cache_store_close(s);
	}
	assert_int_equal(warnings, 0);
	free(big);
}

/* Ranges smaller than a block are freed, too; records do not pile up. */
static void
test_limit_of_small_ranges(void **state)
{
	(void)state;
	assert_true(fault_plan("pwrite:1:EINTR,pwrite:3:short,pwrite:5:EINTR"));
	for (int kept = 0; kept < 2; kept++) {
		struct cache_store *s = open_store(kept, MiB);
		struct cache *c = open_key(s, "key");

		for (unsigned i = 0; i < 20000; i++) {
			assert_int_equal(write_one(c, i), 0);
			assert_true(i % 100 != 0 || du() <= MiB);
		}
		assert_false(has(c, 0));
		for (unsigned i = 19850; i < 20000; i++)
			assert_true(has(c, i));
		assert_int_equal(write_one(c, 0), 0);
		assert_true(has(c, 0));
		cache_close(c);
		cache_store_close(s);
	}
	assert_true(fault_plan(""));
}

static int
make_old(const char *path, const struct stat *st, int type, struct FTW *f)
{
	const struct timespec old[2] = { { .tv_sec = 1000 },
		{ .tv_sec = 1000 } };

	(void)st;
	(void)f;
	return type == FTW_F && utimensat(AT_FDCWD, path, old, 0) != 0;
}

/* Whoever needs space frees what was not used for longest, by any process. */
static void
test_least_recent(void **state)
{
	struct cache_store *a = open_store(true, 400 << 10), *b;
	struct cache *x = open_key(a, "x"), *y;

	(void)state;
	write_all(x);
	assert_int_equal(nftw(dir, make_old, 8, FTW_PHYS), 0);
	for (unsigned i = 0; i < RANGES; i += 5)
		assert_true(has(x, i));
	b = open_store(true, 400 << 10);
	y = open_key(b, "y");
	write_all(y);
	assert_true(du() <= 400 << 10);
	assert_int_equal(count(y), RANGES);
	for (unsigned i = 0; i < RANGES; i += 5)
		assert_true(has(x, i));
	assert_true(count(x) < RANGES);
	/* a smaller limit applies at once to everything */
	cache_store_close(open_store(true, 100 << 10));
	assert_true(du() <= 100 << 10);
	/* nothing is lost to a process that does not know that */
	write_all(x);
	assert_true(du() <= 400 << 10);
	assert_int_equal(count(x), RANGES);
	cache_close(x);
	cache_close(y);
	cache_store_close(a);
	cache_store_close(b);
}

/* If the number in .space is lost, or wrong, files are counted again. */
static void
test_unknown(void **state)
{
	static const char *const texts[] = { "", "layspace",
		("layspace\377\377\377\377\377\377\377\377"),
		"something else" };
	struct cache_store *s = open_store(true, MiB);
	struct cache *c = open_key(s, "key");
	unsigned i = 0;

	(void)state;
	for (size_t k = 0; k <= sizeof(texts) / sizeof(*texts); k++) {
		for (unsigned end = i + 500; i < end; i++)
			assert_int_equal(write_one(c, i), 0);
		assert_true(du() <= MiB);
		if (k == sizeof(texts) / sizeof(*texts)) {
			assert_int_equal(unlinkat(fd, ".space", 0), 0);
		} else {
			int f = openat(fd, ".space", O_WRONLY | O_TRUNC);

			assert_int_equal(write(f, texts[k], strlen(texts[k])),
			    (ssize_t)strlen(texts[k]));
			close(f);
		}
	}
	for (unsigned end = i + 500; i < end; i++)
		assert_int_equal(write_one(c, i), 0);
	assert_true(du() <= MiB);
	assert_int_equal(warnings, 0);
	cache_close(c);
	cache_store_close(s);
}

/* A process that holds the lock and does not go on is not waited for. */
static void
test_stopped(void **state)
{
	struct cache_store *s = open_store(true, MiB);
	struct cache *c = open_key(s, "key");
	uint64_t before;
	int f;

	(void)state;
	write_all(c);
	f = openat(fd, ".space", O_RDWR);
	assert_int_equal(flock(f, LOCK_EX), 0);
	before = sys_now_ns();
	for (unsigned i = RANGES; i < 2 * RANGES; i++)
		assert_int_equal(write_one(c, i), -EAGAIN);
	assert_true(sys_now_ns() - before < UINT64_C(900000000));
	assert_int_equal(count(c), RANGES);
	close(f);
	usleep(1100000);
	assert_int_equal(write_one(c, RANGES), 0);
	assert_int_equal(warnings, 0);
	cache_close(c);
	cache_store_close(s);
}

/*
 * What du says while nobody frees or reserves space: otherwise it may count both
 * what is freed meanwhile and what takes its place.
 */
static uint64_t
du_locked(void)
{
	int space = openat(fd, ".space", O_RDWR | O_CLOEXEC);
	uint64_t bytes;

	/* no process has reserved anything yet */
	if (space < 0)
		return 0;
	assert_int_equal(flock(space, LOCK_EX), 0);
	bytes = du();
	close(space);
	return bytes;
}

/* Writes and reads at random within a limit, until it is killed. */
static void
use_cache(unsigned seed, uint64_t limit)
{
	/* or until a check of the parent fails */
	int end = prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct cache_store *s = open_store(true, limit);
	struct cache *c[3] = { open_key(s, "a"), open_key(s, "b"),
		open_key(s, "c") };

	assert_int_equal(end, 0);
	for (;;) {
		unsigned i = (unsigned)rand_r(&seed) % 200;
		struct cache *of = c[rand_r(&seed) % 3];

		if (!has(of, i) && write_one(of, i) == -ENOSPC)
			_exit(1);
	}
}

/* Several processes, some of which are killed, stay within the limit. */
static void
test_processes(void **state)
{
	const uint64_t limit = 600 << 10;
	pid_t pids[3] = { 0 };
	int status;

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		unsigned k = round % 3;

		if (pids[k] != 0) {
			assert_int_equal(kill(pids[k], SIGKILL), 0);
			assert_int_equal(waitpid(pids[k], &status, 0),
			    pids[k]);
			assert_true(WIFSIGNALED(status));
		}
		pids[k] = fork();
		if (pids[k] == 0)
			use_cache(round, limit);
		for (int i = 0; i < 5; i++) {
			usleep(1500 + round * 100);
			/* each may write one range at a time */
			assert_true(du_locked() <= limit + 3 * 4096);
		}
	}
	for (unsigned k = 0; k < 3; k++) {
		assert_int_equal(kill(pids[k], SIGKILL), 0);
		assert_int_equal(waitpid(pids[k], &status, 0), pids[k]);
	}
	assert_true(du() <= limit + 3 * 4096);
	assert_true(du() > limit / 2);
}

/*
 * Files cannot grow: what does not fit is not stored, which is said once; the
 * rest is kept.
 */
static void
test_full(void **state)
{
	struct cache_store *s = open_store(true, 1 << 30);
	struct cache *c = open_key(s, "key");
	struct rlimit old, limit;
	struct cache_counts n;

	(void)state;
	write_all(c);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 500;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(write_one(c, RANGES), -ENOSPC);
	assert_false(has(c, RANGES));
	assert_int_equal(warnings, 1);
	/* for some time, it is not tried again */
	assert_int_equal(write_one(c, RANGES + 1), -EAGAIN);
	usleep(5100000);
	assert_int_equal(write_one(c, RANGES + 1), -ENOSPC);
	assert_int_equal(warnings, 1);
	cache_store_counted(s, &n);
	assert_int_equal(n.failures, 2);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(count(c), RANGES);
	usleep(5100000);
	assert_int_equal(write_one(c, RANGES), 0);
	assert_true(has(c, RANGES));
	cache_close(c);
	cache_store_close(s);
}

/* Nor can files be created: the store is opened nevertheless. */
static void
test_full_at_once(void **state)
{
	(void)state;
	for (int kept = 0; kept < 2; kept++) {
		struct cache_store *s;
		struct cache *c;

		assert_true(fault_plan("openat:1:ENOSPC"));
		s = open_store(kept, MiB);
		c = open_key(s, "key");
		assert_true(fault_plan("openat:1+:ENOSPC"));
		assert_true(write_one(c, 1) < 0);
		assert_false(has(c, 1));
		assert_true(fault_plan(""));
		assert_int_equal(warnings, kept + 1);
		cache_close(c);
		cache_store_close(s);
	}
}

/* Files of versions before are removed, and others are left alone. */
static void
test_others(void **state)
{
	(void)state;
	assert_int_equal(mknodat(fd, "0123.ranges", S_IFREG | 0600, 0), 0);
	assert_int_equal(mknodat(fd, "notes", S_IFREG | 0600, 0), 0);
	assert_int_equal(mkdirat(fd, "x.layer", 0700), 0);
	assert_int_equal(mknodat(fd, "x.layer/notes", S_IFREG | 0600, 0), 0);
	cache_store_close(open_store(true, 0));
	assert_int_equal(faccessat(fd, "0123.ranges", F_OK, 0), -1);
	assert_int_equal(faccessat(fd, "notes", F_OK, 0), 0);
	assert_int_equal(faccessat(fd, "x.layer/notes", F_OK, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_limit, clear),
		cmocka_unit_test_teardown(test_limit_of_small_ranges, clear),
		cmocka_unit_test_teardown(test_least_recent, clear),
		cmocka_unit_test_teardown(test_unknown, clear),
		cmocka_unit_test_teardown(test_stopped, clear),
		cmocka_unit_test_teardown(test_processes, clear),
		cmocka_unit_test_teardown(test_full, clear),
		cmocka_unit_test_teardown(test_full_at_once, clear),
		cmocka_unit_test_teardown(test_others, clear),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
