/*
 * test_xz_reader.c - the decoder of .xz, in pieces of any size, and its limit
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * After each piece in memory comes what is not part of the file.
 */
#include "sys_fault.h"

#include "../src/format/xz/xz_reader.h"
#include "format/codec.h"
#include "pipeline/pipeline.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/*
 * A stream with blocks of the size that xz -6 with threads makes, none of which
 * is any smaller: what a worker holds is as much as it can be.
 */
enum { LARGE = 24 << 20, LARGE_BLOCKS = 6 };

struct large {
	size_t plain;			/* of a block */
	uint64_t memory;		/* for blocks in parallel; or 0 */
	uint8_t begin[LZMA_STREAM_HEADER_SIZE], *block, end[128];
	size_t block_len, end_len;
	uint64_t at, made;
	int (*work)(void *job, void *ctx, struct slot *s);
	atomic_uint by_workers;
};

static void
make_large(struct large *l, size_t plain_len)
{
	lzma_options_lzma o = { .dict_size = 8 << 20 };
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &o },
	    { LZMA_VLI_UNKNOWN, NULL } };
	lzma_block b = { .version = 1, .check = LZMA_CHECK_CRC32,
	    .filters = filters };
	lzma_stream_flags flags = { .check = b.check };
	lzma_index *index = lzma_index_init(NULL);
	size_t bound = lzma_block_buffer_bound(plain_len);
	uint8_t *data = calloc(1, plain_len);

	*l = (struct large){ .plain = plain_len, .block = malloc(bound) };
	assert_true(data != NULL && l->block != NULL && index != NULL);
	assert_int_equal(lzma_block_uncomp_encode(&b, data, plain_len,
	    l->block, &l->block_len, bound), LZMA_OK);
	free(data);
	for (unsigned i = 0; i < LARGE_BLOCKS; i++)
		assert_int_equal(lzma_index_append(index, NULL,
		    lzma_block_unpadded_size(&b), plain_len), LZMA_OK);
	assert_int_equal(lzma_index_buffer_encode(index, l->end, &l->end_len,
	    sizeof(l->end) - LZMA_STREAM_HEADER_SIZE), LZMA_OK);
	lzma_index_end(index, NULL);
	assert_int_equal(lzma_stream_header_encode(&flags, l->begin), LZMA_OK);
	flags.backward_size = l->end_len;
	assert_int_equal(lzma_stream_footer_encode(&flags,
	    l->end + l->end_len), LZMA_OK);
	l->end_len += LZMA_STREAM_HEADER_SIZE;
}

static ssize_t
large_source(void *arg, void *buf, size_t len)
{
	struct large *l = arg;
	uint64_t at = l->at, all = (uint64_t)LARGE_BLOCKS * l->block_len;
	const uint8_t *from = l->begin;
	size_t n = sizeof(l->begin);

	if (at >= n + all) {
		at -= n + all;
		from = l->end;
		n = l->end_len;
	} else if (at >= n) {
		at = (at - n) % l->block_len;
		from = l->block;
		n = l->block_len;
	}
	if (len > n - at)
		len = (size_t)(n - at);
	memcpy(buf, from + at, len);
	l->at += len;
	return (ssize_t)len;
}

static struct large *counted;

static int
count_work(void *job, void *ctx, struct slot *s)
{
	int rc = counted->work(job, ctx, s);

	counted->by_workers += s->out.len == counted->plain;
	return rc;
}

static int
count_bytes(void *arg, const uint8_t *data, size_t len)
{
	struct large *l = arg;

	(void)data;
	l->made += len;
	return 0;
}

