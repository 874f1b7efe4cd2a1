/*
 * test_zstd_frames.c - the encoder's frames, damaged ones, and large windows
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zstd_made.h"

#include "base/sys.h"
#include "format/convert.h"
#include "format/zstd_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <cmocka.h>

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

static struct buf
pack_jobs(struct buf in, int level, size_t block)
{
	struct codec_options o = { .level = level, .block = block,
	    .threads = 2 };
	struct buf out;

	assert_int_equal(run(false, &o, in, &out), 0);
	return out;
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

/* Gives a buffer at once. */
static ssize_t
give(void *arg, void *to, size_t len)
{
	struct buf *b = arg;
	size_t n = b->len;

	assert_true(n <= len);
	memcpy(to, b->data, n);
	b->len = 0;
	return (ssize_t)n;
}

/* A frame says by number which dictionary it needs. */
static void
dictionaries(void **state)
{
	/* number 7; content of 5 bytes */
	uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 5,
	    5 << 3 | 1, 0, 0, 'h', 'e', 'l', 'l', 'o' };
	struct buf z = { .data = frame, .len = sizeof(frame) }, out;
	struct codec_options o = { .threads = 1 };
	struct convert c = { .codec = &codec_zstd, .decompress = true };
	struct convert_result r;
	struct input input;

	(void)state;
	assert_int_equal(codec_set(&o, "dictionary", 9, "a wordier"), 0);
	assert_int_equal(run(true, &o, z, &out), -ENOTSUP);
	assert_int_equal(out.len, 0);
	free(out.data);
	c.options = o;
	c.options.window_max = MIB;
	assert_int_equal(input_open_from(&input, give, &z), 0);
	assert_int_equal(convert_run(&c, &input, -1, &r), -ENOTSUP);
	assert_string_equal(r.why, "it needs another dictionary");
	input_close(&input);
	z.len = sizeof(frame);
	/* none, which anything will do for */
	frame[5] = 0;
	assert_int_equal(run(true, &o, z, &out), 0);
	assert_int_equal(out.len, 5);
	free(out.data);
	frame[4] ^= 0x40;
	assert_int_equal(run(true, &o, z, &out), -EBADMSG);
	free(out.data);
}

/* Tests frames with a seek table, as --seekable writes them. */
static void
frames(void **state)
{
	struct buf in = sample(11, 1000000, 4), z;
	struct codec_options o = { .level = 3, .threads = 2,
	    .block = 64 * KIB, .settings = { { "seekable", 1, NULL } } };
	struct buf frames_only;

	(void)state;
	assert_int_equal(run(false, &o, in, &z), 0);
	assert_unpacks(z, in);
	assert_int_equal(codec_set(&o, "seekable", 0, NULL), 0);
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

/* A seek table has 32 bits for each size. */
static void
table(void **state)
{
	struct buf t = { .len = 0 };
	size_t n;

	(void)state;
	assert_int_equal(zstd_table_add(&t, UINT32_MAX, UINT32_MAX), 0);
	assert_int_equal(zstd_table_add(&t, 1 + (uint64_t)UINT32_MAX, 1),
	    -EFBIG);
	assert_int_equal(zstd_table_add(&t, 1, 1 + (uint64_t)UINT32_MAX),
	    -EFBIG);
	n = t.len;
	assert_int_equal(n, 8);
	t.len = UINT32_MAX - 16;
	assert_int_equal(zstd_table_add(&t, 1, 1), -EFBIG);
	t.len = n;
	assert_int_equal(zstd_table_end(&t), 0);
	assert_int_equal(t.len, 8 + 8 + 9);
	sys_free(t.data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_frames),
		cmocka_unit_test(damaged_frames),
		cmocka_unit_test(windows),
		cmocka_unit_test(dictionaries),
		cmocka_unit_test(frames),
		cmocka_unit_test(table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
