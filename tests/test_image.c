/*
 * test_image.c - walking intact and damaged images in a format for tests
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The scheduler, buffers, digests and rows are thus tested without any real
 * format.
 */
#include "toy_image.h"
#include "walk_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>

static struct digest_algo *algo;
static struct toy *toy;

static int
make_image(void **state)
{
	(void)state;
	toy = toy_make();
	return digest_algo_open(&algo, "sha256");
}

static int
free_image(void **state)
{
	(void)state;
	digest_algo_close(algo);
	toy_free(toy);
	return 0;
}

static int
walk(struct walk_log *log, unsigned threads, struct walk_result *r,
    const char **why)
{
	struct walk_options o = { .threads = threads, .digest = algo,
	    .row = walk_log_row, .damage = walk_log_damage, .arg = log };
	int rc = image_walk(&toy_source, toy->fd, 0, &o, r, why);

	walk_log_sort(log);
	return rc;
}

/* Computes the digest of the file's bytes, according to the builder. */
static void
expected(const struct toy_file *t, char hex[65])
{
	static uint8_t data[41 * TOY_BLOCK_B];
	uint8_t out[DIGEST_MAX];
	struct digest *d;
	uint64_t at = t->start, n = 0;

	memset(data, 0, sizeof(data));
	for (uint32_t k = 0; k < t->blocks; k++) {
		size_t stored = image_stored_B(t->words[k]);
		uint8_t run[TOY_RUN_B];

		if ((t->words[k] & IMAGE_RAW) != 0) {
			assert_int_equal(pread(toy->fd, data + n, stored,
			    (off_t)at), (ssize_t)stored);
		} else if (stored > 0) {
			assert_int_equal(pread(toy->fd, run, TOY_RUN_B,
			    (off_t)at), TOY_RUN_B);
			memset(data + n, run[0], run[1] | run[2] << 8);
		}
		at += stored;
		n += TOY_BLOCK_B;
	}
	if (t->fragment != IMAGE_NONE)
		for (uint64_t i = 0; n + i < t->size; i++)
			data[n + i] = (uint8_t)((t->tail_at + i) >> 4);
	assert_int_equal(digest_new(&d, algo), 0);
	assert_int_equal(digest_once(d, data, (size_t)t->size, out), 0);
	digest_free(d);
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", out[i]);
}

static void
a_good_one(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 9; threads += 2) {
		struct walk_log log = { 0 }, want = { 0 };
		struct walk_result r;
		const char *why;

		assert_int_equal(walk(&log, threads, &r, &why), 0);
		assert_null(why);
		for (uint32_t i = 0; i < toy->files; i++) {
			struct walk_file f = { .size = toy->file[i].size };
			char path[32], hex[65];

			snprintf(path, sizeof(path), "%s%s", i % 2 == 1 ?
			    "dir/" : "", toy->file[i].name);
			f.path = path;
			expected(&toy->file[i], hex);
			for (int k = 0; k < 32; k++)
				sscanf(hex + 2 * k, "%2hhx", &f.digest[k]);
			f.digest_len = 32;
			walk_log_row(&want, &f);
		}
		walk_log_sort(&want);
		assert_int_equal(log.count, want.count);
		for (size_t i = 0; i < log.count; i++)
			assert_string_equal(log.line[i], want.line[i]);
		assert_int_equal(r.files, toy->files);
		assert_int_equal(r.duplicates, 1);
		assert_int_equal(r.dirs, 1);
		assert_int_equal(log.damaged, 0);
		walk_log_free(&want);
		walk_log_free(&log);
	}
}

static int
row_of_twin(void *arg, const struct walk_file *f)
{
	unsigned *twins = arg;

	if (f->duplicate_of == NULL)
		return 0;
	assert_true(strcmp(f->duplicate_of, f->path) < 0);
	++*twins;
	return 0;
}

/* A file with the data of another says which, and that one does not. */
static void
twins(void **state)
{
	unsigned count = 0;
	struct walk_options o = { .threads = 2, .digest = algo,
	    .row = row_of_twin, .arg = &count };
	struct walk_result r;
	const char *why;

	(void)state;
	assert_int_equal(image_walk(&toy_source, toy->fd, 0, &o, &r, &why), 0);
	assert_true(r.duplicates > 0);
	assert_int_equal(count, r.duplicates);
}

/*
 * Returns the number of rows with an error; checks that all files have a row.
 */
