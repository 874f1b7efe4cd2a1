/*
 * test_gzip_layout.c - the layout of our gzip files, which must not change
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Readers of these files rely on it to find their units
 * (include/format/gzip/gzip.h), so it is checked here byte by byte, and zlib
 * checks the rest.
 */
#include "format/gzip/gzip.h"
#include "../src/format/gzip/gzip_link.h"
#include "base/bytes.h"
#include "format/convert.h"
#include "base/sys.h"

#include <errno.h>
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

enum { BLOCK = 64 << 10, LEN = 5 * BLOCK + 1234, HEADER = 10,
	MARK = GZIP_LINK_LEN };

struct data {
	uint8_t in[LEN], packed[2 * LEN], out[LEN + 1];
};

/* Makes repeatable text-like data, with matches across the blocks. */
static void
make_input(uint8_t *p, size_t len)
{
	uint32_t x = 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		p[i] = x >> 30 != 0 && i > 900 ? p[i - 1 - (x >> 24) % 899] :
		    (uint8_t)('a' + (x >> 20) % 26);
	}
}

static size_t
run(const struct codec_options *o, bool decompress, const void *in,
    size_t len, void *out, size_t cap)
{
	struct convert c = { .codec = codec_by_name("gzip"),
	    .decompress = decompress, .options = *o };
	struct convert_result r;
	struct input input;
	int from = memfd_create("in", 0), to = memfd_create("out", 0);
	ssize_t n;

	assert_int_equal(write(from, in, len), len);
	assert_int_equal(lseek(from, 0, SEEK_SET), 0);
	assert_int_equal(input_open(&input, from), 0);
	assert_int_equal(convert_run(&c, &input, to, &r), 0);
	input_close(&input);
	n = pread(to, out, cap, 0);
	assert_true(n >= 0 && (size_t)n < cap);
	assert_int_equal(n, r.stats.out_bytes);
	close(from);
	close(to);
	return (size_t)n;
}

static struct codec_options
options(int level)
{
	return (struct codec_options){ .level = level, .block = BLOCK,
	    .threads = 2, .window_max = 1 << 27 };
}

/*
 * The header has ten bytes, and no fields that the kernel's gunzip cannot skip.
 */
static void
stream_has_the_mark(void **state)
{
	static const uint8_t header[HEADER] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0,
	    0, 3 };
	static const uint8_t equal[MARK] = { 
	    0x04, 0xc1, 0x91, 0x0d, 0, 0, 0, 0, 0x20, 0, 0, 0x20,
	    0, 0, 0, 0x45, 0x26, 0x61, 0, 0x20, 0xf8, 0xff, 0x89, 0xaa };
	static const uint8_t quarter[] = { 0, 0, 0, 0xff, 0xff,
	    0, 0, 0, 0xff, 0xff, 2, 0, 0, 0, 0xff, 0xff };
	static const uint8_t any[] = { 0, 0, 0, 0xff, 0xff,
	    0, 0, 0, 0xff, 0xff, 0, 0, 0, 0xff, 0xff,
	    2, 0, 0, 0, 0xff, 0xff };
	struct data *d = *state;

	for (int level = 0; level <= 12; level++) {
		struct codec_options o = options(level);

		run(&o, false, d->in, LEN, d->packed, sizeof(d->packed));
		assert_memory_equal(d->packed, header, 8);
		assert_int_equal(d->packed[9], header[9]);
		assert_memory_equal(d->packed + HEADER, equal, sizeof(equal));
		o.rsyncable = true;
		run(&o, false, d->in, LEN, d->packed, sizeof(d->packed));
		assert_memory_equal(d->packed + HEADER, quarter,
		    sizeof(quarter));
		o.flush_ms = 60000;
		run(&o, false, d->in, LEN, d->packed, sizeof(d->packed));
		assert_memory_equal(d->packed + HEADER, any, sizeof(any));
	}
}

/* With -i every member's header contains the length of the member. */
static void
members_have_lengths(void **state)
{
	static const uint8_t header[] = { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0,
	    0, 3, 8, 0, 'P', 'M', 4, 0 };
	struct data *d = *state;
	struct codec_options o = options(6);
	size_t len, at = 0, members = 0;

	o.independent = true;
	len = run(&o, false, d->in, LEN, d->packed, sizeof(d->packed));
	for (; at < len; members++) {
		struct gzip_header h;

		assert_true(len - at > sizeof(header) + 4);
		assert_memory_equal(d->packed + at, header, sizeof(header));
		assert_int_equal(gzip_header_parse(&h, d->packed + at,
		    len - at), 1);
		assert_int_equal(h.member, load_le32(d->packed + at +
		    sizeof(header)));
		at += h.member;
	}
	assert_int_equal(at, len);
	assert_int_equal(members, 6);
}

