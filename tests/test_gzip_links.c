/*
 * test_gzip_links.c - finding blocks by the links between them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The streams here are made of stored blocks, so that they may contain any
 * bytes: links, sync points and whole gzip files of our own among them.
 */
#include "../src/format/gzip/gzip_link.h"
#include "../src/format/gzip/deflate_scan.h"
#include "base/bytes.h"
#include "base/sys.h"
#include "format/gzip/gzip.h"
#include "format/list.h"
#include "format/seek.h"

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

enum { ROOM = 32 << 20, BLOCK = 128 << 10, STORED_MAX = 65535 };

struct file {
	uint8_t *bytes;
	size_t len, at;
	uint64_t *starts;	/* of each block, and the end of the last link */
	size_t blocks;
};

static void
put(struct file *f, const void *p, size_t n)
{
	assert_true(f->len + n <= ROOM);
	memcpy(f->bytes + f->len, p, n);
	f->len += n;
}

/* Puts data in stored blocks, and a sync point. */
static void
put_stored(struct file *f, const uint8_t *p, size_t n)
{
	uint8_t head[5] = { 0 };

	do {
		size_t part = n < STORED_MAX ? n : STORED_MAX;

		store_le16(head + 1, (uint16_t)part);
		store_le16(head + 3, (uint16_t)~part);
		put(f, head, sizeof(head));
		put(f, p, part);
		p += part;
		n -= part;
	} while (n > 0);
	put(f, "\0\0\0\xff\xff", 5);
}

/*
 * Makes a file of size bytes in blocks of `block`; without links, in the layout
 * of earlier builds.
 */
static struct file
make(const uint8_t *data, size_t size, size_t block, bool links)
{
	struct file f = { .bytes = malloc(ROOM) };
	struct gzip_linker w = { .blocks = 0 };
	struct gzip_fields fields = { .mtime = 0 };
	uint8_t p[64];

	assert_non_null(f.bytes);
	f.starts = calloc(size / block + 2, sizeof(*f.starts));
	put(&f, p, gzip_header_write(&fields, p));
	if (links)
		gzip_link_open(block, p);
	put(&f, p, links ? GZIP_LINK_LEN :
	    gzip_mark_write(GZIP_EQUAL, block, p));
	for (size_t at = 0; at < size; at += block) {
		size_t n = size - at < block ? size - at : block;
		size_t start = f.len;

		f.starts[f.blocks++] = start;
		put_stored(&f, data + at, n);
		if (links)
			put(&f, p, gzip_linker_next(&w, f.len - start,
			    (uint32_t)crc32(0, data + at, (uInt)n), p));
	}
	f.starts[f.blocks] = f.len;
	put(&f, "\3", 2);
	store_le32(p, (uint32_t)crc32(0, data, (uInt)size));
	store_le32(p + 4, (uint32_t)size);
	put(&f, p, 8);
	return f;
}

static void
drop(struct file *f)
{
	free(f->bytes);
	free(f->starts);
}

static int
fd_of(const struct file *f)
{
	int fd = memfd_create("file", 0);

	assert_int_equal(write(fd, f->bytes, f->len), f->len);
	return fd;
}

static uint8_t *
data_of(size_t size)
{
	uint8_t *p = malloc(size);
	uint32_t x = 7;

	assert_non_null(p);
	for (size_t i = 0; i < size; i++) {
		x = x * 1664525 + 1013904223;
		p[i] = (uint8_t)(x >> 24);
	}
	return p;
}

