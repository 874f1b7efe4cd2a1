/*
 * test_gzip_verdict.c - whatever zlib rejects is rejected, wherever it occurs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Deflate blocks that other decoders accept and zlib does not are written bit
 * by bit (RFC 1951, 3.2.7), in every position that a different part of the
 * decoder reads, with the check and size that a lenient decoder would compute,
 * and with correct member lengths.  zlib is the reference.
 */
#include "format/gzip/gzip.h"
#include "base/bytes.h"
#include "block_made.h"
#include "format/convert.h"

#include <errno.h>
#include <libdeflate.h>
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

enum { ROOM = 2 << 20, UNIT = 60000 };

static const struct block blocks[] = {
	{ .name = "good" },
	{ .name = "fixed", .type = 1 },
	{ .name = "no match", .length_symbol = NO_CODE },
	{ .name = "HLIT 287", .more_lengths = 1 },
	{ .name = "HLIT 288", .more_lengths = 2 },
	{ .name = "HLIT 288, no match", .more_lengths = 2,
	    .length_symbol = NO_CODE },
	{ .name = "HDIST 31", .more_distances = 1 },
	{ .name = "HDIST 32", .more_distances = 2 },
	{ .name = "HLIT 288, symbol 286", .more_lengths = 2,
	    .length_symbol = 286, .literal = { 286, 9 } },
	{ .name = "HLIT 288, symbol 287", .more_lengths = 2,
	    .length_symbol = 287, .literal = { 287, 9 } },
	{ .name = "HDIST 32, symbol 30", .more_distances = 2,
	    .distance_symbol = 30, .distance = { 30, 5 } },
	{ .name = "HDIST 32, symbol 31", .more_distances = 2,
	    .distance_symbol = 31, .distance = { 31, 5 } },
	{ .name = "fixed, symbol 286", .type = 1, .length_symbol = 286 },
	{ .name = "fixed, symbol 287", .type = 1, .length_symbol = 287 },
	{ .name = "fixed, distance 30", .type = 1, .distance_symbol = 30 },
	{ .name = "fixed, distance 31", .type = 1, .distance_symbol = 31 },
	{ .name = "type 3", .type = 3 },
	{ .name = "literals over-subscribed", .literal = { 'z', 1 } },
	{ .name = "literals incomplete", .literal = { 'f', 0 } },
	{ .name = "no end of block", .literal = { END, 0 } },
	{ .name = "distances over-subscribed", .distance = { 29, 1 } },
	{ .name = "distances incomplete", .distance = { 29, 0 } },
	{ .name = "one distance", .one_distance = true },
	{ .name = "one distance, the other code", .one_distance = true,
	    .distance_symbol = NO_CODE, .raw_bits = 1, .raw = 1 },
	{ .name = "one distance of two bits", .one_distance = true,
	    .distance = { 3, 2 } },
	{ .name = "no distance", .no_distance = true,
	    .length_symbol = NO_CODE },
	{ .name = "no distance, a match", .no_distance = true,
	    .distance_symbol = NO_CODE, .raw_bits = 1 },
	{ .name = "code lengths over-subscribed", .pre = { 17, 1 } },
	{ .name = "code lengths incomplete", .pre = { 15, 0 } },
	{ .name = "a repeat beyond the end", .repeat = 18 },
	{ .name = "too far back", .distance_symbol = 29 },
};

/* The position of the bad block. */
enum place { ALONE, UNIT_OF_OURS, FIRST_OF_OURS, BEHIND_A_MEGABYTE, MEMBER,
	PLACES };

struct file {
	uint8_t bytes[ROOM];
	size_t len, body;
};

static void
begin_file(struct file *f, enum place place)
{
	struct gzip_fields fields = { .member = place == MEMBER };

	memset(f->bytes, 0, sizeof(f->bytes));
	f->body = gzip_header_write(&fields, f->bytes);
	f->len = f->body;
	if (place == UNIT_OF_OURS || place == FIRST_OF_OURS)
		f->len += gzip_mark_write(GZIP_ANY, UNIT, f->bytes + f->len);
}

/*
 * Writes the trailer and member length according to libdeflate, which is the
 * most lenient.
 */
static void
end_file(struct file *f, enum place place)
{
	static uint8_t out[ROOM];
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	size_t made = 0, used;

	if (libdeflate_deflate_decompress_ex(d, f->bytes + f->body,
	    f->len - f->body, out, sizeof(out), &used, &made) !=
	    LIBDEFLATE_SUCCESS)
		made = 0;
	store_le32(f->bytes + f->len, libdeflate_crc32(0, out, made));
	store_le32(f->bytes + f->len + 4, (uint32_t)made);
	f->len += GZIP_TRAILER;
	if (place == MEMBER)
		gzip_header_write(&(struct gzip_fields){
		    .member = (uint32_t)f->len }, f->bytes);
	libdeflate_free_decompressor(d);
}

