/*
 * test_seek.c - parsing ranges, maps of many units, and their bounds
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/seek_formats.h"
#include "../src/format/gzip/seek_index.h"
#include "../src/format/lz4/lz4_frame.h"
#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <cmocka.h>

static void
ranges(void **state)
{
	static const struct {
		const char *word;
		int rc;
		uint64_t from, len;
		bool end;
	} cases[] = {
		{ "0:1", 0, 0, 1, false },
		{ "2K:3M", 0, 2048, 3 << 20, false },
		{ "7:", 0, 7, UINT64_MAX, false },
		{ ":7", 0, 0, 7, false },
		{ "-7:", 0, 7, UINT64_MAX, true },
		{ "-7:3", 0, 7, 3, true },
		{ "0:0", 0, 0, 0, false },
		{ "", -EINVAL, 0, 0, false },
		{ ":", -EINVAL, 0, 0, false },
		{ "-:", -EINVAL, 0, 0, false },
		{ "-:5", -EINVAL, 0, 0, false },
		{ "5", -EINVAL, 0, 0, false },
		{ "5:-1", -EINVAL, 0, 0, false },
		{ "5:6:7", -EINVAL, 0, 0, false },
		{ "1e3:1", -EINVAL, 0, 0, false },
		{ "9223372036854775808:1", -ERANGE, 0, 0, false },
		{ "1:9999999T", -ERANGE, 0, 0, false },
		{ "00000000000000000000000000000000000000000:1", -EINVAL, 0,
		    0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seek_range r;

		assert_int_equal(seek_parse(cases[i].word, &r), cases[i].rc);
		if (cases[i].rc != 0)
			continue;
		assert_int_equal(r.from, cases[i].from);
		assert_true(r.len == cases[i].len);
		assert_int_equal(r.from_end, cases[i].end);
	}
}

/* Checks what part() and make_stream() assume. */
static void
check_units(const struct seek_map *m)
{
	for (size_t i = 1; i < m->count; i++) {
		const struct seek_unit *u = &m->units[i], *v = u - 1;

		assert_true(u->plain >= v->plain && u->at >= v->at);
		/* inside a frame: it began with a unit */
		if (u->at != u->frame)
			assert_true(v->frame == u->frame);
		/*
		 * after a unit inside a frame: the frame's next unit, or the
		 * next frame
		 */
		else if (v->at != v->frame)
			assert_true(u->frame > v->frame);
	}
}

/* Millions of units of all kinds obey the bounds and rules. */
static void
thinned(void **state)
{
	struct seek_map m = { .len = UINT64_C(1) << 40, .spacing = 1 };
	uint64_t at = 0, plain = 0, ends = 0;
	uint32_t x = 1;

	(void)state;
	m.held.at = UINT64_MAX;
	for (int frame = 0; frame < 400000; frame++) {
		uint64_t start = at;
		int blocks;

		x = x * 1664525 + 1013904223;
		blocks = x >> 28 < 8 ? 0 : (int)(x >> 24 & 15);
		assert_int_equal(seek_add(&m, (struct seek_unit){ plain, at,
		    at }), 0);
		for (int b = 0; b < blocks; b++) {
			at += 1 + (x >> b & 1023);
			plain += x >> b & 4095;
			assert_int_equal(seek_add(&m, (struct seek_unit){
			    plain, at, start }), 0);
		}
		at += 10;
		plain += 100;
		assert_in_range(m.count, 1, SEEK_UNITS_MAX);
		ends += blocks == 0;
	}
	assert_int_equal(seek_end(&m, plain, at), 0);
	check_units(&m);
	assert_true(m.count > SEEK_UNITS_MAX / 8);
	assert_true(m.spacing > 1 && ends > 0);
	seek_map_close(&m);
}

