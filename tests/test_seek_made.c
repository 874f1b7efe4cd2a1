/*
 * test_seek_made.c - the side index of any gzip file, made by several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * zlib, which can stop at each block, says where the points must be, and what
 * the windows and checksums are.  The pieces are small: points come from
 * guesses, from units between sync points, from members, and from the joiner.
 */
#include "base/bytes.h"
#include "format/seek.h"
#include "../src/format/gzip/seek_index.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

enum {
	MOST = 600 << 10, ROOM = MOST + (256 << 10), POINTS = 60000,
	STREAMS = 150
};

struct point {
	uint64_t plain, bit, member;
	bool within;
	uint32_t crc;
};

struct file {
	uint8_t plain[MOST], packed[ROOM], got[MOST];
	size_t len, packed_len;
	uint64_t spacing;
	struct point want[POINTS];
	size_t points;
	int fd, index;
};

static uint32_t
chance(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)*seed * below >> 32);
}

/* Makes text, noise, runs, and copies from far back. */
static void
fill_file(struct file *f, uint32_t *seed)
{
	for (size_t at = 0, n; at < f->len; at += n) {
		uint32_t kind = chance(seed, 4);
		size_t back = at == 0 ? 0 : 1 + chance(seed, at < 32768 ?
		    (uint32_t)at : 32768);

		n = 1 + chance(seed, 1u << (4 + chance(seed, 13)));
		n = n < f->len - at ? n : f->len - at;
		for (size_t i = at; i < at + n; i++)
			f->plain[i] = kind == 0 ? (uint8_t)chance(seed, 256) :
			    kind == 1 ? 'r' : kind == 2 && back > 0 ?
			    f->plain[i - back] :
			    (uint8_t)"where is the point?"[chance(seed, 19)];
	}
}

/* Adds a member with n bytes of data from `at`. */
static void
add_member(struct file *f, size_t at, size_t n, uint32_t *seed)
{
	static const int flush[] = { Z_NO_FLUSH, Z_NO_FLUSH, Z_BLOCK,
		Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH };
	int how = flush[chance(seed, 6)];
	z_stream z = { .next_in = f->plain + at,
	    .next_out = f->packed + f->packed_len,
	    .avail_out = (uInt)(ROOM - f->packed_len) };

	assert_int_equal(deflateInit2(&z, (int)chance(seed, 10), Z_DEFLATED,
	    31, 1 + (int)chance(seed, 9),
	    chance(seed, 3) == 0 ? (int)chance(seed, 5) : 0), Z_OK);
	for (size_t done = 0; done < n; done += z.avail_in) {
		size_t part = 1 + chance(seed, 40000);

		z.avail_in = (uInt)(part < n - done ? part : n - done);
		part = z.avail_in;
		assert_int_equal(deflate(&z, how), Z_OK);
		assert_int_equal(z.avail_in, 0);
		z.avail_in = (uInt)part;
	}
	z.avail_in = 0;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	f->packed_len += z.total_out;
	deflateEnd(&z);
}

/* Compresses it as members of random lengths, some of them empty. */
static void
pack_file(struct file *f, uint32_t *seed)
{
	uint32_t many = chance(seed, 4);

	f->packed_len = 0;
	for (size_t at = 0, n; at < f->len; at += n) {
		n = f->len - at;
		if (many == 0 && f->packed_len < MOST)
			n = chance(seed, 1u << (1 + chance(seed, 18)));
		else if (many == 1)
			n = chance(seed, (uint32_t)n + 1);
		n = n < f->len - at ? n : f->len - at;
		add_member(f, at, n, seed);
	}
	if (f->len == 0 || chance(seed, 4) == 0)
		add_member(f, f->len, 0, seed);
}

/* Compresses it with the encoder of pzc. */
static void
pack_own(struct file *f, bool independent, size_t block)
{
	struct convert c = { .codec = codec_by_name("gzip"), .options = {
	    .threads = 2, .level = 6, .block = block,
	    .independent = independent } };
	struct convert_result r;
	struct input in;
	int from = memfd_create("in", 0), to = memfd_create("out", 0);

	assert_int_equal(write(from, f->plain, f->len), (ssize_t)f->len);
	assert_int_equal(lseek(from, 0, SEEK_SET), 0);
	assert_int_equal(input_open(&in, from), 0);
	assert_int_equal(convert_run(&c, &in, to, &r), 0);
	input_close(&in);
	f->packed_len = (size_t)pread(to, f->packed, ROOM, 0);
	assert_in_range(f->packed_len, 1, ROOM - 1);
	close(from);
	close(to);
}

