/*
 * test_zstd_jobs.c - frames made of jobs, and others that only look like them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../src/format/zstd/zstd_block.h"
#include "../src/format/zstd/zstd_job.h"
#include "../src/format/zstd/zstd_scan.h"
#include "zstd_made.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <cmocka.h>

enum { ROOM = 256 * KIB };

/* Makes a libzstd frame, whose header has ZSTD_JOB_HEAD bytes. */
static struct buf
library_pack(struct buf in, int level, int window_log, const void *prefix,
    size_t prefix_len)
{
	struct buf out = new_buf(ZSTD_compressBound(in.len) + ROOM);
	ZSTD_CCtx *c = ZSTD_createCCtx();

	assert_non_null(c);
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
	ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
	if (prefix != NULL)
		ZSTD_CCtx_refPrefix(c, prefix, prefix_len);
	out.len = ZSTD_compress2(c, out.data, out.cap, in.data, in.len);
	assert_false(ZSTD_isError(out.len));
	ZSTD_freeCCtx(c);
	return out;
}

/*
 * Blocks become jobs: none of them needs earlier data, and all give the same
 * output.
 */
static void
settled_blocks(void **state)
{
	static const int levels[] = { 1, 3, 5, 7, 9, 13, 16, 19 };
	size_t changed = 0;

	(void)state;
	for (int kind = 0; kind < KINDS; kind++)
		for (size_t l = 0; l < sizeof(levels) / sizeof(int); l++) {
			struct buf in = sample(kind, 300000, 7), out, was;
			struct buf back = new_buf(in.len);

			out = library_pack(in, levels[l], 19, NULL, 0);
			was = new_buf(out.len);
			add(&was, out.data, out.len);
			assert_int_equal(zstd_job_settle(&out, ZSTD_JOB_HEAD,
			    ZSTD_BLOCK_MAX), 0);
			assert_true(zstd_job_alone(out.data + ZSTD_JOB_HEAD,
			    out.len - ZSTD_JOB_HEAD));
			back.len = ZSTD_decompress(back.data, back.cap,
			    out.data, out.len);
			assert_false(ZSTD_isError(back.len));
			assert_same(back, in);
			changed += out.len != was.len ||
			    memcmp(out.data, was.data, out.len) != 0;
			assert_true(out.len < was.len + was.len / 16 + 64);
			free(in.data);
			free(out.data);
			free(was.data);
			free(back.data);
		}
	assert_true(changed > KINDS);
}

/*
 * With less and less room for a block, the result is the same, or there is
 * none.
 */
static void
small_blocks(void **state)
{
	size_t refused = 0;

	(void)state;
	for (int kind = 0; kind < KINDS; kind++) {
		struct buf in = sample(kind, 20000, 7), was, out;
		struct buf back = new_buf(in.len);
		size_t whole;

		was = library_pack(in, 3, 17, NULL, 0);
		out = new_buf(was.cap);
		add(&out, was.data, was.len);
		assert_int_equal(zstd_job_settle(&out, ZSTD_JOB_HEAD,
		    ZSTD_BLOCK_MAX), 0);
		whole = out.len;
		for (size_t most = whole + 10; most > 0; most--) {
			int rc;

			out.len = 0;
			add(&out, was.data, was.len);
			rc = zstd_job_settle(&out, ZSTD_JOB_HEAD, most);
			if (rc != 0) {
				assert_int_equal(rc, -ENOBUFS);
				refused++;
				continue;
			}
			assert_int_equal(out.len, whole);
			back.len = ZSTD_decompress(back.data, back.cap,
			    out.data, out.len);
			assert_false(ZSTD_isError(back.len));
			assert_same(back, in);
		}
		free(in.data);
		free(was.data);
		free(out.data);
		free(back.data);
	}
	assert_true(refused > 500);
}

/* Stores the position of each block of a frame; returns their number. */
static size_t
find_blocks(struct buf frame, size_t head, size_t *at, size_t most)
{
	size_t n = 0, pos = head;
	struct zstd_block_head h;

	do {
		assert_true(n < most && pos + ZSTD_BLOCK_HEAD <= frame.len);
		h = zstd_block_head(frame.data + pos);
		at[n++] = pos;
		pos += ZSTD_BLOCK_HEAD + h.stored;
	} while (!h.last);
	return n;
}

/*
 * Starting in the middle of a frame, libzstd decodes some data, not always
 * correctly.  Whatever is accepted as independent must be right.
 */