/* The bytes of links are frozen; zlib skips them. */
static void
links(void **state)
{
	static const struct {
		struct gzip_link link;
		uint8_t bytes[GZIP_LINK_LEN];
	} rows[] = {
		{ { GZIP_LINK_OPEN, 64 << 10, 0x315a50 },
		    { 0x04, 0xc1, 0x91, 0x0d, 0, 0, 0, 0, 0x20, 0, 0, 0x20,
		    0, 0, 0, 0x45, 0x26, 0x61, 0, 0x20, 0xf8, 0xff, 0x89,
		    0xaa } },
		{ { GZIP_LINK, 0x01234567, 0x89abcdef },
		    { 0x04, 0xc1, 0x91, 0x0d, 0, 0, 0, 0, 0x20, 0x47, 0x25,
		    0x64, 0x10, 0x01, 0x74, 0x36, 0x63, 0x53, 0x46, 0x50,
		    0xb8, 0xf4, 0x80, 0xaa } },
		{ { GZIP_SKIP, UINT32_MAX, UINT32_MAX },
		    { 0x04, 0xc1, 0x91, 0x0d, 0, 0, 0, 0, 0x20, 0x77, 0x77,
		    0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x17,
		    0xf9, 0xe3, 0x80, 0xaa } },
		{ { GZIP_LINK_SKIP, 0, 0 },
		    { 0x04, 0xc1, 0x91, 0x0d, 0, 0, 0, 0, 0x20, 0, 0, 0, 0,
		    0, 0, 0, 0, 0, 0, 0x60, 0xf8, 0xff, 0x9f, 0xaa } },
	};
	uint8_t p[GZIP_LINK_LEN + 2], out[1];
	struct gzip_link l;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		z_stream z = { .next_in = p, .avail_in = sizeof(p),
		    .next_out = out, .avail_out = 1 };

		gzip_link_write(&rows[i].link, p);
		assert_memory_equal(p, rows[i].bytes, GZIP_LINK_LEN);
		assert_true(gzip_link_parse(&l, p));
		assert_memory_equal(&l, &rows[i].link, sizeof(l));
		p[GZIP_LINK_LEN] = 3;
		p[GZIP_LINK_LEN + 1] = 0;
		assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
		assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
		assert_int_equal(z.avail_in, 0);
		assert_int_equal(z.avail_out, 1);
		inflateEnd(&z);
		/* every bit counts, though not every one of them in vain */
		for (unsigned bit = 0; bit < 8 * GZIP_LINK_LEN; bit++) {
			p[bit / 8] ^= (uint8_t)(1U << bit % 8);
			assert_false(gzip_link_parse(&l, p));
			p[bit / 8] ^= (uint8_t)(1U << bit % 8);
		}
	}
}

/* From the end to every block, for all numbers of blocks with few digits. */
static void
chains(void **state)
{
	enum { SMALL = 3 };
	static const size_t counts[] = { 1, 2, 15, 16, 17, 31, 255, 256, 257,
	    4095, 4096, 4097, 10000 };
	uint8_t *data = data_of(10001 * SMALL);

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (size_t size = counts[i] * SMALL - 1;
		    size <= counts[i] * SMALL; size++) {
			struct file f = make(data, size, SMALL, true);
			int fd = fd_of(&f);
			struct look *look = look_open(fd, f.len);
			struct gzip_chain c;
			uint64_t at;

			assert_int_equal(gzip_chain_read(&c, look, f.len), 1);
			assert_int_equal(c.start, f.starts[0]);
			assert_int_equal(c.block, SMALL);
			assert_int_equal(c.blocks, counts[i]);
			assert_int_equal(c.size, size);
			/* 15 steps per digit, and both ends */
			assert_true(look->read_B <= (4 * 15 + 2) *
			    GZIP_LINK_MAX);
			for (uint64_t k = 0; k <= f.blocks;
			    k += 1 + f.blocks / 300) {
				assert_int_equal(gzip_chain_find(&c, look, k,
				    &at), 1);
				assert_int_equal(at, f.starts[k]);
			}
			/* not from anywhere else */
			for (int d = -3; d <= 3; d++)
				assert_int_equal(gzip_chain_read(&c, look,
				    f.len + (uint64_t)d), d == 0);
			assert_int_equal(gzip_chain_read(&c, look, 9), 0);
			look_close(look);
			close(fd);
			drop(&f);
		}
	free(data);
}

