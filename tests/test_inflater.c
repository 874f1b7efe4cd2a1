/* SPDX-License-Identifier: BSD-2-Clause */
#include "../src/codec/inflate_piece.h"
#include "../src/codec/inflater.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

enum { PART = 200000, ROOM = 4 * PART };

/* Two parts of one raw stream, a full flush between them. */
struct two {
	uint8_t plain[2 * PART], packed[ROOM + PIECE_IN_SPARE];
	size_t first, len;	/* of packed: the first part, both */
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

/* Runs in[0..len) in steps of at most that many bytes in and out. */
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

/* As the decoder does it: the piece at the front of its own buffer. */
static int
piece_at(struct piece_inflater *f, const uint8_t *p, size_t len, size_t cap,
    uint8_t *out, struct inflated *r)
{
	static uint8_t in[ROOM + PIECE_IN_SPARE];

	memcpy(in, p, len);
	return inflate_piece(f, in, len, out, cap, r);
}

static void
pieces(void **state)
{
	static uint8_t out[ROOM + PIECE_OUT_SPARE];
	struct two *t = two_parts(6);
	struct piece_inflater *f;
	struct inflated r;

	(void)state;
	assert_int_equal(piece_inflater_open(&f), 0);
	assert_int_equal(piece_at(f, t->packed, t->first, PART, out, &r), 0);
	assert_int_equal(r.made, PART);
	assert_int_equal(r.used, t->first);
	assert_false(r.final);
	assert_memory_equal(out, t->plain, PART);
	assert_int_equal(piece_at(f, t->packed + t->first, t->len - t->first,
	    PART, out, &r), 0);
	assert_int_equal(r.made, PART);
	assert_true(r.final);
	assert_memory_equal(out, t->plain + PART, PART);
	assert_true(piece_at(f, t->packed, t->first, PART - 1, out, &r) < 0);
	assert_true(piece_at(f, t->packed, t->first - 1, PART, out, &r) < 0);
	assert_true(piece_at(f, t->packed + 1, t->first - 1, PART, out,
	    &r) < 0);
	assert_true(piece_at(f, t->packed + t->first,
	    t->len - t->first, PART - 1, out, &r) < 0);
	for (size_t cut = 0; cut < t->first; cut += 991)
		assert_true(piece_at(f, t->packed, cut, ROOM, out, &r) < 0 ||
		    cut == 0);
	piece_inflater_close(f);
	free(t);
}

/* A stored block that goes on beyond the piece takes the tail for its own. */
static void
stored_block_beyond(void **state)
{
	static uint8_t out[ROOM + PIECE_OUT_SPARE];
	struct piece_inflater *f;
	struct inflated r;
	uint8_t in[5 + 100];

	(void)state;
	assert_int_equal(piece_inflater_open(&f), 0);
	for (unsigned over = 0; over <= PIECE_IN_SPARE + 1; over++)
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
			rc = piece_at(f, in, sizeof(in), ROOM, out, &r);
			assert_int_equal(rc, over == 0 ? 0 : -EBADMSG);
		}
	piece_inflater_close(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boundary_at_a_flush),
		cmocka_unit_test(no_boundary_within),
		cmocka_unit_test(pieces),
		cmocka_unit_test(stored_block_beyond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
