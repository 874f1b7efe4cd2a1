/*
 * test_zstd_jobs.c - frames made of jobs, and others that only look like them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../src/format/zstd/zstd_block.h"
#include "../src/format/zstd/zstd_job.h"
#include "../src/format/zstd/zstd_scan.h"
#include "format/convert.h"
#include "format/formats.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <cmocka.h>

enum { KIB = 1 << 10, MIB = 1 << 20, ROOM = 256 * KIB };

static struct buf
new_buf(size_t cap)
{
	struct buf b = { .cap = cap + 1 };

	b.data = malloc(b.cap);
	assert_non_null(b.data);
	return b;
}

static void
add(struct buf *b, const void *p, size_t n)
{
	if (b->len + n > b->cap) {
		assert_true(p != b->data);
		b->cap = 2 * (b->len + n);
		b->data = realloc(b->data, b->cap);
		assert_non_null(b->data);
	}
	if (n > 0)
		memcpy(b->data + b->len, p, n);
	b->len += n;
}

static uint32_t
next_random(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 8;
}

/*
 * Makes data that begins with, and often repeats, matches at libzstd's initial
 * offsets.
 */
static struct buf
sample(int kind, size_t n, uint32_t seed)
{
	static const char *const words[] = { "    ", "return ", "====", "\n",
	    "static ", "int", "\t\t\t\t", "offset", " = ", "0x", "0000",
	    "window", "(", ")", ";\n", "const " };
	struct buf b = new_buf(n + 64);
	uint8_t record[96];

	for (size_t i = 0; i < sizeof(record); i++)
		record[i] = (uint8_t)next_random(&seed);
	while (b.len < n) {
		uint32_t r = next_random(&seed);
		char noise[4] = { (char)r, (char)(r >> 5), (char)(r >> 9),
		    (char)(r >> 3) };

		if (kind == 0)		/* zeros, with occasional other bytes */
			add(&b, r % 1000 == 0 ? "x" : "\0\0\0\0",
			    r % 1000 == 0 ? 1 : 4);
		else if (kind <= 8)	/* a repeated period, with noise in
					 * it */
			add(&b, r % 200 == 0 ? noise : (char *)record,
			    r % 200 == 0 ? 3 : (size_t)kind);
		else if (kind == 9)	/* records */
			add(&b, r % 3 == 0 ? noise : (char *)record,
			    r % 3 == 0 ? 4 : sizeof(record));
		else if (kind == 10)
			add(&b, noise, 4);
		else
			add(&b, words[r % 16], strlen(words[r % 16]));
	}
	b.len = n;
	return b;
}

enum { KINDS = 12 };

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

static ssize_t
read_buf(void *arg, void *to, size_t len)
{
	struct buf *b = arg;
	size_t n = len < b->len ? len : b->len;

	memcpy(to, b->data, n);
	b->data += n;
	b->len -= n;
	return (ssize_t)n;
}

/* Runs the codec once; keeps its output even after an error. */
static int
run(bool decompress, const struct codec_options *o, struct buf in,
    struct buf *out)
{
	struct convert c = { .codec = &codec_zstd, .decompress = decompress,
	    .options = *o };
	struct convert_result r;
	struct input input;
	struct stat st;
	int fd = memfd_create("out", MFD_CLOEXEC), rc;

	assert_true(fd >= 0);
	if (c.options.window_max == 0)
		c.options.window_max = 128 * MIB;
	assert_int_equal(input_open_from(&input, read_buf, &in), 0);
	rc = convert_run(&c, &input, fd, &r);
	input_close(&input);
	assert_int_equal(fstat(fd, &st), 0);
	*out = new_buf((size_t)st.st_size + 1);
	out->len = (size_t)st.st_size;
	assert_int_equal(pread(fd, out->data, out->len, 0), out->len);
	close(fd);
	return rc;
}