static void
make_file(struct file *f, const struct block *k, enum place place)
{
	static uint8_t filler[UNIT];
	struct bits b;

	for (size_t i = 0; i < UNIT; i++)
		filler[i] = (uint8_t)(i * 7);
	begin_file(f, place);
	b = (struct bits){ f->bytes, f->len * 8 };
	for (unsigned i = 0; i < 20 && place == BEHIND_A_MEGABYTE; i++)
		put_stored(&b, filler, UNIT, false);
	if (place == UNIT_OF_OURS) {
		put_stored(&b, filler, UNIT, false);
		put_stored(&b, NULL, 0, false);
	}
	put_block(&b, k, place == ALONE || place == MEMBER);
	if (place == UNIT_OF_OURS || place == FIRST_OF_OURS) {
		put_stored(&b, NULL, 0, false);
		put_stored(&b, filler, UNIT, true);
	} else if (place == BEHIND_A_MEGABYTE) {
		put_stored(&b, filler, UNIT, true);
	}
	put_byte_boundary(&b);
	f->len = b.len / 8;
	end_file(f, place);
}

/*
 * Returns 0 or -errno, the length of the output in *made, and its bytes in out.
 */
static int
by_pzc(const struct file *f, unsigned threads, uint8_t *out, size_t *made)
{
	struct convert c = { .codec = codec_by_name("gzip"),
	    .decompress = true, .options = { .threads = threads,
	    .flush_ms = -1 } };
	int from = memfd_create("in", 0), to = memfd_create("out", 0), rc;
	struct convert_result r;
	struct input input;

	assert_int_equal(write(from, f->bytes, f->len), f->len);
	assert_int_equal(lseek(from, 0, SEEK_SET), 0);
	assert_int_equal(input_open(&input, from), 0);
	rc = convert_run(&c, &input, to, &r);
	input_close(&input);
	*made = (size_t)pread(to, out, ROOM, 0);
	close(from);
	close(to);
	return rc;
}

static bool
by_zlib(const struct file *f, uint8_t *out, size_t *made)
{
	z_stream z = { .next_in = (z_const Bytef *)(uintptr_t)f->bytes,
	    .avail_in = (uInt)f->len, .next_out = out, .avail_out = ROOM };
	int rc;

	assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
	rc = inflate(&z, Z_FINISH);
	*made = ROOM - z.avail_out;
	inflateEnd(&z);
	return rc == Z_STREAM_END;
}

/*
 * Returns zlib's verdict; pzc's must be the same with one thread and with two.
 */
static bool
judge(const struct file *f, const char *name, enum place place)
{
	static uint8_t want[ROOM], got[ROOM];
	size_t want_len, got_len;
	bool good = by_zlib(f, want, &want_len);

	for (unsigned threads = 1; threads <= 2; threads++) {
		int rc = by_pzc(f, threads, got, &got_len);

		if ((rc == 0) != good || (good && (got_len != want_len ||
		    memcmp(got, want, got_len) != 0)))
			fail_msg("%s, place %d, %u threads: %d, zlib: %d",
			    name, place, threads, rc, good);
	}
	return good;
}

static void
as_zlib_says(void **state)
{
	struct file *f = *state;
	unsigned good = 0, bad = 0;

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		for (unsigned place = 0; place < PLACES; place++) {
			make_file(f, &blocks[i], place);
			if (judge(f, blocks[i].name, place))
				good++;
			else
				bad++;
		}
	/* the blocks have the properties that their names state */
	assert_int_equal(good, 5 * PLACES + 2);
	assert_int_equal(bad + good, PLACES * sizeof(blocks) /
	    sizeof(blocks[0]));
}

/* Does the same with one header bit flipped. */
static void
turned_bits(void **state)
{
	struct file *f = *state;
	uint32_t seed = 1;

	for (unsigned i = 0; i < 600; i++) {
		const struct block *k = &blocks[i % 2];
		enum place place = i / 2 % PLACES;
		size_t bit;

		if (place == BEHIND_A_MEGABYTE)
			continue;
		make_file(f, k, place);
		seed = seed * 1664525 + 1013904223;
		bit = (f->body + (place == UNIT_OF_OURS ? UNIT + 21 : 0)) * 8 +
		    (seed >> 8) % 1500;
		f->len -= GZIP_TRAILER;
		f->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		end_file(f, place);
		judge(f, k->name, place);
	}
}

static int
setup(void **state)
{
	*state = malloc(sizeof(struct file));
	return *state == NULL;
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
		cmocka_unit_test(as_zlib_says),
		cmocka_unit_test(turned_bits),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
