/* SPDX-License-Identifier: BSD-2-Clause */
#include "../src/engine/deflate/inflate_codes.h"
#include "inflate_oracle.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { PART = 200000, ROOM = 4 * PART };

/* Two parts of one raw stream, with a full flush between them. */
struct two {
	uint8_t plain[2 * PART], packed[ROOM];
	size_t first, len;	/* length of packed: the first part, both
				 * parts */
};

static struct two *
two_parts(int level)
{
	struct two *t = malloc(sizeof(*t));
	z_stream z = { .avail_in = PART };
	uint32_t seed = 9;

	assert_non_null(t);
	for (size_t i = 0; i < sizeof(t->plain); i++) {
		seed = seed * 1664525 + 1013904223;
		t->plain[i] = (uint8_t)("cold page of files"[seed >> 28]);
	}
	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -MAX_WBITS, 8,
	    Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = t->plain;
	z.next_out = t->packed;
	z.avail_out = ROOM;
	assert_int_equal(deflate(&z, Z_FULL_FLUSH), Z_OK);
	t->first = z.total_out;
	z.avail_in = PART;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	t->len = z.total_out;
	deflateEnd(&z);
	return t;
}

/* Runs in[0..len) in steps of at most `step` bytes of input and output. */
static size_t
run_all(struct inflater *f, const uint8_t *in, size_t len, size_t step,
    uint8_t *out, int *last)
{
	struct stream_io io = { .in = in, .out = out, .out_len = 1 };
	size_t left = len;

	*last = STREAM_MORE;
	while (*last == STREAM_MORE && (left > 0 || io.in_len > 0 ||
	    io.out_len == 0)) {
		if (io.in_len == 0) {
			io.in_len = left < step ? left : step;
			left -= io.in_len;
		}
		io.out_len = step;
		*last = inflater_run(f, &io);
	}
	return (size_t)(io.out - out);
}

static void
boundary_at_a_flush(void **state)
{
	static const size_t steps[] = { 1, 7, 4096, 65536, ROOM };
	static uint8_t out[ROOM];

	(void)state;
	for (size_t i = 0; i < 10; i++) {
		struct two *t = two_parts(i < 5 ? 6 : 0);
		size_t step = steps[i % 5], n;
		struct inflater *f;
		int last;

		assert_int_equal(inflater_open(&f), 0);
		inflater_start(f);
		n = run_all(f, t->packed, t->first, step, out, &last);
		assert_int_equal(n, PART);
		assert_true(inflater_at_boundary(f));
		inflater_start(f);
		inflater_saw(f, out, n);
		n += run_all(f, t->packed + t->first, t->len - t->first, step,
		    out + n, &last);
		assert_int_equal(last, STREAM_END);
		assert_int_equal(n, 2 * PART);
		assert_memory_equal(out, t->plain, n);
		inflater_close(f);
		free(t);
	}
}

static void
no_boundary_within(void **state)
{
	static uint8_t out[ROOM];
	struct two *t = two_parts(6);
	struct inflater *f;
	int last;

	(void)state;
	assert_int_equal(inflater_open(&f), 0);
	for (size_t cut = 1; cut < t->first; cut += 997) {
		inflater_start(f);
		run_all(f, t->packed, cut, 4096, out, &last);
		assert_int_equal(last, STREAM_MORE);
		assert_false(inflater_at_boundary(f));
	}
	inflater_close(f);
	free(t);
}

static void
pieces(void **state)
{
	static uint8_t out[ROOM + INFLATER_SPARE];
	struct two *t = two_parts(6);
	struct inflater *f;
	struct inflated r;

	(void)state;
	assert_int_equal(inflater_open(&f), 0);
	assert_int_equal(inflater_piece(f, t->packed, t->first, out, PART, &r), 0);
	assert_int_equal(r.made, PART);
	assert_int_equal(r.used, t->first);
	assert_false(r.final);
	assert_memory_equal(out, t->plain, PART);
	assert_int_equal(inflater_piece(f, t->packed + t->first, t->len - t->first,
	    out, PART, &r), 0);
	assert_int_equal(r.made, PART);
	assert_true(r.final);
	assert_memory_equal(out, t->plain + PART, PART);
	assert_true(inflater_piece(f, t->packed, t->first, out, PART - 1, &r) < 0);
	assert_true(inflater_piece(f, t->packed, t->first - 1, out, PART, &r) < 0);
	assert_true(inflater_piece(f, t->packed + 1, t->first - 1, out, PART,
	    &r) < 0);
	assert_true(inflater_piece(f, t->packed + t->first,
	    t->len - t->first, out, PART - 1, &r) < 0);
	for (size_t cut = 0; cut < t->first; cut += 991)
		assert_true(inflater_piece(f, t->packed, cut, out, ROOM, &r) < 0 ||
		    cut == 0);
	inflater_close(f);
	free(t);
}