/* A damaged link leads nowhere, or at least not astray. */
static void
damage(void **state)
{
	enum { SMALL = 100, COUNT = 40 };
	uint8_t *data = data_of(COUNT * SMALL);
	struct file f = make(data, COUNT * SMALL, SMALL, true);
	uint32_t x = 1;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct gzip_chain c;
		struct look *look;
		size_t at;
		uint8_t was;
		int fd, rc;

		x = x * 1664525 + 1013904223;
		at = f.starts[0] + x % (f.len - f.starts[0] - 8);
		was = f.bytes[at];
		f.bytes[at] ^= (uint8_t)(1 << (x >> 29));
		fd = fd_of(&f);
		look = look_open(fd, f.len);
		rc = gzip_chain_read(&c, look, f.len);
		assert_true(rc == 0 || (rc == 1 && c.blocks == COUNT &&
		    c.start == f.starts[0]));
		f.bytes[at] = was;
		look_close(look);
		close(fd);
	}
	drop(&f);
	free(data);
}

/* Reads a range, and returns the bytes read for it; -1 if it is not found. */
static int64_t
range(const struct file *f, const uint8_t *data, uint64_t from, uint64_t len,
    bool *checked)
{
	struct seek_need need = SEEK_NEED_NONE;
	struct seek_range r = { from, len, false };
	struct convert c = { .codec = codec_by_name("gzip"),
	    .decompress = true, .options = { .threads = 2 } };
	struct seek_result result;
	struct seek_map m;
	int fd = fd_of(f), out = memfd_create("out", 0);
	uint8_t *got = malloc(len + 1);
	int64_t read_B = -1;

	seek_need_range(&need, &r);
	assert_int_equal(seek_map_open(&m, c.codec, fd, f->len, &need), 0);
	if (m.count > 0) {
		assert_int_equal(seek_read(&m, &c, &r, false, out, &result), 0);
		assert_int_equal(pread(out, got, len + 1, 0), len);
		assert_memory_equal(got, data + from, len);
		*checked = !result.unverified;
	}
	seek_map_close(&m);
	if (m.units == NULL && *checked)
		read_B = (int64_t)(m.read_B + result.read_B);
	free(got);
	close(out);
	close(fd);
	return read_B;
}

/*
 * A file of our own in a file of our own, three deep, followed by the patterns
 * of sync points, links and headers.
 */
static void
nested(void **state)
{
	enum { SIZE = 2 << 20, ROWS = 16 };
	uint8_t *data = malloc(ROOM), *inner = data_of(SIZE);
	size_t size = 0;
	struct file f = make(inner, SIZE, BLOCK, true);

	(void)state;
	assert_non_null(data);
	for (int depth = 0; depth < 3; depth++) {
		struct file outer;

		size = 1000 + (size_t)depth;
		memset(data, 'x', size);
		for (int i = 0; i < 2; i++) {
			memcpy(data + size, f.bytes, f.len);
			size += f.len;
		}
		for (int i = 0; i < ROWS * 1000; i++) {
			memcpy(data + size, "\0\0\0\xff\xff", 5);
			gzip_link_write(&(struct gzip_link){ GZIP_LINK,
			    (uint32_t)(i * 29), 0 }, data + size + 5);
			size += 5 + GZIP_LINK_LEN;
		}
		outer = make(data, size, BLOCK, true);
		for (int i = 0; i < 50; i++) {
			uint64_t from = size / 50 * (uint64_t)i;
			bool checked = false;
			int64_t n = range(&outer, data, from, 10, &checked);

			assert_true(checked);
			assert_in_range(n, 0, 2 * BLOCK + 5000);
		}
		drop(&f);
		f = outer;
	}
	drop(&f);
	free(data);
	free(inner);
}

/* Appends a member of one block, without links, whose name is given. */
static void
put_single(struct file *f, const uint8_t *data, size_t size, const char *name)
{
	struct gzip_fields fields = { .name = name };
	uint8_t p[512];

	put(f, p, gzip_header_write(&fields, p));
	put_stored(f, data, size);
	put(f, "\3", 2);
	store_le32(p, (uint32_t)crc32(0, data, (uInt)size));
	store_le32(p + 4, (uint32_t)size);
	put(f, p, 8);
}

/*
 * Members of our own one after the other: of many blocks, of one, which has no
 * links, and some that contain others.
 */