static void
bounded(void **state)
{
	struct seek_map m = { .len = 1000 };

	(void)state;
	m.held.at = UINT64_MAX;
	/*
	 * inside a frame that has not begun; past the end of the file;
	 * backwards
	 */
	assert_int_equal(seek_add(&m, (struct seek_unit){ 0, 5, 0 }),
	    -EBADMSG);
	assert_int_equal(seek_add(&m, (struct seek_unit){ 0, 1001, 1001 }),
	    -EBADMSG);
	assert_int_equal(seek_add(&m, (struct seek_unit){ 50, 10, 10 }), 0);
	assert_int_equal(seek_add(&m, (struct seek_unit){ 49, 20, 20 }),
	    -EBADMSG);
	assert_int_equal(seek_add(&m, (struct seek_unit){ 60, 9, 9 }),
	    -EBADMSG);
	assert_int_equal(seek_add(&m, (struct seek_unit){ UINT64_MAX, 20,
	    20 }), -EBADMSG);
	assert_int_equal(seek_end(&m, UINT64_MAX, 20), -EBADMSG);
	assert_int_equal(seek_end(&m, 60, 1001), -EBADMSG);
	assert_int_equal(seek_end(&m, 60, 1000), 0);
	seek_map_close(&m);
	/* without any unit, there is nothing to end */
	m = (struct seek_map){ .len = 1000, .held.at = UINT64_MAX };
	assert_int_equal(seek_end(&m, 0, 0), -EBADMSG);
	seek_map_close(&m);
}

static void
lz4_sizes(void **state)
{
	static char plain[200000], packed[LZ4_COMPRESSBOUND(200000)];
	uint32_t x = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(plain); i++) {
		x = x * 1103515245 + 12345;
		plain[i] = "0123456789"[x >> 24 & (i >> 13 & 7)];
	}
	for (int len = 0; len < (int)sizeof(plain); len = 2 * len + 7) {
		int n = LZ4_compress_default(plain, packed, len,
		    (int)sizeof(packed));

		assert_int_equal(lz4_block_plain((uint8_t *)packed,
		    (size_t)n), len);
		/* the last literals are missing */
		if (len > 0)
			assert_int_equal(lz4_block_plain((uint8_t *)packed,
			    (size_t)n - 1), -EBADMSG);
	}
	assert_int_equal(lz4_block_plain((const uint8_t *)"\xf0\xff\xff", 3),
	    -EBADMSG);
	assert_int_equal(lz4_block_plain((const uint8_t *)"", 0), -EBADMSG);
}

enum { PLAIN = 3 << 20 };

static const struct convert made_by = { .options = { .threads = 2 } };

/* A gzip file of one member, and its index with points every 64 KiB. */
struct made {
	uint8_t *plain;
	int fd, index;
	uint64_t len;
};

static void
make(struct made *g, int level)
{
	size_t cap = PLAIN + 4096;
	uint8_t *packed = malloc(cap);
	z_stream z = { .avail_in = PLAIN, .next_out = packed,
	    .avail_out = (uInt)cap };

	g->plain = malloc(PLAIN);
	assert_non_null(g->plain);
	for (uint32_t i = 0, x = 1; i < PLAIN; i++) {
		x = x * 1103515245 + 12345;
		g->plain[i] = (uint8_t)(x >> 24 & (i >> 14 & 255));
	}
	z.next_in = g->plain;
	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 31, 4, 0), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	g->len = cap - z.avail_out;
	deflateEnd(&z);
	g->fd = memfd_create("gzip", MFD_CLOEXEC);
	g->index = memfd_create("index", MFD_CLOEXEC);
	assert_int_equal(write(g->fd, packed, g->len), (ssize_t)g->len);
	assert_int_equal(seek_index_make(&made_by, g->fd, g->len, 64 << 10,
	    g->index), 0);
	free(packed);
}

static void
unmake(struct made *g)
{
	close(g->fd);
	close(g->index);
	free(g->plain);
}

