/*
 * test_deflate_walk.c - the last block of good streams, and removing its mark
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/deflate/deflate_walk.h"

#include "deflate_data.h"
#include "deflate_oracle.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>
#include <cmocka.h>

static void
inflates_to(const uint8_t *in, size_t len, const uint8_t *data, size_t n)
{
	z_stream z = { 0 };
	uint8_t *out = malloc(n + 1);

	assert_non_null(out);
	assert_int_equal(inflateInit2(&z, -15), Z_OK);
	z.next_in = (uint8_t *)(uintptr_t)in;
	z.avail_in = (uInt)len;
	z.next_out = out;
	z.avail_out = (uInt)n + 1;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(z.avail_out, 1);
	assert_memory_equal(out, data, n);
	inflateEnd(&z);
	free(out);
}

/*
 * Checks that the walk agrees with zlib, and that the stream, opened and then
 * closed by an empty final stored block, inflates to the same bytes.
 */
static void
check(const uint8_t *s, size_t len, const uint8_t *data, size_t n)
{
	static const uint8_t close_it[] = { 1, 0, 0, 0xff, 0xff };
	struct deflate_last got, want;
	uint8_t *copy = malloc(len + DEFLATE_SYNC_MAX + sizeof(close_it));
	ssize_t open_len;

	assert_non_null(copy);
	assert_int_equal(oracle_walk(s, len, &want), ORACLE_GOOD);
	memcpy(copy, s, len);
	assert_int_equal(deflate_walk(copy, len, &got), 0);
	assert_int_equal(got.header, want.header);
	assert_int_equal(got.end, want.end);
	open_len = deflate_make_nonfinal(copy, len, len + DEFLATE_SYNC_MAX);
	assert_true(open_len > (ssize_t)len);
	assert_true(open_len <= (ssize_t)len + DEFLATE_SYNC_MAX);
	memcpy(copy + open_len, close_it, sizeof(close_it));
	inflates_to(copy, (size_t)open_len + sizeof(close_it), data, n);
	free(copy);
}

static void
zlib_streams(void **state)
{
	static const size_t lens[] = { 0, 1, 2, 300, 5000, 200000 };
	uint8_t *in = malloc(MAX), *out = malloc(MAX);

	(void)state;
	assert_non_null(in);
	assert_non_null(out);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		fill(in, MAX, kind);
		for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
			for (int how = 0; how < 10 * 5; how++) {
				int mem = how % 3 == 0 ? 1 : 8;
				size_t n = zlib_deflate(in, lens[i], out, MAX,
				    how % 10, how / 10, mem);

				check(out, n, in, lens[i]);
			}
		}
	}
	free(in);
	free(out);
}

static void
libdeflate_streams(void **state)
{
	static const size_t lens[] = { 0, 1, 100, 9999, 70000, 512 << 10 };
	uint8_t *in = malloc(MAX), *out = malloc(MAX);

	(void)state;
	assert_non_null(in);
	assert_non_null(out);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		fill(in, MAX, kind);
		for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
			for (int level = 0; level <= 12; level++) {
				size_t n = lib_deflate(in, lens[i], out, MAX,
				    level);

				check(out, n, in, lens[i]);
			}
		}
	}
	free(in);
	free(out);
}

/* Streams of every length from 0 upward end at every bit of a byte. */
static void
every_alignment(void **state)
{
	uint8_t in[400], out[800];
	unsigned seen = 0;

	(void)state;
	fill(in, sizeof(in), 2);
	for (size_t len = 0; len <= sizeof(in); len++) {
		struct deflate_last last;
		size_t n = lib_deflate(in, len, out, sizeof(out), 6);

		assert_int_equal(deflate_walk(out, n, &last), 0);
		seen |= 1U << last.end % 8;
		check(out, n, in, len);
	}
	assert_int_equal(seen, 0xff);
}

/*
 * Tests a stored block that holds a deflate stream ending where the outer one
 * does: a search from the end would find the wrong header.
 */
static void
stream_within(void **state)
{
	uint8_t in[3000], inner[4000], out[4100];
	struct deflate_last last;
	size_t n, m;

	(void)state;
	fill(in, sizeof(in), 2);
	n = zlib_deflate(in, sizeof(in), inner, sizeof(inner), 0, 0, 8);
	m = zlib_deflate(inner, n, out, sizeof(out), 0, 0, 8);
	check(out, m, inner, n);
	n = lib_deflate(in, sizeof(in), inner, sizeof(inner), 6);
	m = zlib_deflate(inner, n, out, sizeof(out), 0, 0, 8);
	check(out, m, inner, n);
	assert_int_equal(deflate_walk(out, m, &last), 0);
	assert_int_equal(last.header, 0);
	assert_int_equal(last.end, m * 8);
}

/* Pieces from several compressors, one after the other, form one stream. */
static void
stitched(void **state)
{
	enum { PIECE = 60000, PIECES = 26 };
	uint8_t *in = malloc(PIECE * PIECES), *out = malloc(PIECE * PIECES * 2);
	size_t at = 0;

	(void)state;
	assert_non_null(in);
	assert_non_null(out);
	for (unsigned i = 0; i < PIECES; i++) {
		size_t cap = (size_t)PIECE * PIECES * 2 - at;
		uint8_t *piece = in + i * PIECE;
		ssize_t n;

		fill(piece, PIECE, i % KINDS);
		if (i % 2 == 0)
			n = (ssize_t)lib_deflate(piece, PIECE, out + at, cap,
			    (int)i / 2);
		else
			n = (ssize_t)zlib_deflate(piece, PIECE, out + at, cap,
			    (int)i % 10, (int)i % 5, 8);
		if (i != PIECES - 1)
			n = deflate_make_nonfinal(out + at, (size_t)n, cap);
		assert_true(n > 0);
		at += (size_t)n;
	}
	inflates_to(out, at, in, PIECE * PIECES);
	free(in);
	free(out);
}

/*
 * Makes the first part of a block take many more steps than the parts after it.
 */
static void
uneven_block(void **state)
{
	enum { RUN = 800 * 258, NOISE = 28000 };
	uint8_t *in = calloc(1, RUN + NOISE), *s = malloc(MAX);
	size_t n;

	(void)state;
	assert_non_null(in);
	assert_non_null(s);
	fill(in + RUN, NOISE, 1);
	n = zlib_deflate(in, RUN + NOISE, s, MAX, 6, Z_DEFAULT_STRATEGY, 9);
	check(s, n, in, RUN + NOISE);
	free(in);
	free(s);
}

static void
nonfinal_refuses(void **state)
{
	/* An empty final block with fixed codes takes 10 bits. */
	uint8_t s[8] = { 3, 0 };

	(void)state;
	assert_int_equal(deflate_make_nonfinal(s, 2, 5), -ENOBUFS);
	assert_int_equal(s[0], 3);
	assert_int_equal(deflate_make_nonfinal(s, 3, 8), -EBADMSG);
	assert_int_equal(deflate_make_nonfinal(s, 1, 8), -EBADMSG);
	assert_int_equal(deflate_make_nonfinal(s, 0, 8), -EBADMSG);
	/* Anything that a compressor may have left after the end is cleared. */
	s[1] = 0xfc;
	assert_int_equal(deflate_make_nonfinal(s, 2, 6), 6);
	assert_memory_equal(s, "\2\0\0\0\xff\xff", 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zlib_streams),
		cmocka_unit_test(libdeflate_streams),
		cmocka_unit_test(every_alignment),
		cmocka_unit_test(stream_within),
		cmocka_unit_test(stitched),
		cmocka_unit_test(uneven_block),
		cmocka_unit_test(nonfinal_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
