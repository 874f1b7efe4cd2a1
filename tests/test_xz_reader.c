/*
 * test_xz_reader.c - the decoder of .xz, in pieces of any size, and its limit
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * After each piece in memory comes what is not part of the file.
 */
#include "../src/format/xz/xz_reader.h"
#include "pipeline/pipeline.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { PLAIN = 3000, ROOM = 3 * PLAIN };

/* A file, and what was made of it. */
struct run {
	struct xz_reader *reader;
	struct codec_notes notes;
	const uint8_t *in;
	size_t len, at, step;
	uint8_t out[ROOM];
	size_t made;
};

static uint8_t plain[PLAIN], packed[ROOM];

static int
fill_piece(void *job, struct input *in, struct slot *s)
{
	struct run *r = job;
	size_t n = r->len - r->at < r->step ? r->len - r->at : r->step;

	(void)in;
	if (buf_reserve(&s->in, n + 64) != 0)
		return -ENOMEM;
	memset(s->in.data, 'x', n + 64);
	memcpy(s->in.data, r->in + r->at, n);
	s->in.len = n;
	r->at += n;
	s->last = r->at == r->len;
	return 0;
}

static int
join_piece(void *job, struct slot *s, struct sink *out)
{
	struct run *r = job;

	return xz_reader_join(r->reader, s, out);
}

static int
take(void *arg, const uint8_t *data, size_t len)
{
	struct run *r = arg;

	assert_true(len <= ROOM - r->made);
	memcpy(r->out + r->made, data, len);
	r->made += len;
	return 0;
}

/* Decodes packed[0..len) in pieces. */
static int
decode(struct run *r, size_t len, size_t step, uint64_t limit, uint64_t beside)
{
	static const struct pipeline_ops ops = { .fill = fill_piece,
	    .join = join_piece };
	struct pipeline_params params = { .threads = 1, .slots = 3,
	    .out_fd = -1, .write = take, .write_arg = r };
	struct pipeline_stats stats = { .in_bytes = 0 };
	int rc;

	*r = (struct run){ .in = packed, .len = len, .step = step };
	assert_int_equal(xz_reader_open(&r->reader, limit, LZMA_CONCATENATED,
	    &r->notes, beside), 0);
	rc = pipeline_run(&ops, r, NULL, &params, &stats);
	xz_reader_close(r->reader);
	return rc;
}

/* Encodes plain[0..len) as blocks of as many bytes.  Returns the length. */
static size_t
encode(size_t len, size_t block, lzma_check check, bool foreign)
{
	lzma_options_lzma o;
	lzma_options_delta delta = { .type = LZMA_DELTA_TYPE_BYTE, .dist = 4 };
	lzma_filter one[] = { { LZMA_FILTER_LZMA2, &o },
	    { LZMA_VLI_UNKNOWN, NULL } };
	lzma_filter two[] = { { LZMA_FILTER_DELTA, &delta },
	    { LZMA_FILTER_LZMA2, &o }, { LZMA_VLI_UNKNOWN, NULL } };
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret rc;

	assert_false(lzma_lzma_preset(&o, 1));
	o.dict_size = 1 << 16;
	assert_int_equal(lzma_stream_encoder(&s, foreign ? two : one, check),
	    LZMA_OK);
	s.next_in = plain;
	s.next_out = packed;
	s.avail_out = ROOM;
	for (size_t left = len; left > 0; left -= block < left ? block : left) {
		s.avail_in = block < left ? block : left;
		while ((rc = lzma_code(&s, LZMA_FULL_FLUSH)) == LZMA_OK)
			;
		assert_int_equal(rc, LZMA_STREAM_END);
	}
	while ((rc = lzma_code(&s, LZMA_FINISH)) == LZMA_OK)
		;
	assert_int_equal(rc, LZMA_STREAM_END);
	lzma_end(&s);
	return ROOM - s.avail_out;
}

static void
in_pieces(void **state)
{
	static const lzma_check checks[] = { LZMA_CHECK_NONE,
		LZMA_CHECK_CRC32, LZMA_CHECK_CRC64, LZMA_CHECK_SHA256 };
	static struct run r;

	(void)state;
	for (unsigned i = 0; i < 4 * 8; i++) {
		size_t len = i / 4 == 0 ? 0 : 200 + i;
		size_t n = encode(len, i % 3 == 0 ? len : 40 + i, checks[i % 4],
		    i / 4 == 7);

		/* padding after the stream */
		memset(packed + n, 0, 8);
		n += i % 3 * 4;
		for (size_t step = 1; step <= n; step += 1 + step / 40) {
			assert_int_equal(decode(&r, n, step, UINT64_MAX, 0),
			    0);
			assert_int_equal(r.made, len);
			assert_memory_equal(r.out, plain, len);
			/* all but the last byte */
			if (step % 4 == 1 && i % 3 == 0)
				assert_int_equal(decode(&r, n - 1, step,
				    UINT64_MAX, 0), -ENODATA);
		}
	}
}

/* What liblzma says of a file with this limit; *need is what it needs. */
static lzma_ret
judge(size_t len, uint64_t limit, uint64_t *need)
{
	static uint8_t out[ROOM];
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret rc;

	assert_int_equal(lzma_stream_decoder(&s, limit, LZMA_CONCATENATED),
	    LZMA_OK);
	s.next_in = packed;
	s.avail_in = len;
	s.next_out = out;
	s.avail_out = ROOM;
	while ((rc = lzma_code(&s, LZMA_FINISH)) == LZMA_OK)
		;
	*need = lzma_memusage(&s);
	lzma_end(&s);
	return rc;
}

/* As much memory as liblzma needs is enough, and a byte less is not. */
static void
limits(void **state)
{
	static struct run r;
	uint64_t need, again;

	(void)state;
	for (int foreign = 0; foreign < 2; foreign++) {
		size_t n = encode(PLAIN, PLAIN, LZMA_CHECK_CRC64, foreign);

		assert_int_equal(judge(n, 1, &need), LZMA_MEMLIMIT_ERROR);
		assert_true(need > 1 << 16);
		assert_int_equal(judge(n, need, &again), LZMA_STREAM_END);
		assert_int_equal(judge(n, need - 1, &again),
		    LZMA_MEMLIMIT_ERROR);
		assert_int_equal(decode(&r, n, n, need, 1000), 0);
		assert_int_equal(r.made, PLAIN);
		assert_int_equal(decode(&r, n, n, need - 1, 1000), -EFBIG);
		assert_int_equal(r.made, 0);
		assert_int_equal(r.notes.need, need + 1000);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(limits),
	};

	for (size_t i = 0; i < PLAIN; i++)
		plain[i] = (uint8_t)"pieces of a puzzle"[i * i / 3 % 18];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
