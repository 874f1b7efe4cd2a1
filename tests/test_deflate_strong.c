/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/deflate/deflate_strong.h"

#include "../src/engine/deflate/deflate_parse.h"
#include "engine/deflate/inflater.h"
#include "rnd.h"

#include <errno.h>
#include <libdeflate.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

enum {
	MOST = 700 << 10, KINDS = 11, SEQS = 4096,
	BINARY = DEFLATE_STRONG_MIN - 1	/* instead of a level: the search for
					 * binaries */
};

/*
 * Fills the buffer with copies of earlier data, from anywhere up to `far` bytes
 * back.
 */
static void
fill_copies(uint8_t *p, size_t n, uint32_t far, uint32_t longest, uint32_t seed)
{
	for (size_t i = 0; i < n;) {
		size_t len = 1 + rnd(&seed) % longest, d = 1 + rnd(&seed) % far;

		for (; len > 0 && i < n && d <= i; len--, i++)
			p[i] = p[i - d];
		for (len = rnd(&seed) % 4 + 1; len > 0 && i < n; len--)
			p[i++] = (uint8_t)rnd(&seed);
	}
}

/* Makes data that exercises corner cases of the match finder. */
static void
fill(uint8_t *p, size_t n, unsigned kind)
{
	uint32_t seed = 1 + kind;

	switch (kind) {
	case 0:			/* one match after another, of full length */
		memset(p, 'x', n);
		return;
	case 1:			/* no matches: positions are skipped */
		for (size_t i = 0; i < n; i++)
			p[i] = (uint8_t)rnd(&seed);
		return;
	case 2:			/* few byte values: the longest chains */
		for (size_t i = 0; i < n; i++)
			p[i] = "ab"[rnd(&seed) % 16 == 0];
		return;
	case 3:			/* matches after noise */
		for (size_t i = 0; i < n; i++)
			p[i] = i % 9000 < 8000 ? (uint8_t)rnd(&seed) :
			    p[i - 3000];
		return;
	case 4:			/* the maximum distance, and one too far */
		for (size_t i = 0; i < n; i++)
			p[i] = i < 32768 ? (uint8_t)rnd(&seed) :
			    p[i - 32768 - (i >> 18)];
		return;
	case 5:			/* data with which stale positions collide */
		for (size_t i = 0; i < n; i++)
			p[i] = i < 65537 ? (uint8_t)rnd(&seed) : p[i - 65537];
		return;
	case 6:
		fill_copies(p, n, 32768, 300, seed);
		return;
	case 7:
		fill_copies(p, n, 40, 20, seed);
		return;
	case 8:			/* the maximum number of sequences: three bytes
				 * each */
		for (size_t i = 0; i < n; i++)
			p[i] = (uint8_t)("\1\2\3\2\5\7\4\6"[i % 3 +
			    i / 3 % 5] + (i / 3 % 251 == 0));
		return;
	case 9:			/* a better match at each following byte */
		for (size_t i = 0; i < n; i++)
			p[i] = (uint8_t)(i % 300 * (i / 300 % 7 + 1) / 3);
		return;
	default:
		fill_copies(p, n, 32768, 6, seed);
	}
}

static struct deflate_strong *
open_for(int level)
{
	struct deflate_strong *s;

	assert_int_equal(deflate_strong_open(&s, level == BINARY ?
	    DEFLATE_STRONG_MIN : level), 0);
	return s;
}

static ssize_t
run(struct deflate_strong *s, int level, const uint8_t *in, size_t len,
    bool last, uint8_t *out, size_t cap)
{
	return (level == BINARY ? deflate_strong_run_binary :
	    deflate_strong_run)(s, in, len, last, out, cap);
}

/* The buffers are allocated exactly, so that the sanitizer detects overruns. */
static ssize_t
encode(int level, const uint8_t *in, size_t len, bool last, uint8_t **out)
{
	size_t cap = deflate_strong_bound(len);
	struct deflate_strong *s = open_for(level);
	ssize_t n;

	*out = malloc(cap);
	assert_non_null(*out);
	n = run(s, level, in, len, last, *out, cap);
	deflate_strong_close(s);
	assert_in_range(n, 1, cap);
	return n;
}

static void
check_libdeflate(const uint8_t *z, size_t n, const uint8_t *in, size_t len)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	uint8_t *back = malloc(len + 1);
	size_t used, made;

	assert_int_equal(libdeflate_deflate_decompress_ex(d, z, n, back,
	    len + 1, &used, &made), LIBDEFLATE_SUCCESS);
	assert_int_equal(used, n);
	assert_int_equal(made, len);
	assert_memory_equal(back, in, len);
	libdeflate_free_decompressor(d);
	free(back);
}

static void
check_zlib(const uint8_t *z, size_t n, const uint8_t *in, size_t len)
{
	uint8_t *back = malloc(len + 1);
	z_stream s = { .next_in = (z_const Bytef *)(uintptr_t)z,
	    .avail_in = (uInt)n, .next_out = back,
	    .avail_out = (uInt)len + 1 };

	assert_int_equal(inflateInit2(&s, -15), Z_OK);
	assert_int_equal(inflate(&s, Z_FINISH), Z_STREAM_END);
	assert_int_equal(s.avail_in, 0);
	assert_int_equal(s.total_out, len);
	assert_memory_equal(back, in, len);
	inflateEnd(&s);
	free(back);
}