/* A piece that would be one, if it were not for a bad block after it. */
static void
bad_block_after(void **state)
{
	/* a reserved type; a stored length that does not match */
	static const uint8_t bad[][5] = { { 6 }, { 7 }, { 0, 1, 0, 1, 0 } };
	static uint8_t out[ROOM + INFLATER_SPARE];
	struct two *t = two_parts(6);
	struct inflater *f;
	struct inflated r;

	(void)state;
	assert_int_equal(inflater_open(&f), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memcpy(t->packed + t->first, bad[i], 5);
		for (size_t n = i < 2 ? 1 : 5; n <= 400; n += n)
			assert_int_equal(inflater_piece(f, t->packed,
			    t->first + n, out, PART, &r), -EBADMSG);
	}
	inflater_close(f);
	free(t);
}

/* Tests a stored block that continues beyond the piece. */
static void
stored_block_beyond(void **state)
{
	static uint8_t out[ROOM + INFLATER_SPARE];
	struct inflater *f;
	struct inflated r;
	uint8_t in[5 + 100];

	(void)state;
	assert_int_equal(inflater_open(&f), 0);
	for (unsigned over = 0; over <= 16; over++)
		for (unsigned last = 0; last < 2; last++) {
			unsigned len = 100 + over;
			int rc;

			memset(in, 0, sizeof(in));
			memcpy(in + 101, "\0\0\xff\xff", 4);
			in[0] = (uint8_t)last;
			in[1] = (uint8_t)len;
			in[2] = 0;
			in[3] = (uint8_t)~len;
			in[4] = 0xff;
			rc = inflater_piece(f, in, sizeof(in), out, ROOM, &r);
			assert_int_equal(rc, over == 0 ? 0 : -EBADMSG);
		}
	inflater_close(f);
}

/* Makes text with long and short repeats, near and far, and noise. */
static void
mixed_text(uint8_t *p, size_t len)
{
	uint32_t seed = 77;

	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = seed >> 30 == 0 ? (uint8_t)(seed >> 20) :
		    (uint8_t)("abcd efgh"[seed >> 28 & 7]);
		if (i > 40000 && seed % 97 == 0) {
			size_t back = 1 + (seed >> 7) % 32768;
			size_t n = 3 + (seed >> 3) % 300;

			for (; n > 0 && i + 1 < len; n--, i++)
				p[i + 1] = p[i + 1 - back];
		}
	}
}

static size_t
pack(const uint8_t *p, size_t len, int level, int strategy, uint8_t *out,
    size_t cap)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)p,
	    .avail_in = (uInt)len, .next_out = out, .avail_out = (uInt)cap };

	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -MAX_WBITS, 8,
	    strategy), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

/*
 * Tests every kind of block, in steps of every size, with bytes after the end.
 */
static void
as_zlib_packs_it(void **state)
{
	static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FILTERED,
		Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED };
	static const size_t steps[] = { 1, 2, 3, 33, 700, 4096, ROOM };
	static uint8_t plain[PART], packed[ROOM], out[PART + 1];
	struct inflater *f;

	(void)state;
	mixed_text(plain, sizeof(plain));
	assert_int_equal(inflater_open(&f), 0);
	for (size_t i = 0; i < 5 * 10; i++) {
		size_t n = pack(plain, PART, (int)(i / 5), strategies[i % 5],
		    packed, sizeof(packed) - 8);

		for (size_t k = 0; k < 7; k++) {
			struct inflate_result r = inflate_in_steps(f, packed,
			    n + 8, steps[k], out, sizeof(out),
			    steps[(k + i) % 7]);

			assert_int_equal(r.rc, STREAM_END);
			assert_int_equal(r.used, n);
			assert_int_equal(r.made, PART);
			assert_memory_equal(out, plain, PART);
		}
	}
	inflater_close(f);
}

