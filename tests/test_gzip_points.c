/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/deflate/inflater.h"
#include "format/gzip/gzip.h"
#include "format/gzip/gzip_points.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

enum { PLAIN = 3 << 20, ROOM = 2 * PLAIN, SPACING = 100000, POINTS = 64 };

/* A file, its contents, and what was reported about it. */
struct file {
	uint8_t plain[PLAIN], packed[ROOM], again[PLAIN + 1], taken[ROOM];
	size_t plain_len, packed_len, read_at, step, taken_len;
	struct gzip_point points[POINTS];
	uint8_t windows[POINTS][GZIP_WINDOW];
	size_t count, sparse_count, zeros;
};

static struct file *
new_file(void)
{
	struct file *f = calloc(1, sizeof(*f));
	uint32_t seed = 5;

	assert_non_null(f);
	for (size_t i = 0; i < PLAIN; i++) {
		seed = seed * 1664525 + 1013904223;
		f->plain[i] = i > 5000 && seed >> 30 == 0 ?
		    f->plain[i - 4000] : (uint8_t)("a member of x"[seed >> 29]);
	}
	f->step = 30000;
	return f;
}

/* Adds a member that holds the next len bytes. */
static void
add_member(struct file *f, size_t len, int level)
{
	z_stream z = { .next_in = f->plain + f->plain_len,
	    .avail_in = (uInt)len, .next_out = f->packed + f->packed_len,
	    .avail_out = (uInt)(ROOM - f->packed_len) };

	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, MAX_WBITS + 16,
	    8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	f->packed_len += z.total_out;
	f->plain_len += len;
	deflateEnd(&z);
}

static ssize_t
give(void *arg, void *buf, size_t len)
{
	struct file *f = arg;
	size_t left = f->packed_len - f->read_at;

	len = len < f->step ? len : f->step;
	len = len < left ? len : left;
	memcpy(buf, f->packed + f->read_at, len);
	f->read_at += len;
	return (ssize_t)len;
}

static int
taken(void *arg, const uint8_t *data, size_t len)
{
	struct file *f = arg;

	memcpy(f->taken + f->taken_len, data, len);
	f->taken_len += len;
	return 0;
}

static int
point(void *arg, const struct gzip_point *p)
{
	struct file *f = arg;

	assert_in_range(f->count, 0, POINTS - 1);
	assert_int_equal(f->taken_len, p->in);
	f->points[f->count] = *p;
	memcpy(f->windows[f->count], p->window, p->window_len);
	f->points[f->count].window = f->windows[f->count];
	f->count++;
	return 0;
}

/* The sparse window replaces the complete one. */
static int
sparse(void *arg, const uint8_t *window, size_t len)
{
	struct file *f = arg;
	uint8_t *whole = f->windows[f->count - 1];

	assert_int_equal(f->sparse_count + 1, f->count);
	f->sparse_count++;
	assert_int_equal(len, f->points[f->count - 1].window_len);
	for (size_t i = 0; i < len; i++) {
		assert_true(window[i] == whole[i] || window[i] == 0);
		f->zeros += window[i] == 0;
	}
	memcpy(whole, window, len);
	return 0;
}

/*
 * Reads everything.  Returns the result of the last call, and the length in
 * *made.
 */
static ssize_t
read_file(struct file *f, uint64_t spacing, size_t *made)
{
	struct gzip_points_source s = { .read = give, .taken = taken,
		.point = point, .sparse = sparse, .arg = f,
		.spacing = spacing };
	struct gzip_points *g;
	ssize_t n;

	f->read_at = f->taken_len = f->count = *made = 0;
	f->sparse_count = f->zeros = 0;
	assert_int_equal(gzip_points_open(&g, &s), 0);
	while ((n = gzip_points_read(g, f->again + *made,
	    PLAIN + 1 - *made)) > 0)
		*made += (size_t)n;
	gzip_points_close(g);
	return n;
}

/* Decompresses every stretch between two points separately. */
static void
resume_all(struct file *f)
{
	uint8_t *out = malloc(PLAIN);
	struct inflater *inflater;

	assert_non_null(out);
	assert_int_equal(inflater_open(&inflater), 0);
	for (size_t i = 0; i < f->count; i++) {
		const struct gzip_point *p = &f->points[i];
		size_t from = (size_t)p->in - (p->bits != 0);
		bool last = i + 1 == f->count;
		size_t to = last ? f->packed_len : (size_t)p[1].in;
		size_t size = (last ? f->plain_len : (size_t)p[1].out) -
		    (size_t)p->out;

		assert_int_equal(gzip_resume(inflater, p, f->packed + from,
		    to - from, out, size), 0);
		assert_memory_equal(out, f->plain + p->out, size);
		assert_int_equal(gzip_resume(inflater, p, f->packed + from,
		    (to - from) / 2, out, size), -EBADMSG);
	}
	inflater_close(inflater);
	free(out);
}