/* Checks the marks for the levels' block sizes bit by bit, and parses them. */
static void
marks(void **state)
{
	static const struct {
		size_t block, most;
		const char *bytes;
		size_t len;
	} rows[] = {
		{ 1, 128 << 10, "\2\0\0\0\xff\xff", 6 },
		{ 128 << 10, 128 << 10, "\2\0\0\0\xff\xff", 6 },
		{ 512 << 10, 512 << 10, "\2\x08\x20\0\0\0\0\xff\xff", 9 },
		{ 1 << 20, 1 << 20,
		    "\2\x08\x20\x80\0\0\0\0\xff\xff", 10 },
		{ 1408 << 10, 2 << 20,
		    "\2\x08\x20\x80\0\2\0\0\0\xff\xff", 11 },
	};
	uint8_t p[GZIP_MARK_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = gzip_mark_write(GZIP_EQUAL, rows[i].block, p);

		assert_int_equal(n, 5 + rows[i].len);
		assert_memory_equal(p, "\0\0\0\xff\xff", 5);
		assert_memory_equal(p + 5, rows[i].bytes, rows[i].len);
	}
	for (unsigned sizes = GZIP_EQUAL; sizes <= GZIP_ANY; sizes++)
		for (unsigned log = 17; log <= 30; log++) {
			size_t n = gzip_mark_write(sizes, (size_t)1 << log, p);
			struct gzip_header h = { .mark = 0 };

			assert_true(n <= sizeof(p));
			gzip_mark_parse(&h, p, n - 1);
			assert_int_equal(h.mark, 0);
			gzip_mark_parse(&h, p, n);
			assert_int_equal(h.mark, n);
			assert_int_equal(h.sizes, sizes);
			assert_int_equal(h.block_max, 1u << log);
		}
}

/*
 * A PZ subfield, as written by earlier builds.  They had no links either, but
 * those are only data to be skipped.
 */
static void
earlier_mark(void **state)
{
	static const uint8_t field[] = { 10, 0, 'P', 'Z', 6, 0, 1, 0,
	    0, 0, 1, 0 };
	struct data *d = *state;
	struct codec_options o = options(6);
	size_t len = run(&o, false, d->in, LEN, d->packed, sizeof(d->packed));
	struct gzip_header h;

	d->packed[3] = GZIP_FEXTRA;
	memmove(d->packed + HEADER + sizeof(field), d->packed + HEADER + MARK,
	    len - HEADER - MARK);
	memcpy(d->packed + HEADER, field, sizeof(field));
	len += sizeof(field) - MARK;
	assert_int_equal(gzip_header_parse(&h, d->packed, len), 1);
	assert_int_equal(h.sizes, GZIP_EQUAL);
	assert_int_equal(h.block_min, BLOCK);
	assert_int_equal(h.block_max, BLOCK);
	assert_int_equal(run(&o, true, d->packed, len, d->out,
	    sizeof(d->out)), LEN);
	assert_memory_equal(d->out, d->in, LEN);
}

/* Inflates one block from a fresh start; returns the bytes consumed. */
static size_t
inflate_block(const uint8_t *p, size_t len, uint8_t *out, size_t cap,
    size_t *made, bool *final)
{
	z_stream z = { .next_in = (z_const Bytef *)(uintptr_t)p,
	    .avail_in = (uInt)len, .next_out = out, .avail_out = (uInt)cap };
	bool boundary = false;
	int rc = Z_OK;

	assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
	/* the sync point is the first boundary after a full block of output */
	while (rc == Z_OK && !boundary) {
		rc = inflate(&z, Z_BLOCK);
		boundary = z.data_type == 128 && z.avail_in < len &&
		    z.total_in >= 4 &&
		    memcmp(p + z.total_in - 4, "\0\0\xff\xff", 4) == 0;
	}
	*final = rc == Z_STREAM_END;
	assert_true(*final || boundary);
	*made = z.total_out;
	len = z.total_in;
	inflateEnd(&z);
	return len;
}

/*
 * Every block is independent, all but the last have the marked size, and a link
 * follows each.
 */
