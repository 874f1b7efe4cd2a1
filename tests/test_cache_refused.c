/*
 * test_cache_refused.c - a cache whose calls are refused, or files are changed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation and each call of the system fails in turn.  What cannot be
 * stored or read is missing; what is returned is right; and afterwards the
 * cache can be used, and is not larger than it may be.
 */
#include "suffers.h"

#include "cache_made.h"

#include "base/sys.h"

enum { SOME = 12, LIMIT = 160 << 10, TEXT = 300 };

static bool kept;
static char document[TEXT];

/* Whether an operation did what it should; if not, something was refused. */
static void
note(bool done)
{
	got.warned |= !done;
	take_number(done);
}

/* Reads range i, if it is there; then it has the right bytes. */
static bool
is_there(struct cache *c, unsigned i)
{
	uint8_t buf[LENGTH] = { 0 }, right[LENGTH];
	ssize_t n = cache_find(c, object_of(i), i * 5000, LENGTH, buf);

	fill(right, i);
	if (n >= 0 && (n != LENGTH || memcmp(buf, right, LENGTH) != 0))
		fail_msg("%s: range %u: %zd", suffers_run.call, i, n);
	return n >= 0;
}

static int
use(void)
{
	const struct cache_options o = { .dir = fd, .kept = kept,
		.limit = LIMIT };
	struct cache_store *s;
	struct cache_counts n;
	struct cache *c;
	char *text;
	size_t len;
	int rc = cache_store_open(&s, &o);

	if (rc != 0)
		return rc;
	rc = cache_open(&c, s, "key");
	if (rc != 0) {
		cache_store_close(s);
		return rc;
	}
	for (unsigned i = 0; i < SOME; i++)
		note(write_one(c, i) == 0);
	for (unsigned i = 0; i < SOME; i++)
		note(is_there(c, i));
	cache_drop(c, object_of(1), 5000);
	(void)is_there(c, 1);
	note(write_one(c, 1) == 0);
	cache_store_counted(s, &n);
	take_number(n.stored_bytes);
	rc = cache_text_write(fd, "text", document, TEXT);
	note(rc == 0);
	rc = cache_text_read(fd, "text", TEXT, &text, &len);
	note(rc == 0);
	if (rc == 0 && (len != TEXT || memcmp(text, document, TEXT) != 0))
		fail_msg("%s: another document", suffers_run.call);
	if (rc == 0)
		sys_free(text);
	cache_close(c);
	cache_store_close(s);
	return 0;
}

/* The directory as another process finds it */
static void
look(void)
{
	struct cache_store *s = open_store(kept, LIMIT);
	struct cache *c = open_key(s, "key");
	uint8_t buf[LENGTH];
	unsigned found = 0;

	for (unsigned i = 0; i < SOME; i++)
		found += is_there(c, i);
	/* no error of reading is taken for damage */
	if (kept && strncmp(suffers_run.call, "pread", 5) == 0 && found != SOME)
		fail_msg("%s: %u ranges", suffers_run.call, found);
	if (kept && du() > LIMIT + 8192)
		fail_msg("%s: more than the limit", suffers_run.call);
	for (unsigned i = 0; i < SOME; i++) {
		assert_int_equal(write_one(c, i), 0);
		assert_true(is_there(c, i));
	}
	assert_int_equal(cache_clear(c), 0);
	assert_int_equal(cache_find(c, NULL, 5000, LENGTH, buf), -ENOENT);
	cache_close(c);
	cache_store_close(s);
	assert_int_equal(clear(NULL), 0);
}

static void
refused(void **state)
{
	(void)state;
	suffers_run.first = 40;
	suffers_run.turns = 20;
	suffers_exact = UINT64_MAX;
	suffers_after = look;
	for (int i = 0; i < 2; i++) {
		kept = i == 0;
		SUFFERS(use);
	}
}

/* Files that another process has changed */

static void
write_at(const char *path, off_t at, const void *data, size_t len)
{
	int file = open(path, O_WRONLY);

	assert_true(file >= 0);
	assert_int_equal(pwrite(file, data, len, at), (ssize_t)len);
	close(file);
}

/* A range is not used if it is shorter, whatever the buffer contains. */
static void
cut(void **state)
{
	struct cache_store *s = open_store(true, LIMIT);
	struct cache *c = open_key(s, "key");
	uint8_t buf[LENGTH], right[LENGTH];

	(void)state;
	fill(right, 1);
	for (int n = 0; n < CACHE_HEADER + LENGTH; n += n < 60 ? 1 : 200) {
		assert_int_equal(write_one(c, 1), 0);
		assert_int_equal(truncate(find_range(), n), 0);
		memcpy(buf, right, LENGTH);
		if (cache_find(c, NULL, 5000, LENGTH, buf) != -ENOENT)
			fail_msg("cut to %d bytes", n);
	}
	/* nor if there is no room for it */
	assert_int_equal(write_one(c, 1), 0);
	assert_int_equal(cache_find(c, NULL, 5000, LENGTH, buf), LENGTH);
	assert_int_equal(cache_find(c, NULL, 5000, LENGTH - 1, buf), -ENOENT);
	cache_close(c);
	cache_store_close(s);
}