static int
read_at(const struct made *g, const struct seek_map *m, uint64_t from,
    uint64_t len, uint8_t *to)
{
	struct convert c = { .codec = m->codec, .decompress = true,
	    .options = { .threads = 2, .window_max = 1 << 27 } };
	struct seek_range r = { .from = from, .len = len };
	struct seek_result result;
	int fd = memfd_create("out", MFD_CLOEXEC);
	int rc = seek_read(m, &c, &r, false, fd, &result);

	(void)g;
	if (rc == 0) {
		assert_int_equal(result.wrote_B, len);
		assert_false(result.unverified);
		assert_true(result.made_B < len + (400 << 10));
		assert_int_equal(pread(fd, to, len, 0), (ssize_t)len);
	}
	close(fd);
	return rc;
}

/*
 * Points fall on every bit of a byte, and all data is the same as before
 * compression.
 */
static void
index_all_points(void **state)
{
	uint8_t *got = malloc(PLAIN);
	unsigned bits = 0;

	(void)state;
	for (int level = 1; level <= 9; level += 4) {
		struct seek_map m;
		struct made g;

		make(&g, level);
		assert_int_equal(seek_map_index(&m, codec_by_name("gzip"),
		    g.fd, g.len, g.index), 0);
		assert_true(m.count > 20);
		check_units(&m);
		for (size_t i = 0; i + 1 < m.count; i++) {
			uint64_t from = m.units[i].plain, len = 70000;
			uint8_t bit[8];

			assert_int_equal(pread(g.index, bit, 8,
			    lseek(g.index, 0, SEEK_END) - (off_t)((m.count -
			    i) * INDEX_POINT) + 8), 8);
			bits |= 1U << load_le64(bit) % 8;
			len = len < PLAIN - from ? len : PLAIN - from;
			assert_int_equal(read_at(&g, &m, from, len, got), 0);
			assert_memory_equal(got, g.plain + from, len);
		}
		seek_map_close(&m);
		unmake(&g);
	}
	assert_int_equal(bits, 255);
	free(got);
}

/* A wrong window with correct hashes is an error. */
static void
index_of_lies(void **state)
{
	struct seek_map m;
	struct made g;
	uint8_t got[1000], byte;

	(void)state;
	make(&g, 6);
	assert_int_equal(pread(g.index, &byte, 1, INDEX_HEAD + 40), 1);
	byte ^= 0x55;
	assert_int_equal(pwrite(g.index, &byte, 1, INDEX_HEAD + 40), 1);
	assert_int_equal(seek_map_index(&m, codec_by_name("gzip"), g.fd,
	    g.len, g.index), 0);
	assert_int_equal(read_at(&g, &m, m.units[1].plain, 1000, got),
	    -EBADMSG);
	/* sizes that the data does not have */
	m.units[6].plain++;
	assert_int_equal(read_at(&g, &m, m.units[5].plain, 1000, got),
	    -EBADMSG);
	m.units[6].plain--;
	/* the others are not affected */
	assert_int_equal(read_at(&g, &m, m.units[5].plain, 1000, got), 0);
	seek_map_close(&m);
	/* the file has changed since it was indexed */
	assert_int_equal(pwrite(g.fd, &byte, 1, 20), 1);
	assert_int_equal(seek_map_index(&m, codec_by_name("gzip"), g.fd,
	    g.len, g.index), -ESTALE);
	unmake(&g);
}

/* Writes an index with correct hashes, whatever its numbers. */
static void
write_index(int fd, uint8_t *p, size_t len)
{
	size_t points = load_le32(p + 12) * (size_t)INDEX_POINT;
	XXH64_state_t *x = XXH64_createState();

	points = points < len - INDEX_HEAD ? points : len - INDEX_HEAD;
	XXH64_reset(x, 0);
	XXH64_update(x, p, INDEX_HEAD - 8);
	XXH64_update(x, p + len - points, points);
	store_le64(p + INDEX_HEAD - 8, XXH64_digest(x));
	XXH64_freeState(x);
	assert_int_equal(pwrite(fd, p, len, 0), (ssize_t)len);
}