static void
check(struct file *f, size_t least)
{
	static const size_t steps[] = { 1, 7, 4096, ROOM };
	size_t made;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		f->step = steps[i];
		assert_int_equal(read_file(f, SPACING, &made), 0);
		assert_int_equal(made, f->plain_len);
		assert_memory_equal(f->again, f->plain, made);
		assert_int_equal(f->taken_len, f->packed_len);
		assert_memory_equal(f->taken, f->packed, f->packed_len);
		assert_true(f->count >= least);
		assert_int_equal(f->sparse_count, f->count);
		assert_true(f->zeros > f->count * 1000);
		assert_int_equal(f->points[0].out, 0);
		for (size_t k = 1; k < f->count; k++)
			assert_true(f->points[k].out - f->points[k - 1].out >
			    SPACING);
		resume_all(f);
	}
}

static void
every_point_resumes(void **state)
{
	struct file *f = new_file();

	(void)state;
	add_member(f, PLAIN, 6);
	check(f, 10);
	free(f);
}

/* Tests points across members, including empty ones. */
static void
members(void **state)
{
	struct file *f = new_file();

	(void)state;
	add_member(f, 0, 6);
	add_member(f, 700001, 1);
	add_member(f, 3, 0);
	add_member(f, 0, 9);
	add_member(f, 1000000, 9);
	add_member(f, 400000, 0);
	check(f, 10);
	free(f);
}

static void
one_point(void **state)
{
	struct file *f = new_file();
	size_t made;

	(void)state;
	add_member(f, PLAIN, 6);
	assert_int_equal(read_file(f, PLAIN, &made), 0);
	assert_int_equal(f->count, 1);
	assert_int_equal(f->points[0].in, 10);
	assert_int_equal(f->points[0].window_len, 0);
	free(f);
}

/*
 * What is there of a trailer decides, not what comes after it in memory: here
 * that is the rest of a good file.
 */
static void
cut_trailer(void **state)
{
	const struct gzip_point begin = { .in = 10 };
	struct file *f = new_file();
	struct inflater *inflater;
	size_t end;

	(void)state;
	add_member(f, 1000, 6);
	end = f->packed_len;
	add_member(f, 1000, 6);
	assert_int_equal(inflater_open(&inflater), 0);
	/* up to the end of the second header, or less */
	for (size_t to = end - GZIP_TRAILER; to <= end + 10; to++)
		assert_int_equal(gzip_resume(inflater, &begin, f->packed + 10,
		    to - 10, f->again, 2000), -EBADMSG);
	/* the first alone is complete even without its trailer */
	for (size_t to = end - GZIP_TRAILER; to <= end; to++)
		assert_int_equal(gzip_resume(inflater, &begin, f->packed + 10,
		    to - 10, f->again, 1000), 0);
	assert_int_equal(gzip_resume(inflater, &begin, f->packed + 10,
	    f->packed_len - GZIP_TRAILER - 10, f->again, 2000), 0);
	assert_memory_equal(f->again, f->plain, 2000);
	inflater_close(inflater);
	free(f);
}

static void
damage(void **state)
{
	struct file *f = new_file();
	size_t made, len;

	(void)state;
	assert_int_equal(read_file(f, SPACING, &made), -ENODATA);
	add_member(f, 500000, 6);
	len = f->packed_len;
	for (size_t cut = 1; cut < len; cut += cut < 20 ? 1 : 9973) {
		f->packed_len = len - cut;
		assert_int_equal(read_file(f, SPACING, &made), -ENODATA);
	}
	f->packed_len = len;
	f->packed[len - 8] ^= 1;
	assert_int_equal(read_file(f, SPACING, &made), -EBADMSG);
	f->packed[len - 8] ^= 1;
	f->packed[len - 1] ^= 1;
	assert_int_equal(read_file(f, SPACING, &made), -EBADMSG);
	f->packed[len - 1] ^= 1;
	memset(f->packed + len, 0, 512);
	f->packed_len = len + 512;
	assert_int_equal(read_file(f, SPACING, &made), -EBADMSG);
	f->packed[0] = 'x';
	assert_int_equal(read_file(f, SPACING, &made), -EBADMSG);
	free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_point_resumes),
		cmocka_unit_test(members),
		cmocka_unit_test(one_point),
		cmocka_unit_test(cut_trailer),
		cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