/* A header with another value is not used, even if its checksum is right. */
static void
header(void **state)
{
	static const int at[] = { 0, 7, 8, 15, 16, 24, 31, 32 };
	struct cache_store *s = open_store(true, LIMIT);
	struct cache *c = open_key(s, "key");
	uint8_t buf[LENGTH], h[CACHE_HEADER];

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(at) / sizeof(at[0]); i++) {
		uint64_t sum;
		int file;

		assert_int_equal(write_one(c, 1), 0);
		file = open(find_range(), O_RDONLY);
		assert_int_equal(read(file, h, sizeof(h)), sizeof(h));
		close(file);
		h[at[i / 2]] ^= 1;
		sum = cache_hash(h, 40);
		/* little-endian, as this test's machines are, or wrong, too */
		if (i % 2 == 0)
			memcpy(h + 40, &sum, sizeof(sum));
		write_at(find_range(), 0, h, sizeof(h));
		fill(buf, 1);
		if (cache_find(c, NULL, 5000, LENGTH, buf) != -ENOENT)
			fail_msg("byte %d of the header", at[i / 2]);
	}
	cache_close(c);
	cache_store_close(s);
}

/* Another range's file, under the name of this one */
static void
moved(void **state)
{
	struct cache_store *s = open_store(true, LIMIT);
	struct cache *c = open_key(s, "key");
	char other[SCRATCH_B + 160], path[SCRATCH_B + 160];
	uint8_t buf[LENGTH];

	(void)state;
	assert_int_equal(write_one(c, 1), 0);
	snprintf(other, sizeof(other), "%s", find_range());
	snprintf(path, sizeof(path), "%s", other);
	/* the last digits are those of the offset */
	memcpy(path + strlen(path) - 4, "2710", 4);
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(cache_find(c, NULL, 10000, LENGTH, buf), -ENOENT);
	cache_close(c);
	cache_store_close(s);
}

/* An unnamed file that has changed */
static void
unnamed(void **state)
{
	struct cache_store *s = open_store(false, LIMIT);
	struct cache *c = open_key(s, "key");
	uint8_t buf[LENGTH], changed[4096];
	bool found = false;

	(void)state;
	assert_int_equal(write_one(c, 1), 0);
	assert_true(has(c, 1));
	memset(changed, 7, sizeof(changed));
	for (int i = 3; i < 64; i++) {
		char path[64], to[SCRATCH_B + 64];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		n = readlink(path, to, sizeof(to) - 1);
		if (n <= 0 || strncmp(to, dir, strlen(dir)) != 0 || i == fd)
			continue;
		write_at(path, 0, changed, sizeof(changed));
		found = true;
	}
	assert_true(found);
	assert_int_equal(cache_find(c, NULL, 5000, LENGTH, buf), -ENOENT);
	cache_close(c);
	cache_store_close(s);
}

/* What is no file */
static void
others(void **state)
{
	struct cache_store *s = open_store(true, LIMIT);
	struct cache *c = open_key(s, "key");
	char path[SCRATCH_B + 160], *text;
	uint8_t buf[LENGTH];
	size_t len;

	(void)state;
	assert_int_equal(write_one(c, 1), 0);
	snprintf(path, sizeof(path), "%s", find_range());
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(cache_find(c, NULL, 5000, LENGTH, buf), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(cache_find(c, NULL, 5000, LENGTH, buf), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(cache_find(c, NULL, 5000, LENGTH, buf), -EINVAL);
	cache_close(c);
	cache_store_close(s);
	assert_int_equal(clear(state), 0);

	/* a document */
	assert_int_equal(cache_text_write(fd, "k", document, TEXT), 0);
	assert_int_equal(cache_text_read(fd, "k", TEXT - 1, &text, &len),
	    -EFBIG);
	assert_null(text);
	assert_int_equal(cache_text_read(fd, "k", TEXT, &text, &len), 0);
	sys_free(text);
	assert_int_equal(cache_text_read(fd, "other", TEXT, &text, &len),
	    -ENOENT);
}

static int
begin_all(void **state)
{
	for (size_t i = 0; i < TEXT; i++)
		document[i] = (char)('a' + i % 26);
	assert_true(fault_plan(""));
	return set_up(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test_teardown(cut, clear),
		cmocka_unit_test_teardown(header, clear),
		cmocka_unit_test_teardown(moved, clear),
		cmocka_unit_test_teardown(unnamed, clear),
		cmocka_unit_test_teardown(others, clear),
	};

	return cmocka_run_group_tests(tests, begin_all, tear_down);
}