enum { PLAIN_AT, BIT = 8, MEMBER = 16, WINDOW = 24, PACKED = 32, WAYS = 18 };

/*
 * Makes an index contradict itself or the file of file_len bytes, in one of
 * WAYS; `at` is its second point, which is at that bit.
 */
static void
spoil_index(int way, uint8_t *p, size_t len, uint8_t *at, uint64_t bit,
    uint64_t windows, uint64_t file_len)
{
	uint8_t *last = p + len - INDEX_POINT;

	switch (way) {
	case 0:
		p[0] ^= 1;
		break;
	case 1:
		p[8]++;
		break;
	case 2:
		p[16]++;
		break;
	case 3:
		store_le32(p + 12, 1);
		break;
	case 4:
		store_le32(p + 12, SEEK_UNITS_MAX);
		break;
	case 5:
		store_le32(p + 12, (uint32_t)(len / INDEX_POINT + 1));
		break;
	case 6:
		store_le64(at + BIT, 8 * (file_len + 1));
		break;
	case 7:
		store_le64(at + MEMBER, bit / 8 + 1);
		break;
	case 8:
		store_le64(at + MEMBER, bit / 8);
		break;
	case 9:
		store_le32(at + PACKED, 0);
		break;
	case 10:
		store_le64(at + BIT, bit / 8 * 8 + 1);
		store_le64(at + MEMBER, bit / 8);
		store_le32(at + PACKED, 0);
		break;
	case 11:
		store_le32(at + PACKED, INDEX_WINDOW_PACKED + 1);
		break;
	case 12:
		store_le64(at + WINDOW, INDEX_HEAD - 1);
		break;
	case 13:
		store_le64(at + WINDOW, windows + 1);
		break;
	case 14:
		store_le64(at + WINDOW, windows - 1);
		break;
	case 15:
		store_le64(at + PLAIN_AT, UINT64_MAX);
		break;
	case 16:
		last[BIT]++;
		break;
	case 17:
		store_le64(last + BIT, 8 * (file_len + 1));
		break;
	}
}

/* Numbers that contradict each other, with correct hashes, are an error. */
static void
index_of_nonsense(void **state)
{
	uint8_t *p, *good, *at;
	uint64_t bit, windows;
	struct seek_map m;
	struct made g;
	size_t len, points;

	(void)state;
	make(&g, 6);
	len = (size_t)lseek(g.index, 0, SEEK_END);
	good = malloc(len);
	p = malloc(len);
	assert_true(good != NULL && p != NULL);
	assert_int_equal(pread(g.index, good, len, 0), (ssize_t)len);
	points = load_le32(good + 12);
	windows = len - points * INDEX_POINT;
	/* the second point, which has a window */
	at = p + windows + INDEX_POINT;
	bit = load_le64(good + windows + INDEX_POINT + BIT);
	assert_true(load_le32(good + windows + INDEX_POINT + PACKED) > 0);
	for (int i = 0; i < WAYS; i++) {
		memcpy(p, good, len);
		spoil_index(i, p, len, at, bit, windows, g.len);
		write_index(g.index, p, len);
		if (seek_map_index(&m, codec_by_name("gzip"), g.fd, g.len,
		    g.index) != -EBADMSG)
			fail_msg("index %d", i);
	}
	/* written in the same way, the right numbers are no error */
	write_index(g.index, good, len);
	assert_int_equal(seek_map_index(&m, codec_by_name("gzip"), g.fd,
	    g.len, g.index), 0);
	seek_map_close(&m);
	free(p);
	free(good);
	unmake(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges),
		cmocka_unit_test(thinned),
		cmocka_unit_test(bounded),
		cmocka_unit_test(lz4_sizes),
		cmocka_unit_test(index_all_points),
		cmocka_unit_test(index_of_lies),
		cmocka_unit_test(index_of_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
