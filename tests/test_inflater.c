/* SPDX-License-Identifier: BSD-2-Clause */
#include "../src/codec/inflater.h"

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
	uint8_t plain[2 * PART], packed[ROOM];
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
		assert_int_equal(inflater_begin(f, NULL, 0), 0);
		n = run_all(f, t->packed, t->first, step, out, &last);
		assert_int_equal(n, PART);
		assert_true(inflater_at_boundary(f));
		assert_int_equal(inflater_begin(f, out + n - INFLATER_WINDOW,
		    INFLATER_WINDOW), 0);
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
		assert_int_equal(inflater_begin(f, NULL, 0), 0);
		run_all(f, t->packed, cut, 4096, out, &last);
		assert_int_equal(last, STREAM_MORE);
		assert_false(inflater_at_boundary(f));
	}
	inflater_close(f);
	free(t);
}

static void
piece(void **state)
{
	static uint8_t out[ROOM];
	struct two *t = two_parts(6);
	struct inflater *f;
	struct inflated r;

	(void)state;
	assert_int_equal(inflater_open(&f), 0);
	assert_int_equal(inflater_piece(f, t->packed, t->first, out, PART,
	    &r), 0);
	assert_int_equal(r.made, PART);
	assert_int_equal(r.used, t->first);
	assert_false(r.final);
	assert_memory_equal(out, t->plain, PART);
	assert_int_equal(inflater_piece(f, t->packed + t->first,
	    t->len - t->first, out, PART, &r), 0);
	assert_true(r.final);
	assert_memory_equal(out, t->plain + PART, PART);
	assert_true(inflater_piece(f, t->packed, t->first, out, PART - 1,
	    &r) < 0);
	assert_true(inflater_piece(f, t->packed, t->first - 1, out, PART,
	    &r) < 0);
	assert_true(inflater_piece(f, t->packed + 1, t->first - 1, out, PART,
	    &r) < 0);
	inflater_close(f);
	free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boundary_at_a_flush),
		cmocka_unit_test(no_boundary_within),
		cmocka_unit_test(piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