static void
members(void **state)
{
	enum { SIZE = 3 << 20, ONE = 40000, COUNT = 9 };
	uint8_t *random = data_of(SIZE), *data = malloc(ROOM);
	struct file all = { .bytes = malloc(ROOM) }, one = { .bytes =
	    malloc(ROOM) }, big = make(random, SIZE, BLOCK, true);
	size_t size = 0, ends[COUNT], sizes[COUNT];

	(void)state;
	assert_non_null(data);
	assert_non_null(all.bytes);
	assert_non_null(one.bytes);
	/* a header in a name, and a whole member at the end of stored data */
	put_single(&one, random, ONE, NULL);
	for (int i = 0; i < COUNT; i++) {
		switch (i % 3) {
		case 0:
			put(&all, big.bytes, big.len);
			memcpy(data + size, random, SIZE);
			size += SIZE;
			break;
		case 1:
			put_single(&all, random, ONE, i == 4 ?
			    "\x1f\x8b\x08\x1f\x8b\x08" : NULL);
			memcpy(data + size, random, ONE);
			size += ONE;
			break;
		default:
			put_single(&all, one.bytes, one.len, "one");
			memcpy(data + size, one.bytes, one.len);
			size += one.len;
		}
		ends[i] = all.len;
		sizes[i] = size;
	}
	for (int n = 0; n < COUNT; n++) {
		struct file f = { .bytes = all.bytes, .len = ends[n] };
		bool checked = false;

		for (uint64_t from = 0; from < sizes[n]; from += 333333) {
			uint64_t len = sizes[n] - from < 200000 ?
			    sizes[n] - from : 200000;
			int64_t got;

			checked = false;
			got = range(&f, data, from, len, &checked);
			assert_true(checked);
			assert_in_range(got, 0, 1500000);
		}
		/* over the border between two */
		for (int i = 0; i < n; i++) {
			checked = false;
			range(&f, data, sizes[i] - 10, 20, &checked);
			assert_true(checked);
		}
	}
	/* what is wrong with one is wrong with all: its CRC, size and data */
	for (int i = 0; i < 4; i++) {
		static const size_t before[] = { 8, 4, 12, ONE / 2 };
		struct file f = { .bytes = all.bytes, .len = ends[4] };
		bool checked = false;

		f.bytes[f.len - before[i]] ^= 1;
		assert_int_equal(range(&f, data, 5, 10, &checked), -1);
		f.bytes[f.len - before[i]] ^= 1;
		assert_false(checked);
	}
	/* nor can there be bytes of no member between two */
	{
		struct file f = { .bytes = all.bytes, .len = ends[2] };
		bool checked = false;

		put(&f, "x", 1);
		put(&f, big.bytes, big.len);
		assert_int_equal(range(&f, data, 5, 10, &checked), -1);
	}
	/* nor are very many members of one block searched for */
	for (int i = 0; i < 2; i++) {
		struct file f = { .bytes = all.bytes };
		bool checked = false;

		put(&f, big.bytes, big.len);
		for (int k = 0; k < (i == 0 ? 8 : 30); k++)
			put_single(&f, random, ONE, NULL);
		if (i == 0)
			assert_in_range(range(&f, random, 5, 10, &checked), 0,
			    1500000);
		else
			assert_int_equal(range(&f, random, 5, 10, &checked),
			    -1);
		assert_int_equal(checked, i == 0);
	}
	free(all.bytes);
	free(one.bytes);
	drop(&big);
	free(data);
	free(random);
}

static ssize_t
read_file(void *arg, void *buf, size_t len)
{
	struct file *f = arg;
	size_t n = f->len - f->at < len ? f->len - f->at : len;

	/* pieces of odd lengths, so that links are cut */
	n = n < 777 ? n : 777;
	memcpy(buf, f->bytes + f->at, n);
	f->at += n;
	return (ssize_t)n;
}