/*
 * Compares results with zlib's for truncated streams, and for streams with one
 * bit flipped.
 */
static void
broken_as_zlib_says(void **state)
{
	enum { LEN = 5000 };
	static uint8_t plain[LEN], packed[2 * LEN], want[8 * LEN],
	    got[8 * LEN];
	unsigned bad = 0;
	struct inflater *f;

	(void)state;
	mixed_text(plain, LEN);
	assert_int_equal(inflater_open(&f), 0);
	for (int strategy = Z_DEFAULT_STRATEGY; strategy <= Z_FIXED;
	    strategy += Z_FIXED) {
		size_t n = pack(plain, LEN, 6, strategy, packed,
		    sizeof(packed));

		for (size_t cut = 0; cut < n; cut++)
			assert_int_equal(inflate_in_steps(f, packed, cut, 4096,
			    got, LEN + 1, 4096).rc, -ENODATA);
		for (size_t bit = 0; bit < 8 * n; bit += 1 + bit / 2000) {
			struct inflate_result w, g;

			packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
			w = inflate_by_zlib(packed, n, want, sizeof(want));
			g = inflate_in_steps(f, packed, n, 1 + bit % 911, got,
			    sizeof(got), sizeof(got));
			assert_int_equal(g.rc, w.rc);
			if (w.rc == STREAM_END) {
				assert_int_equal(g.made, w.made);
				assert_int_equal(g.used, w.used);
			}
			assert_memory_equal(got, want,
			    g.made < w.made ? g.made : w.made);
			bad += w.rc == -EBADMSG;
			packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	assert_true(bad > 100);
	inflater_close(f);
}

/*
 * Tests oversubscribed codes, incomplete ones, and the few valid incomplete
 * ones.
 */
static void
sets_of_codes(void **state)
{
	static struct inflate_codes c;
	uint8_t bits[INFLATE_LENGTHS] = { 0 };
	uint32_t header[INFLATE_PRECODE_SIZE];

	(void)state;
	assert_true(inflate_length_codes(&c, bits, INFLATE_LENGTHS));
	assert_true(c.length[0] & INFLATE_NO_CODE);
	bits[256] = 1;
	assert_true(inflate_length_codes(&c, bits, INFLATE_LENGTHS));
	assert_true(c.length[2] & INFLATE_END);
	assert_true(c.length[1] & INFLATE_NO_CODE);
	bits[256] = 2;
	assert_false(inflate_length_codes(&c, bits, INFLATE_LENGTHS));
	bits[0] = bits[1] = bits[2] = 2;
	assert_true(inflate_length_codes(&c, bits, INFLATE_LENGTHS));
	assert_true(c.length[2] & INFLATE_LITERAL);
	assert_int_equal(c.length[2] >> 16, 1);
	assert_true(c.length[3] & INFLATE_END);
	bits[3] = 15;
	assert_false(inflate_length_codes(&c, bits, INFLATE_LENGTHS));
	memset(bits, 0, sizeof(bits));
	bits[0] = 1;
	assert_false(inflate_precode(header, bits));
	/*
	 * one of each length, the last one twice, so that all tables are used
	 */
	for (unsigned i = 0; i < 16; i++)
		bits[i] = i < 15 ? (uint8_t)(i + 1) : 15;
	assert_true(inflate_length_codes(&c, bits, INFLATE_LENGTHS));
	assert_int_equal(c.length[0] >> 16, 0);
	assert_true(c.length[0x7ff] & INFLATE_SUBTABLE);
	assert_int_equal(inflate_subtable(c.length, c.length[0x7ff], 0xf) >> 16,
	    15);
	assert_int_equal(inflate_subtable(c.length, c.length[0x7ff], 0x7) >> 16,
	    14);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boundary_at_a_flush),
		cmocka_unit_test(no_boundary_within),
		cmocka_unit_test(pieces),
		cmocka_unit_test(bad_block_after),
		cmocka_unit_test(stored_block_beyond),
		cmocka_unit_test(as_zlib_packs_it),
		cmocka_unit_test(broken_as_zlib_says),
		cmocka_unit_test(sets_of_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