static void
assert_same(struct buf a, struct buf b)
{
	assert_int_equal(a.len, b.len);
	assert_true(a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Checks that packed gives want, with one thread and several. */
static void
assert_unpacks(struct buf packed, struct buf want)
{
	for (unsigned threads = 1; threads <= 4; threads *= 2) {
		struct codec_options o = { .threads = threads };
		struct buf out;

		assert_int_equal(run(true, &o, packed, &out), 0);
		assert_same(out, want);
		free(out.data);
	}
}

/*
 * Checks that the verdict and the data are the same for any number of threads.
 */
static void
assert_one_verdict(struct buf packed)
{
	struct buf first = { .len = 0 };
	int verdict = 0;

	for (unsigned threads = 1; threads <= 4; threads *= 2) {
		struct codec_options o = { .threads = threads };
		struct buf out;
		int rc = run(true, &o, packed, &out);

		if (threads == 1) {
			verdict = rc;
			first = out;
			continue;
		}
		assert_int_equal(rc == 0, verdict == 0);
		if (rc == 0)
			assert_same(out, first);
		free(out.data);
	}
	free(first.data);
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

static struct buf
pack_jobs(struct buf in, int level, size_t block)
{
	struct codec_options o = { .level = level, .block = block,
	    .threads = 2 };
	struct buf out;

	assert_int_equal(run(false, &o, in, &out), 0);
	return out;
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

/* The encoder's output is one frame, which libzstd also reads. */
static void
own_frames(void **state)
{
	static const size_t lens[] = { 0, 1, 65536, 65537, 131072, 1000000 };

	(void)state;
	for (int kind = 0; kind < KINDS; kind++)
		for (size_t l = 0; l < 6; l++) {
			struct buf in = sample(kind, lens[l], 21);
			struct buf z = pack_jobs(in, 1 + 2 * kind % 19,
			    64 * KIB), back = new_buf(in.len + 1);

			assert_int_equal(ZSTD_findFrameCompressedSize(z.data,
			    z.len), z.len);
			back.len = ZSTD_decompress(back.data, back.cap,
			    z.data, z.len);
			assert_same(back, in);
			assert_unpacks(z, in);
			free(in.data);
			free(z.data);
			free(back.data);
		}
}

/*
 * Frames truncated anywhere or with a wrong byte are rejected or give the same
 * data.
 */
static void
damaged_frames(void **state)
{
	struct buf in = sample(11, 300000, 33);
	struct buf z = pack_jobs(in, 3, 64 * KIB);
	uint32_t seed = 77;

	(void)state;
	for (int i = 0; i < 300; i++) {
		size_t at = next_random(&seed) % z.len;
		uint8_t was = z.data[at];
		struct buf cut = { .data = z.data, .len = at };

		assert_one_verdict(cut);
		z.data[at] ^= (uint8_t)(1 << next_random(&seed) % 8);
		assert_one_verdict(z);
		z.data[at] = was;
	}
	assert_unpacks(z, in);
	free(in.data);
	free(z.data);
}

/* A window that is too large is rejected for any number of threads. */
static void
windows(void **state)
{
	/* 2^27 and 2^28 bytes; content of 5 bytes */
	uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x80, 17 << 3, 5, 0, 0, 0,
	    5 << 3 | 1, 0, 0, 'h', 'e', 'l', 'l', 'o' };
	uint8_t hello[] = { 'h', 'e', 'l', 'l', 'o' };
	struct buf in = { .data = hello, .len = sizeof(hello) };
	struct buf z = { .data = frame, .len = sizeof(frame) };

	(void)state;
	assert_unpacks(z, in);
	for (int log = 28; log < 32; log++)
		for (unsigned threads = 1; threads <= 4; threads *= 2) {
			struct codec_options o = { .threads = threads };
			struct buf out;

			frame[5] = (uint8_t)((log - 10) << 3);
			assert_int_equal(run(true, &o, z, &out), -EFBIG);
			assert_int_equal(out.len, 0);
			free(out.data);
		}
}

/* Tests frames with a seek table, as --seekable writes them. */
static void
frames(void **state)
{
	struct buf in = sample(11, 1000000, 4), z;
	struct codec_options o = { .level = 3, .threads = 2, .seekable = true,
	    .block = 64 * KIB };
	struct buf frames_only;

	(void)state;
	assert_int_equal(run(false, &o, in, &z), 0);
	assert_unpacks(z, in);
	o.seekable = false;
	o.independent = true;
	assert_int_equal(run(false, &o, in, &frames_only), 0);
	assert_unpacks(frames_only, in);
	/* a skippable frame of 16 entries, and nothing else */
	assert_int_equal(z.len, frames_only.len + 8 + 16 * 8 + 9);
	assert_memory_equal(z.data, frames_only.data, frames_only.len);
	free(in.data);
	free(z.data);
	free(frames_only.data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settled_blocks),
		cmocka_unit_test(middle_of_others),
		cmocka_unit_test(marks_in_others),
		cmocka_unit_test(jobs_then_others),
		cmocka_unit_test(own_frames),
		cmocka_unit_test(damaged_frames),
		cmocka_unit_test(windows),
		cmocka_unit_test(frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