/* In a stream, too, the pieces are the blocks, whatever is in them. */
static void
pieces(void **state)
{
	static struct input in;
	uint8_t *inner = data_of(20 * BLOCK), *data;
	struct file f = make(inner, 20 * BLOCK, BLOCK, true), outer;
	struct deflate_reader r = { .block_max = GZIP_BLOCK_MAX,
	    .member_max = MEMBER_MAX, .plain = PLAIN_LEN };
	size_t end = 0, n = 0;
	bool last = false;

	(void)state;
	data = malloc(f.len + 100);
	memset(data, 'y', 100);
	memcpy(data + 100, f.bytes, f.len);
	outer = make(data, f.len + 100, BLOCK, true);
	assert_int_equal(input_open_from(&in, read_file, &outer), 0);
	while (!last) {
		struct slot s = { 0 };

		assert_int_equal(deflate_scan(&r, &in, &s), 0);
		end += s.in.len;
		last = s.last;
		n++;
		assert_int_equal(inflate_notes(&s)->kind, PIECE_SYNC);
		assert_int_equal(end, last ? outer.len : outer.starts[n]);
		sys_free(s.in.data);
	}
	assert_int_equal(n, outer.blocks + 1);
	carry_close(&r.carry);
	input_close(&in);
	drop(&f);
	drop(&outer);
	free(data);
	free(inner);
}

/* After a damaged link, and in another member, the next ones are found. */
static void
found_again(void **state)
{
	static struct input in;
	uint8_t *data = data_of(40 * BLOCK);
	struct file f = make(data, 40 * BLOCK, BLOCK, true);
	struct deflate_reader r = { .block_max = GZIP_BLOCK_MAX,
	    .member_max = MEMBER_MAX, .plain = PLAIN_LEN };
	size_t end = 0, found = 0, i = 0, first = f.len;
	bool last = false;

	(void)state;
	f.bytes[f.starts[5] - 10] ^= 1;
	memcpy(f.bytes + f.len, f.bytes, first);
	f.len += first;
	assert_int_equal(input_open_from(&in, read_file, &f), 0);
	while (!last) {
		struct slot s = { 0 };

		assert_int_equal(deflate_scan(&r, &in, &s), 0);
		end += s.in.len;
		last = s.last;
		while (i < 80 && f.starts[i % 40 + 1] + i / 40 * first < end)
			i++;
		found += i < 80 && f.starts[i % 40 + 1] + i / 40 * first ==
		    end;
		sys_free(s.in.data);
	}
	/* of 80, two are damaged, and so few are lost with each */
	assert_in_range(found, 70, 78);
	carry_close(&r.carry);
	input_close(&in);
	drop(&f);
	free(data);
}

/* Files of earlier builds, without links, are read as before. */
static void
earlier(void **state)
{
	enum { COUNT = 24 };
	uint8_t *data = data_of(COUNT * BLOCK);
	struct file f = make(data, COUNT * BLOCK, BLOCK, false);
	struct seek_need need = SEEK_NEED_ALL;
	struct seek_map m;
	bool checked = true;
	int fd;

	(void)state;
	assert_in_range(range(&f, data, 7 * BLOCK + 5, 1000, &checked), -1, -1);
	assert_false(checked);
	fd = fd_of(&f);
	assert_int_equal(seek_map_open(&m, codec_by_name("gzip"), fd, f.len,
	    &need), 0);
	assert_true(m.count > COUNT / 2);
	assert_null(m.why);
	seek_map_close(&m);
	close(fd);
	drop(&f);
	/* one pattern in stored data hides them, and this is said */
	memcpy(data + 9 * BLOCK + 100, "\0\0\xff\xff\1", 5);
	f = make(data, COUNT * BLOCK, BLOCK, false);
	fd = fd_of(&f);
	assert_int_equal(seek_map_open(&m, codec_by_name("gzip"), fd, f.len,
	    &need), 0);
	assert_int_equal(m.count, 0);
	assert_non_null(m.why);
	seek_map_close(&m);
	close(fd);
	drop(&f);
	free(data);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(links),
		cmocka_unit_test(chains),
		cmocka_unit_test(damage),
		cmocka_unit_test(nested),
		cmocka_unit_test(members),
		cmocka_unit_test(pieces),
		cmocka_unit_test(found_again),
		cmocka_unit_test(earlier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