static void
middle_of_others(void **state)
{
	size_t at[256], wrong = 0, right = 0;

	(void)state;
	for (int kind = 0; kind < KINDS; kind++)
		for (int level = 1; level <= 5; level += 2) {
			struct buf in = sample(kind, 4 * MIB, 11);
			struct buf z = library_pack(in, level, 20, NULL, 0);
			struct buf back = new_buf(in.len);
			size_t n = find_blocks(z, ZSTD_JOB_HEAD, at, 256);

			for (size_t i = 1; i < n; i++) {
				uint8_t *p = z.data + at[i] - ZSTD_JOB_HEAD;
				uint8_t was[ZSTD_JOB_HEAD];
				size_t len = z.len - at[i] + ZSTD_JOB_HEAD;
				size_t from = i * ZSTD_BLOCK_MAX, got;
				bool same;

				memcpy(was, p, sizeof(was));
				zstd_job_head(p, z.data[5]);
				got = ZSTD_decompress(back.data, back.cap, p,
				    len);
				same = !ZSTD_isError(got) &&
				    got == in.len - from && memcmp(back.data,
				    in.data + from, got) == 0;
				wrong += !ZSTD_isError(got) && !same;
				right += same;
				if (!ZSTD_isError(got) && !same)
					assert_false(zstd_job_alone(p +
					    ZSTD_JOB_HEAD, len -
					    ZSTD_JOB_HEAD));
				memcpy(p, was, sizeof(was));
			}
			free(in.data);
			free(z.data);
			free(back.data);
		}
	/* otherwise there is nothing to detect here */
	assert_true(wrong > 0);
	assert_true(right > 0);
}

static const uint8_t marks[4 * ZSTD_BLOCK_HEAD];

/* Marks in front of any block of any frame change nothing. */
static void
marks_in_others(void **state)
{
	size_t at[256];
	uint32_t seed = 5;

	(void)state;
	for (int kind = 0; kind < KINDS; kind++)
		for (int every = 1; every < 9; every += 3) {
			struct buf in = sample(kind, 2 * MIB, 3);
			struct buf z = library_pack(in, 1 + every, 18, NULL,
			    0);
			struct buf made = new_buf(z.len);
			size_t n = find_blocks(z, ZSTD_JOB_HEAD, at, 256);

			add(&made, z.data, ZSTD_JOB_HEAD);
			add(&made, marks, 6);
			for (size_t i = 0; i < n; i++) {
				size_t end = i + 1 < n ? at[i + 1] : z.len;

				add(&made, z.data + at[i], end - at[i]);
				if (i + 1 < n &&
				    next_random(&seed) % (unsigned)every == 0)
					add(&made, marks, 9);
			}
			assert_unpacks(made, in);
			free(in.data);
			free(z.data);
			free(made.data);
		}
}

/*
 * Tests independent jobs followed by one that is not: it refers to the whole
 * window before it.  However much was written before that job, the output is
 * correct.
 */
static void
jobs_then_others(void **state)
{
	static const size_t lens[] = { 300, 64 * KIB, 100000, 256 * KIB,
	    300000 };

	(void)state;
	for (size_t l = 0; l < sizeof(lens) / sizeof(*lens); l++) {
		struct buf old = sample(10, 256 * KIB, 9);
		struct buf all = new_buf(MIB), made = new_buf(MIB), tail;
		uint8_t head[ZSTD_JOB_HEAD];

		zstd_job_head(head, (18 - 10) << 3);
		add(&made, head, sizeof(head));
		/* noise in jobs of this length */
		for (size_t at = 0; at < old.len; at += lens[l]) {
			struct buf part = { .data = old.data + at, .len =
			    old.len - at < lens[l] ? old.len - at : lens[l] };
			struct buf z = library_pack(part, 3, 18, NULL, 0);
			uint8_t *last;

			assert_int_equal(zstd_job_settle(&z, ZSTD_JOB_HEAD,
			    ZSTD_BLOCK_MAX), 0);
			last = zstd_last_block(z.data + ZSTD_JOB_HEAD, z.len -
			    ZSTD_JOB_HEAD);
			assert_non_null(last);
			*last &= 0xfe;
			add(&made, marks, 6);
			add(&made, z.data + ZSTD_JOB_HEAD, z.len -
			    ZSTD_JOB_HEAD);
			add(&made, marks, 3);
			free(z.data);
		}
		add(&all, old.data, old.len);
		/* the same data again, as matches one window length back */
		tail = library_pack(old, 3, 20, all.data, all.len);
		assert_int_equal(zstd_job_settle(&tail, ZSTD_JOB_HEAD,
		    ZSTD_BLOCK_MAX), 0);
		assert_true(tail.len < old.len / 16);
		add(&made, marks, 6);
		add(&made, tail.data + ZSTD_JOB_HEAD, tail.len -
		    ZSTD_JOB_HEAD);
		add(&all, old.data, old.len);
		assert_unpacks(made, all);
		/* and another frame after it */
		tail.len = 0;
		add(&tail, made.data, made.len);
		add(&made, tail.data, tail.len);
		add(&all, old.data, old.len);
		add(&all, old.data, old.len);
		assert_unpacks(made, all);
		free(old.data);
		free(all.data);
		free(made.data);
		free(tail.data);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settled_blocks),
		cmocka_unit_test(small_blocks),
		cmocka_unit_test(middle_of_others),
		cmocka_unit_test(marks_in_others),
		cmocka_unit_test(jobs_then_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
