/*
 * test_image.c - walking an image in a format invented for this test
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The format, "toy", has blocks of 4 KiB, each stored raw or as a byte and a
 * repeat count, and no tables, because the source has all names.  The
 * scheduler, buffers, digests and rows are thus tested without any real format,
 * on intact and damaged images.
 */
#include "image/source.h"
#include "walk_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

/* An image source, as the code for a format would define it */

enum { BLOCK_B = 4096, RUN_B = 4, FILES = 600, FRAGMENTS = 3 };

struct toy_file {
	char name[16];
	uint64_t start, size;
	image_word words[40];
	uint32_t blocks, fragment, tail_at;
	bool bad;
};

struct toy {
	struct toy_file file[FILES];
	uint32_t files, fragments;
	uint64_t fragment_at[FRAGMENTS];
	int err;			/* returned by open */
};

static struct toy toy;

static int
toy_open(struct image *m, unsigned threads, image_report_fn *report,
    void *arg, const char **why)
{
	struct image_dir root = { .parent = 0 }, d = { .parent = 0,
	    .name = (const uint8_t *)"dir", .name_len = 3 };
	int rc = image_add_dir(m, &root);

	(void)threads;
	m->block_B = BLOCK_B;
	m->length = (uint64_t)lseek(m->fd, 0, SEEK_END) - m->offset;
	m->fragment_count = toy.fragments;
	*why = toy.err != 0 ? "toy is broken" : NULL;
	if (rc == 0)
		rc = toy.err != 0 ? toy.err : image_add_dir(m, &d);
	for (uint32_t i = 0; rc == 0 && i < toy.files; i++) {
		const struct toy_file *t = &toy.file[i];
		struct image_file f = { .name = (const uint8_t *)t->name,
		    .name_len = (uint16_t)strlen(t->name), .dir = i % 2,
		    .type = WALK_FILE, .size = t->size, .start = t->start,
		    .map = (const uint8_t *)t->words, .blocks = t->blocks,
		    .fragment = t->fragment, .tail_at = t->tail_at,
		    .flaw = t->bad, .unreadable = t->bad };

		rc = image_add_file(m, &f);
	}
	return rc != 0 || !toy.file[0].bad ? rc :
	    report(arg, 7, "a table of toy's is bad");
}

static void
toy_close(struct image *m)
{
	(void)m;
}

static const char *
toy_flaw(unsigned flaw)
{
	return flaw == 0 ? "" : "toy says so";
}

static uint64_t
toy_where(const struct image *m, uint64_t ref)
{
	(void)m;
	return ref;
}

static image_word
toy_block(const struct image *m, const struct image_file *f, uint32_t k,
    uint64_t *at)
{
	(void)m;
	(void)at;
	return ((const image_word *)(const void *)f->map)[k];
}

static image_word
toy_fragment(const struct image *m, uint32_t index, uint64_t *at)
{
	(void)m;
	*at = toy.fragment_at[index];
	return BLOCK_B | IMAGE_RAW;
}

static int
toy_decoder(const struct image *m, void **decoder)
{
	(void)m;
	*decoder = &toy;
	return 0;
}

static void
toy_decoder_close(void *decoder)
{
	assert_ptr_equal(decoder, &toy);
}

static int64_t
toy_unpack(void *decoder, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	size_t n = in[1] | (size_t)in[2] << 8;

	(void)decoder;
	if (len != RUN_B || in[3] != 0x55 || n > cap)
		return -EBADMSG;
	memset(out, in[0], n);
	return (int64_t)n;
}

static const struct image_source source = { .name = "toy", .open = toy_open,
    .close = toy_close, .flaw = toy_flaw, .where = toy_where, .block = toy_block,
    .fragment = toy_fragment, .decoder_open = toy_decoder,
    .decoder_close = toy_decoder_close, .unpack = toy_unpack };

/* An image in memory */

static struct digest_algo *algo;
static int image = -1;

static uint64_t
append(const void *p, size_t len)
{
	off_t at = lseek(image, 0, SEEK_END);

	assert_int_equal(write(image, p, len), (ssize_t)len);
	return (uint64_t)at;
}