static size_t
errors_of(unsigned threads, size_t *damaged)
{
	struct walk_log log = { 0 };
	struct walk_result r;
	const char *why;

	assert_int_equal(walk(&log, threads, &r, &why), 0);
	assert_int_equal(log.count, toy->files);
	*damaged = log.damaged;
	walk_log_free(&log);
	return r.errors;
}

static void
damaged_ones(void **state)
{
	uint64_t at = toy->file[0].start + TOY_BLOCK_B;
	size_t damaged, tails = 0;

	(void)state;
	for (uint32_t i = 0; i < toy->files; i++)
		tails += toy->file[i].fragment == TOY_FRAGMENTS - 1;
	for (unsigned threads = 1; threads <= 4; threads++) {
		/* an invalid run: the file and its duplicate */
		assert_int_equal(pwrite(toy->fd, "\0", 1, (off_t)at + 3), 1);
		assert_int_equal(errors_of(threads, &damaged), 2);
		assert_int_equal(damaged, 2);
		/* one that is too short */
		assert_int_equal(pwrite(toy->fd, "\1\1\0\x55", 4,
		    (off_t)at), 4);
		assert_int_equal(errors_of(threads, &damaged), 2);
		assert_int_equal(pwrite(toy->fd, "a\0\x10\x55", 4,
		    (off_t)at), 4);
		assert_int_equal(errors_of(threads, &damaged), 0);
		/* an invalid word, a bad file, and a table */
		toy->file[2].words[1] |= IMAGE_BAD;
		toy->file[0].bad = true;
		assert_int_equal(errors_of(threads, &damaged), 2);
		assert_int_equal(damaged, 3);
		toy->file[2].words[1] &= ~IMAGE_BAD;
		toy->file[0].bad = false;
		/* a fragment block outside the image */
		toy->fragment_at[TOY_FRAGMENTS - 1] += UINT64_C(1) << 40;
		assert_int_equal(errors_of(threads, &damaged), tails);
		assert_int_equal(damaged, tails);
		toy->fragment_at[TOY_FRAGMENTS - 1] -= UINT64_C(1) << 40;
	}
}

/*
 * If the image is truncated anywhere, the walk still ends, and each file has a
 * row.
 */
static void
cut_ones(void **state)
{
	off_t end = lseek(toy->fd, 0, SEEK_END);
	size_t damaged;

	(void)state;
	for (off_t at = end - 1; at > 0; at -= end / 23) {
		assert_int_equal(ftruncate(toy->fd, at), 0);
		assert_true(errors_of(3, &damaged) > 0);
		assert_true(damaged > 0);
	}
}

static void
one_that_does_not_open(void **state)
{
	struct walk_log log = { 0 };
	struct walk_result r;
	const char *why;

	(void)state;
	toy->err = -EBADMSG;
	assert_int_equal(walk(&log, 2, &r, &why), -EBADMSG);
	assert_string_equal(why, "toy is broken");
	assert_int_equal(log.count, 0);
}

static void
more_than_the_memory(void **state)
{
	struct walk_log log = { 0 };
	uint64_t left = 20000;
	struct walk_options o = { .threads = 2, .digest = algo,
	    .row = walk_log_row, .arg = &log, .memory_left = &left };
	struct walk_result r;
	const char *why = NULL;
	int rc;

	(void)state;
	rc = image_walk(&toy_source, toy->fd, 0, &o, &r, &why);
	assert_int_equal(rc, -EDQUOT);
	assert_non_null(why);
	assert_int_equal(left, 20000);
	/* what was taken is given back, wherever it is not enough */
	for (uint64_t most = 0; rc == -EDQUOT; most += 24) {
		walk_log_free(&log);
		left = most;
		rc = image_walk(&toy_source, toy->fd, 0, &o, &r, &why);
		assert_int_equal(left, most);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(log.count, toy->files);
	walk_log_free(&log);
	left = 1 << 20;
	assert_int_equal(image_walk(&toy_source, toy->fd, 0, &o, &r, &why), 0);
	assert_int_equal(log.count, toy->files);
	assert_int_equal(left, 1 << 20);
	walk_log_free(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, make_image, free_image)
		TEST(a_good_one),
		TEST(twins),
		TEST(damaged_ones),
		TEST(cut_ones),
		TEST(one_that_does_not_open),
		TEST(more_than_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