static void
blocks_are_independent(void **state)
{
	static const int levels[] = { 0, 1, 2, 3, 6, 9, 12 };
	struct data *d = *state;

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		struct codec_options o = options(levels[i]);
		size_t len = run(&o, false, d->in, LEN, d->packed,
		    sizeof(d->packed)), pos = HEADER + MARK, total = 0, made;
		bool final = false;

		while (total < LEN) {
			size_t used = inflate_block(d->packed + pos, len - pos,
			    d->out + total, LEN - total, &made, &final);
			uint8_t link[GZIP_LINK_LEN];

			assert_false(final);
			assert_true(total + made == LEN || made == BLOCK);
			gzip_link_write(&(struct gzip_link){ GZIP_LINK,
			    (uint32_t)used, (uint32_t)crc32(0, d->out + total,
			    (uInt)made) }, link);
			pos += used;
			assert_memory_equal(d->packed + pos, link,
			    sizeof(link));
			pos += sizeof(link);
			total += made;
		}
		assert_memory_equal(d->packed + pos, "\3", GZIP_FINAL);
		pos += GZIP_FINAL;
		assert_int_equal(total, LEN);
		assert_memory_equal(d->out, d->in, LEN);
		assert_int_equal(pos + 8, len);
		assert_int_equal(load_le32(d->packed + pos),
		    crc32(0, d->in, LEN));
		assert_int_equal(load_le32(d->packed + pos + 4), LEN);
	}
}

/* One block needs no link; a whole number of blocks ends without an empty one. */
static void
edges(void **state)
{
	static const size_t lens[] = { 0, 1, BLOCK - 1, BLOCK, BLOCK + 1,
	    2 * BLOCK };
	struct gzip_link l;
	struct data *d = *state;
	struct codec_options o = options(6);

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = run(&o, false, d->in, lens[i], d->packed,
		    sizeof(d->packed));

		assert_int_equal(d->packed[3], 0);
		assert_int_equal(gzip_link_parse(&l, d->packed + HEADER),
		    lens[i] >= BLOCK);
		assert_int_equal(run(&o, true, d->packed, len, d->out,
		    sizeof(d->out)), lens[i]);
		assert_memory_equal(d->out, d->in, lens[i]);
		if (lens[i] < BLOCK)
			continue;
		assert_true(gzip_link_parse(&l, d->packed + len -
		    GZIP_TRAILER - GZIP_FINAL - GZIP_LINK_LEN));
		assert_int_equal(l.kind, GZIP_LINK);
		assert_int_equal(l.b, crc32(0, d->in + (lens[i] - 1) / BLOCK *
		    BLOCK, (uInt)((lens[i] - 1) % BLOCK + 1)));
	}
}

static void
same_bytes_for_any_threads(void **state)
{
	struct data *d = *state;

	for (int level = 0; level <= 12; level++) {
		struct codec_options o = options(level);
		size_t len;
		uint32_t check;

		o.threads = 1;
		len = run(&o, false, d->in, LEN, d->packed,
		    sizeof(d->packed));
		check = (uint32_t)crc32(0, d->packed, (uInt)len);
		for (o.threads = 2; o.threads <= 8; o.threads *= 2) {
			assert_int_equal(run(&o, false, d->in, LEN, d->packed,
			    sizeof(d->packed)), len);
			assert_int_equal(crc32(0, d->packed, (uInt)len),
			    check);
		}
	}
}

/*
 * Tests stored blocks full of spurious sync points: the input is itself such a
 * file, and level 0 leaves its bytes unchanged.
 */
static void
false_sync_points(void **state)
{
	struct data *d = *state;
	struct codec_options o = options(0);
	uint8_t *in = calloc(1, LEN);
	size_t len;

	for (size_t i = 0; i + 4 < LEN; i += 1000)
		memcpy(in + i, "\0\0\xff\xff", 4);
	len = run(&o, false, in, LEN, d->packed, sizeof(d->packed));
	assert_int_equal(run(&o, true, d->packed, len, d->out,
	    sizeof(d->out)), LEN);
	assert_memory_equal(d->out, in, LEN);
	free(in);
}

static int
setup(void **state)
{
	struct data *d = malloc(sizeof(*d));

	*state = d;
	if (d != NULL)
		make_input(d->in, LEN);
	return d == NULL;
}

static int
teardown(void **state)
{
	free(*state);
	return 0;
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_has_the_mark),
		cmocka_unit_test(marks),
		cmocka_unit_test(earlier_mark),
		cmocka_unit_test(blocks_are_independent),
		cmocka_unit_test(members_have_lengths),
		cmocka_unit_test(edges),
		cmocka_unit_test(same_bytes_for_any_threads),
		cmocka_unit_test(false_sync_points),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