/* Checks a piece that is not the last one, as required by our decoder. */
static void
check_piece(const uint8_t *z, size_t n, const uint8_t *in, size_t len)
{
	uint8_t *back = malloc(len + INFLATER_SPARE);
	struct inflater *f;
	struct inflated r;

	assert_memory_equal(z + n - 4, "\0\0\xff\xff", 4);
	assert_int_equal(inflater_open(&f), 0);
	assert_int_equal(inflater_piece(f, z, n, back, len, &r), 0);
	assert_int_equal(r.used, n);
	assert_int_equal(r.made, len);
	assert_false(r.final);
	assert_memory_equal(back, in, len);
	inflater_close(f);
	free(back);
}

static void
round_trip(int level, unsigned kind, size_t len)
{
	uint8_t *in = malloc(len + (len == 0)), *z;
	ssize_t n;

	fill(in, len, kind);
	n = encode(level, in, len, true, &z);
	check_libdeflate(z, (size_t)n, in, len);
	check_zlib(z, (size_t)n, in, len);
	free(z);
	if (len > 0) {
		n = encode(level, in, len, false, &z);
		check_piece(z, (size_t)n, in, len);
		free(z);
	}
	free(in);
}

static void
round_trips(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		round_trip(BINARY, kind, MOST);
		round_trip(DEFLATE_STRONG_MIN, kind, MOST);
		round_trip(6, kind, MOST);
		round_trip(DEFLATE_STRONG_MAX, kind, MOST / 4);
	}
}

static void
short_inputs(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++)
		for (size_t len = 0; len < 600; len += len < 300 ? 1 : 37)
			round_trip(len % 8 + BINARY, kind, len);
}

/*
 * A reused encoder gives the same output as a new one, whichever search was
 * used before.
 */
static void
leaves_nothing_at(int level, int before)
{
	uint8_t *in = malloc(MOST), *fresh, *again, part[8000];
	size_t cap = deflate_strong_bound(MOST), len = MOST / 5;
	struct deflate_strong *s = open_for(level);
	ssize_t n;

	again = malloc(cap);
	fill(in, MOST, 6);
	assert_true(run(s, before, in, MOST, true, again, cap) > 0);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		fill(in, len, kind);
		n = encode(level, in, len, true, &fresh);
		/* any leftovers of this would change the output */
		memcpy(part, in, 8000);
		memset(part + 100, 'x', 51);
		assert_true(run(s, before, part, 8000, true, again, cap) > 0);
		assert_int_equal(run(s, level, in, len, true, again, cap), n);
		assert_memory_equal(again, fresh, (size_t)n);
		free(fresh);
	}
	deflate_strong_close(s);
	free(again);
	free(in);
}

static void
leaves_nothing(void **state)
{
	(void)state;
	leaves_nothing_at(6, 6);
	leaves_nothing_at(3, BINARY);
	leaves_nothing_at(BINARY, 3);
	leaves_nothing_at(BINARY, BINARY);
}

static void
too_little_room_at(int level)
{
	uint8_t *in = malloc(MOST), *z, *out;
	struct deflate_strong *s = open_for(level);
	ssize_t n;

	fill(in, MOST, 6);
	n = encode(level, in, MOST, true, &z);
	free(z);
	for (ssize_t cap = 0; cap < n; cap += n / 9) {
		out = malloc((size_t)cap + 1);
		assert_int_equal(run(s, level, in, MOST, true, out,
		    (size_t)cap), -ENOBUFS);
		free(out);
	}
	deflate_strong_close(s);
	free(in);
}

static void
too_little_room(void **state)
{
	(void)state;
	too_little_room_at(5);
	too_little_room_at(BINARY);
}

/*
 * At every level, matches that certainly exist are found.  The search for
 * binaries, which examines few positions, may miss some.
 */
static void
finds(void **state)
{
	static const struct {
		unsigned kind;
		size_t most;	/* per 1,000 bytes */
	} want[] = { { 0, 2 }, { 2, 90 }, { 3, 899 }, { 4, 690 }, { 6, 66 },
	    { 7, 340 }, { 9, 12 } };
	uint8_t *in = malloc(MOST), *z;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		for (int level = BINARY; level <= 9; level++) {
			size_t most = want[i].most * (MOST / 1000);

			if (level == BINARY)
				most += most / 10;
			fill(in, MOST, want[i].kind);
			assert_in_range(encode(level, in, MOST, true, &z), 1,
			    most);
			free(z);
		}
	free(in);
}

/* Sequences conform to the format, and every match repeats earlier bytes. */
static void
sequences(void **state)
{
	static const struct deflate_effort effort = { 2, 16, 8, 16, 130, 64 };
	static struct deflate_parse p;
	static struct deflate_seq seqs[SEQS];
	uint8_t *in = malloc(MOST);

	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		size_t n, at = 0, room = 1;

		fill(in, MOST, kind);
		deflate_parse_begin(&p, &effort, in, MOST);
		while ((n = deflate_parse_run(&p, seqs, room)) > 0) {
			for (size_t i = 0; i < n; i++) {
				const struct deflate_seq *s = &seqs[i];

				at += s->literals;
				if (s->length == 0) {
					assert_int_equal(at, MOST);
					continue;
				}
				assert_in_range(s->length, 3, 258);
				assert_in_range(s->distance, 1, 32768);
				assert_true(s->distance <= at);
				for (unsigned k = 0; k < s->length; k++, at++)
					assert_true(in[at] ==
					    in[at - s->distance]);
			}
			assert_int_equal(at, p.pos);
			room = room * 2 < SEQS ? room * 2 : SEQS;
		}
		assert_int_equal(at, MOST);
	}
	free(in);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(short_inputs),
		cmocka_unit_test(leaves_nothing),
		cmocka_unit_test(too_little_room),
		cmocka_unit_test(finds),
		cmocka_unit_test(sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