/*
 * Makes a file whose block k is raw, a run or a hole, according to `what`; its
 * last block has `last` bytes.
 */
static void
add_blocks(struct toy_file *t, const char *what, size_t last)
{
	uint8_t raw[BLOCK_B], run[RUN_B];

	t->start = (uint64_t)lseek(image, 0, SEEK_END);
	t->blocks = (uint32_t)strlen(what);
	for (uint32_t k = 0; k < t->blocks; k++) {
		size_t n = k + 1 < t->blocks ? BLOCK_B : last;

		for (size_t i = 0; i < n; i++)
			raw[i] = (uint8_t)(i * 7 + k);
		memcpy(run, (uint8_t[]){ (uint8_t)what[k], (uint8_t)n,
		    (uint8_t)(n >> 8), 0x55 }, RUN_B);
		t->words[k] = what[k] == '0' ? 0 : what[k] == 'R' ?
		    (image_word)n | IMAGE_RAW : RUN_B;
		if (what[k] != '0')
			append(what[k] == 'R' ? raw : run,
			    what[k] == 'R' ? n : RUN_B);
		t->size += n;
	}
}

static struct toy_file *
add_file(const char *name)
{
	struct toy_file *t = &toy.file[toy.files++];

	snprintf(t->name, sizeof(t->name), "%s", name);
	t->fragment = IMAGE_NONE;
	return t;
}

static void
add_tail(struct toy_file *t, uint32_t fragment, uint32_t at, size_t len)
{
	t->fragment = fragment;
	t->tail_at = at;
	t->size += len;
}

static int
make_image(void **state)
{
	uint8_t block[BLOCK_B];
	struct toy_file *t;
	char name[16];

	(void)state;
	memset(&toy, 0, sizeof(toy));
	image = memfd_create("toy", MFD_CLOEXEC);
	toy.fragments = FRAGMENTS;
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (uint8_t)(i >> 4);
	for (int k = 0; k < FRAGMENTS; k++)
		toy.fragment_at[k] = append(block, sizeof(block));
	add_blocks(add_file("one"), "RaR0bR", 100);
	add_file("empty");
	t = add_file("tailed");
	add_blocks(t, "aR0R", BLOCK_B);
	add_tail(t, 1, 1000, 2000);
	add_blocks(add_file("holes"), "00000", 5);
	*add_file("twin") = toy.file[0];
	strcpy(toy.file[4].name, "twin");
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "small %d", i);
		t = add_file(name);
		if (i % 5 == 0)
			add_blocks(t, i % 2 == 0 ? "RRRRRRRRRRRRR" : "cdcdRRc",
			    1 + (size_t)i);
		else
			add_tail(t, (uint32_t)i % FRAGMENTS, (uint32_t)i,
			    1 + (size_t)i * 3);
	}
	return digest_algo_open(&algo, "sha256");
}

static int
free_image(void **state)
{
	(void)state;
	digest_algo_close(algo);
	close(image);
	return 0;
}

static int
walk(struct walk_log *log, unsigned threads, struct walk_result *r,
    const char **why)
{
	struct walk_options o = { .threads = threads, .digest = algo,
	    .row = walk_log_row, .damage = walk_log_damage, .arg = log };
	int rc = image_walk(&source, image, 0, &o, r, why);

	walk_log_sort(log);
	return rc;
}