static void
want_point(struct file *f, uint64_t plain, uint64_t bit, uint64_t member,
    bool within)
{
	assert_in_range(f->points, 0, POINTS - 1);
	f->want[f->points++] = (struct point){ plain, bit, member, within, 0 };
}

/* Has zlib find the points of the member at byte `at`.  Returns its end. */
static size_t
want_member(struct file *f, size_t at, size_t *plain)
{
	size_t start = *plain, member = at, first = f->points, last = start;
	uint8_t *out = f->got;
	z_stream z = { .next_in = f->packed + at,
	    .avail_in = (uInt)(f->packed_len - at), .next_out = out,
	    .avail_out = MOST };
	int rc;

	if (f->points == 0 || f->want[f->points - 1].within ||
	    start - f->want[f->points - 1].plain >= f->spacing)
		want_point(f, start, 8 * at, member, false);
	assert_int_equal(inflateInit2(&z, 31), Z_OK);
	while ((rc = inflate(&z, Z_BLOCK)) == Z_OK) {
		size_t made = start + z.total_out;
		uint64_t bit = 8 * (uint64_t)(at + z.total_in) -
		    (unsigned)(z.data_type & 31);

		/* at the end of a block, but not of the last */
		if ((z.data_type & (128 | 64)) != 128 || made == start ||
		    made - last < f->spacing)
			continue;
		if (f->points == 0 ||
		    f->want[f->points - 1].member != member)
			want_point(f, start, 8 * at, member, false);
		want_point(f, made, bit, member, true);
		last = made;
	}
	assert_int_equal(rc, Z_STREAM_END);
	*plain = start + z.total_out;
	at += z.total_in;
	assert_memory_equal(out, f->plain + start, z.total_out);
	inflateEnd(&z);
	for (size_t i = first; i < f->points; i++) {
		struct point *p = &f->want[i];
		size_t to = i + 1 < f->points ? p[1].plain : *plain;

		p->crc = (uint32_t)crc32(0, f->plain + p->plain,
		    (uInt)(to - p->plain));
	}
	return at;
}

static void
want_points(struct file *f)
{
	size_t plain = 0, at = 0;

	f->points = 0;
	while (at < f->packed_len)
		at = want_member(f, at, &plain);
	assert_int_equal(plain, f->len);
	want_point(f, plain, 8 * at, at, false);
}

static void
open_file(struct file *f)
{
	f->fd = memfd_create("gzip", MFD_CLOEXEC);
	f->index = memfd_create("index", MFD_CLOEXEC);
	assert_int_equal(write(f->fd, f->packed, f->packed_len),
	    (ssize_t)f->packed_len);
}

static void
close_file(struct file *f)
{
	close(f->fd);
	close(f->index);
}

static struct convert
with(unsigned threads, size_t piece)
{
	struct convert c = { .codec = codec_by_name("gzip"),
	    .decompress = true, .options = { .threads = threads,
	    .window_max = 1 << 27 } };

	assert_int_equal(codec_set(&c.options, "piece", piece, NULL), 0);
	return c;
}

static int
make_index(struct file *f, unsigned threads, size_t piece)
{
	struct convert c = with(threads, piece);

	assert_int_equal(ftruncate(f->index, 0), 0);
	assert_int_equal(lseek(f->index, 0, SEEK_SET), 0);
	return seek_index_make(&c, f->fd, f->packed_len, f->spacing, f->index);
}

/* A window must be the data before its point. */
static void
check_window(const struct file *f, const struct point *want,
    const uint8_t *packed, size_t len)
{
	size_t n, start = 0;
	uint8_t window[INDEX_WINDOW];
	z_stream z = { .next_in = (Bytef *)(uintptr_t)packed,
	    .avail_in = (uInt)len, .next_out = window,
	    .avail_out = sizeof(window) };

	for (size_t i = 0; i < f->points; i++)
		if (f->want[i].member == want->member && !f->want[i].within)
			start = f->want[i].plain;
	n = want->plain - start;
	n = n < sizeof(window) ? n : sizeof(window);
	assert_int_equal(inflateInit2(&z, -15), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, n);
	assert_memory_equal(window, f->plain + want->plain - n, n);
	inflateEnd(&z);
}