/* Returns the status of decoding with several threads. */
static int
decode_large(struct large *l, unsigned threads)
{
	struct codec_options o = { .window_max = 128 << 20,
	    .threads = threads,
	    .settings = { { "threads-memory", l->memory, NULL } } };
	const struct coder *coder = codec_by_name("xz")->decoder_for(&o);
	struct pipeline_params params = { .threads = threads, .out_fd = -1,
	    .write = count_bytes, .write_arg = l };
	struct pipeline_ops ops = coder->ops;
	struct pipeline_stats stats = { .in_bytes = 0 };
	struct codec_notes notes = { .need = 0 };
	struct memory_plan plan;
	struct input in;
	const char *why;
	void *job;
	int rc;

	counted = l;
	l->at = l->made = 0;
	l->by_workers = 0;
	l->work = ops.work;
	ops.work = count_work;
	assert_int_equal(coder->plan(&o, &plan, &why), 0);
	params.slots = plan.slots;
	rc = coder->open(&job, &o, &plan, &notes);
	if (rc != 0)
		return rc;
	rc = input_open_from(&in, large_source, l);
	if (rc == 0)
		rc = pipeline_run(&ops, job, &in, &params, &stats);
	input_close(&in);
	coder->close(job);
	return rc;
}

/* Workers decode all blocks, however many have been decoded before. */
static void
large_blocks(void **state)
{
	struct large l;

	(void)state;
	make_large(&l, LARGE);
	for (unsigned threads = 2; threads <= 8; threads *= 2) {
		assert_int_equal(decode_large(&l, threads), 0);
		assert_int_equal(l.made, (uint64_t)LARGE_BLOCKS * LARGE);
		assert_int_equal(l.by_workers, LARGE_BLOCKS);
	}
	/* less than two blocks take */
	l.memory = 4 * (uint64_t)LARGE;
	assert_int_equal(decode_large(&l, 2), 0);
	assert_int_equal(l.made, (uint64_t)LARGE_BLOCKS * LARGE);
	assert_in_range(l.by_workers, 1, LARGE_BLOCKS - 1);
	/* less than a block takes, and than the joiner does beside it */
	for (l.memory = 1 << 20; l.memory > 0; l.memory /= 1 << 20) {
		assert_int_equal(decode_large(&l, 2), 0);
		assert_int_equal(l.made, (uint64_t)LARGE_BLOCKS * LARGE);
		assert_int_equal(l.by_workers, 0);
	}
	free(l.block);
}

/* Where there is no memory for a whole block, it is decoded in pieces. */
static void
no_memory(void **state)
{
	unsigned in_pieces_too = 0;
	struct large l;
	char plan[32];

	(void)state;
	make_large(&l, 1 << 20);
	for (unsigned k = 1;; k++) {
		long blocks = fault_blocks();
		int rc;

		snprintf(plan, sizeof(plan), "malloc:%u:ENOMEM", k);
		assert_true(fault_plan(plan));
		rc = decode_large(&l, 2);
		if (fault_count(FAULT_MALLOC) < k)
			break;
		assert_int_equal(fault_blocks(), blocks);
		if (rc != 0) {
			assert_int_equal(rc, -ENOMEM);
			continue;
		}
		assert_int_equal(l.made, (uint64_t)LARGE_BLOCKS << 20);
		in_pieces_too += l.by_workers == LARGE_BLOCKS - 1;
	}
	assert_true(fault_plan(""));
	assert_true(in_pieces_too >= 2);
	free(l.block);
}

static void
memory_of_blocks(void **state)
{
	const uint64_t mib = 1 << 20, gib = 1 << 30;

	(void)state;
	assert_int_equal(xz_parallel_held(5, 2, 64 * gib), 5);
	/* 512 MiB a thread, of a quarter that is as large or larger */
	assert_int_equal(xz_parallel_held(0, 2, 64 * gib), gib);
	assert_int_equal(xz_parallel_held(0, 2, 4 * gib), gib);
	assert_int_equal(xz_parallel_held(0, 3, 64 * gib), 1536 * mib);
	/* the quarter */
	assert_int_equal(xz_parallel_held(0, 2, 3 * gib), 768 * mib);
	assert_int_equal(xz_parallel_held(0, 8, 12 * gib), 3 * gib);
	/* 128 MiB a thread */
	assert_int_equal(xz_parallel_held(0, 2, gib), 256 * mib);
	assert_int_equal(xz_parallel_held(0, 2, 0), 256 * mib);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(limits),
		cmocka_unit_test(large_blocks),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(memory_of_blocks),
	};

	for (size_t i = 0; i < PLAIN; i++)
		plain[i] = (uint8_t)"pieces of a puzzle"[i * i / 3 % 18];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