/* Computes the digest of the file's bytes, according to the builder. */
static void
expected(const struct toy_file *t, char hex[65])
{
	static uint8_t data[41 * BLOCK_B];
	uint8_t out[DIGEST_MAX];
	struct digest *d;
	uint64_t at = t->start, n = 0;

	memset(data, 0, sizeof(data));
	for (uint32_t k = 0; k < t->blocks; k++) {
		size_t stored = image_stored_B(t->words[k]);
		uint8_t run[RUN_B];

		if ((t->words[k] & IMAGE_RAW) != 0) {
			assert_int_equal(pread(image, data + n, stored,
			    (off_t)at), (ssize_t)stored);
		} else if (stored > 0) {
			assert_int_equal(pread(image, run, RUN_B, (off_t)at),
			    RUN_B);
			memset(data + n, run[0], run[1] | run[2] << 8);
		}
		at += stored;
		n += BLOCK_B;
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
		for (uint32_t i = 0; i < toy.files; i++) {
			struct walk_file f = { .size = toy.file[i].size };
			char path[32], hex[65];

			snprintf(path, sizeof(path), "%s%s", i % 2 == 1 ?
			    "dir/" : "", toy.file[i].name);
			f.path = path;
			expected(&toy.file[i], hex);
			for (int k = 0; k < 32; k++)
				sscanf(hex + 2 * k, "%2hhx", &f.digest[k]);
			f.digest_len = 32;
			walk_log_row(&want, &f);
		}
		walk_log_sort(&want);
		assert_int_equal(log.count, want.count);
		for (size_t i = 0; i < log.count; i++)
			assert_string_equal(log.line[i], want.line[i]);
		assert_int_equal(r.files, toy.files);
		assert_int_equal(r.duplicates, 1);
		assert_int_equal(r.dirs, 1);
		assert_int_equal(log.damaged, 0);
		walk_log_free(&want);
		walk_log_free(&log);
	}
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
	assert_int_equal(log.count, toy.files);
	*damaged = log.damaged;
	walk_log_free(&log);
	return r.errors;
}

static void
damaged_ones(void **state)
{
	uint64_t at = toy.file[0].start + BLOCK_B;
	size_t damaged, tails = 0;

	(void)state;
	for (uint32_t i = 0; i < toy.files; i++)
		tails += toy.file[i].fragment == FRAGMENTS - 1;
	for (unsigned threads = 1; threads <= 4; threads++) {
		/* an invalid run: the file and its duplicate */
		assert_int_equal(pwrite(image, "\0", 1, (off_t)at + 3), 1);
		assert_int_equal(errors_of(threads, &damaged), 2);
		assert_int_equal(damaged, 2);
		/* one that is too short */
		assert_int_equal(pwrite(image, "\1\1\0\x55", 4, (off_t)at), 4);
		assert_int_equal(errors_of(threads, &damaged), 2);
		assert_int_equal(pwrite(image, "a\0\x10\x55", 4, (off_t)at), 4);
		assert_int_equal(errors_of(threads, &damaged), 0);
		/* an invalid word, a bad file, and a table */
		toy.file[2].words[1] |= IMAGE_BAD;
		toy.file[0].bad = true;
		assert_int_equal(errors_of(threads, &damaged), 2);
		assert_int_equal(damaged, 3);
		toy.file[2].words[1] &= ~IMAGE_BAD;
		toy.file[0].bad = false;
		/* a fragment block outside the image */
		toy.fragment_at[FRAGMENTS - 1] += UINT64_C(1) << 40;
		assert_int_equal(errors_of(threads, &damaged), tails);
		assert_int_equal(damaged, tails);
		toy.fragment_at[FRAGMENTS - 1] -= UINT64_C(1) << 40;
	}
}

/*
 * If the image is truncated anywhere, the walk still ends, and each file has a
 * row.
 */
static void
cut_ones(void **state)
{
	off_t end = lseek(image, 0, SEEK_END);
	size_t damaged;

	(void)state;
	for (off_t at = end - 1; at > 0; at -= end / 23) {
		assert_int_equal(ftruncate(image, at), 0);
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
	toy.err = -EBADMSG;
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

	(void)state;
	assert_int_equal(image_walk(&source, image, 0, &o, &r, &why),
	    -EDQUOT);
	assert_non_null(why);
	assert_int_equal(left, 20000);
	left = 1 << 20;
	assert_int_equal(image_walk(&source, image, 0, &o, &r, &why), 0);
	assert_int_equal(log.count, toy.files);
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
		TEST(damaged_ones),
		TEST(cut_ones),
		TEST(one_that_does_not_open),
		TEST(more_than_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