static void
check_points(const struct file *f, bool windows)
{
	size_t len = (size_t)lseek(f->index, 0, SEEK_END), at;
	uint8_t *index = mmap(NULL, len, PROT_READ, MAP_SHARED, f->index, 0);

	assert_true(index != MAP_FAILED);
	assert_int_equal(load_le32(index + 12), f->points);
	assert_int_equal(load_le64(index + 16), len);
	at = len - f->points * INDEX_POINT;
	for (size_t i = 0; i < f->points; i++, at += INDEX_POINT) {
		const struct point *p = &f->want[i];
		size_t packed = load_le32(index + at + 32);

		assert_int_equal(load_le64(index + at), p->plain);
		assert_int_equal(load_le64(index + at + 8), p->bit);
		assert_int_equal(load_le64(index + at + 16), p->member);
		assert_int_equal(packed > 0, p->within);
		assert_int_equal(load_le32(index + at + 36), p->crc);
		if (windows && p->within)
			check_window(f, p, index + load_le64(index + at + 24),
			    packed);
	}
	munmap(index, len);
}

/* Random ranges, read through the index, are what they were before. */
static void
check_ranges(struct file *f, uint32_t *seed)
{
	struct convert c = with(2, 0);
	struct seek_map m;

	assert_int_equal(seek_map_index(&m, c.codec, f->fd, f->packed_len,
	    f->index), 0);
	for (int i = 0; i < 5 && f->len > 0; i++) {
		struct seek_range r = { .from = chance(seed,
		    (uint32_t)f->len), .len = 1 + chance(seed, 100000) };
		struct seek_result result;
		int out = memfd_create("out", MFD_CLOEXEC);
		size_t n = f->len - r.from < r.len ? f->len - r.from : r.len;

		assert_int_equal(seek_read(&m, &c, &r, false, out, &result),
		    0);
		assert_int_equal(pread(out, f->got, MOST, 0), (ssize_t)n);
		assert_memory_equal(f->got, f->plain + r.from, n);
		close(out);
	}
	seek_map_close(&m);
}

/* All of it, with any number of threads and pieces of any size. */
static void
check_file(struct file *f, uint32_t *seed)
{
	want_points(f);
	open_file(f);
	for (unsigned threads = 1; threads <= 8; threads += threads + 1) {
		assert_int_equal(make_index(f, threads, 1024 +
		    chance(seed, threads == 1 ? 500000 : 20000)), 0);
		check_points(f, threads == 1);
	}
	check_ranges(f, seed);
	close_file(f);
}

static void
points_are_where_zlib_stops(void **state)
{
	struct file *f = *state;
	const char *more = getenv("SEEK_MADE_STREAMS");
	unsigned streams = more != NULL ? (unsigned)atoi(more) : STREAMS;
	uint32_t seed = more != NULL ? 77 : 1;

	for (unsigned i = 0; i < streams; i++) {
		f->len = chance(&seed, 1u << (10 + chance(&seed, 10)));
		f->len = f->len < MOST ? f->len : MOST;
		f->spacing = 1 + chance(&seed, 1u << (8 + chance(&seed, 10)));
		fill_file(f, &seed);
		pack_file(f, &seed);
		check_file(f, &seed);
	}
}

/* Units between links, and members with their length. */
static void
files_of_pzc(void **state)
{
	struct file *f = *state;
	uint32_t seed = 2;

	for (unsigned i = 0; i < 24; i++) {
		f->len = 1 + chance(&seed, MOST);
		f->spacing = 1 + chance(&seed, 100000);
		fill_file(f, &seed);
		pack_own(f, i % 2 == 0, (16 << 10) << i % 5);
		check_file(f, &seed);
	}
}

/* Makes blocks of n bytes with fixed codes. */
static void
pack_fixed(struct file *f, size_t n)
{
	size_t at = 10;
	uint64_t bits = 0, count = 0;

	memset(f->plain, 'x', f->len);
	memcpy(f->packed, "\x1f\x8b\x08\0\0\0\0\0\0\3", at);
	for (size_t i = 0; i < f->len; i++) {
		if (i % n == 0) {
			bits |= (uint64_t)(i + n >= f->len ? 3 : 2) << count;
			count += 3;
		}
		/* 'x' is 0x30 + 'x', the end is 7 zeros */
		for (int b = 7; b >= 0; b--)
			bits |= (uint64_t)((0x30 + 'x') >> b & 1) << count++;
		if (i % n == n - 1 || i + 1 == f->len)
			count += 7;
		for (; count >= 8; count -= 8, bits >>= 8)
			f->packed[at++] = (uint8_t)bits;
	}
	if (count > 0)
		f->packed[at++] = (uint8_t)bits;
	store_le32(f->packed + at, (uint32_t)crc32(0, f->plain,
	    (uInt)f->len));
	store_le32(f->packed + at + 4, (uint32_t)f->len);
	f->packed_len = at + 8;
}

/* A block as long as the file has no point in it; its end has none either. */
static void
one_block(void **state)
{
	struct file *f = *state;
	uint32_t seed = 3;

	f->len = 500000;
	f->spacing = 1000;
	pack_fixed(f, f->len);
	check_file(f, &seed);
	assert_int_equal(f->points, 2);
}

/* More blocks than a worker notes. */
static void
tiny_blocks(void **state)
{
	struct file *f = *state;
	uint32_t seed = 7;

	f->len = 60000;
	pack_fixed(f, 1);
	for (f->spacing = 100; f->spacing <= 10000; f->spacing *= 100) {
		want_points(f);
		open_file(f);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(make_index(f, 1 + i % 3,
			    (size_t)15000 << i), 0);
			check_points(f, i == 0);
		}
		check_ranges(f, &seed);
		close_file(f);
	}
}

/* Many members of a byte and of nothing: only some have points. */
static void
small_members(void **state)
{
	struct file *f = *state;
	uint32_t seed = 4;

	f->len = 20000;
	f->packed_len = 0;
	f->spacing = 300;
	fill_file(f, &seed);
	for (size_t i = 0; i < f->len; i++) {
		add_member(f, i, 1, &seed);
		if (i % 2 == 0)
			add_member(f, i, 0, &seed);
	}
	check_file(f, &seed);
	assert_in_range(f->points, 50, 70);
}

/* Returns what the decoder says of the file. */
static int
verdict(const struct file *f)
{
	struct convert c = with(1, 0);
	struct convert_result r;
	struct input in;
	int rc;

	assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
	assert_int_equal(input_open(&in, f->fd), 0);
	rc = convert_run(&c, &in, -1, &r);
	input_close(&in);
	return rc;
}

static void
add_garbage(struct file *f)
{
	memcpy(f->packed + f->packed_len, "garbage", 7);
	f->packed_len += 7;
}

/* A damaged file has an index if, and only if, it can be decoded. */
static void
damage(void **state)
{
	struct file *f = *state;
	unsigned good = 0, bad = 0;
	uint32_t seed = 5;

	for (unsigned i = 0; i < 4 * STREAMS; i++) {
		size_t at;
		int want;

		f->len = 1 + chance(&seed, 60000);
		f->spacing = 1 + chance(&seed, 20000);
		fill_file(f, &seed);
		pack_file(f, &seed);
		at = chance(&seed, (uint32_t)f->packed_len);
		if (i % 4 == 0)
			f->packed_len = at;
		else if (i % 4 == 1)
			add_garbage(f);
		else
			f->packed[at] ^= (uint8_t)(1 << chance(&seed, 8));
		open_file(f);
		want = verdict(f);
		for (unsigned threads = 1; threads < 4; threads++)
			assert_int_equal(make_index(f, threads,
			    1024 + chance(&seed, 9000)), want);
		good += want == 0;
		bad += want != 0;
		if (i % 4 == 1)
			check_ranges(f, &seed);
		close_file(f);
	}
	assert_true(good > STREAMS && bad > STREAMS);
}

/* The index cannot be written: an error, and no thread waits forever. */
static void
full_disk(void **state)
{
	struct file *f = *state;
	uint32_t seed = 6;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(full >= 0);
	f->len = MOST;
	f->spacing = 1000;
	fill_file(f, &seed);
	pack_file(f, &seed);
	open_file(f);
	for (unsigned threads = 1; threads < 4; threads++) {
		struct convert c = with(threads, 2000);

		assert_int_equal(seek_index_make(&c, f->fd, f->packed_len,
		    f->spacing, full), -ENOSPC);
	}
	close(full);
	close_file(f);
}

static int
begin(void **state)
{
	*state = malloc(sizeof(struct file));
	return *state == NULL;
}

static int
end(void **state)
{
	free(*state);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_are_where_zlib_stops),
		cmocka_unit_test(files_of_pzc),
		cmocka_unit_test(one_block),
		cmocka_unit_test(tiny_blocks),
		cmocka_unit_test(small_members),
		cmocka_unit_test(damage),
		cmocka_unit_test(full_disk),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
