/*
 * test_lz4.c - LZ4 in both directions, compared with liblz4's frames
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lz4_made.h"

#include "base/bytes.h"

#include <errno.h>
#include <lz4.h>
#include <lz4frame.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void
round_trips(void **state)
{
	static const size_t sizes[] = { 0, 1, 12, 13, 1000, 64 * KIB - 1,
	    64 * KIB, 64 * KIB + 1, 4 * MIB - 1, 4 * MIB, 4 * MIB + 1,
	    13 * MIB };
	static const int levels[] = { 1, 2, 3, 9, 12 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < (sizes[i] > 5 * MIB ? 3 : 5); k++) {
			struct bytes in = sample(sizes[i], (uint32_t)i);
			struct bytes z = pack(in, levels[k], 0, 2, i % 2);
			LZ4F_frameInfo_t info;
			struct bytes out = library_unpack(z, in.n, &info);

			assert_same(out, in);
			assert_int_equal(info.blockSizeID, LZ4F_max4MB);
			assert_int_equal(info.blockMode,
			    LZ4F_blockIndependent);
			assert_int_equal(info.blockChecksumFlag,
			    LZ4F_noBlockChecksum);
			assert_int_equal(info.contentChecksumFlag,
			    LZ4F_contentChecksumEnabled);
			assert_int_equal(info.contentSize, 0);
			assert_unpacks(z, in);
			free(in.p);
			free(out.p);
			free(z.p);
		}
}

static void
block_checksums(void **state)
{
	struct codec_options o = { .level = 1, .threads = 2,
	    .block = 64 * KIB, .settings = { { "block-check", 1, NULL } } };
	struct bytes in = sample(MIB, 4), rough = noise(100000), z, out;
	LZ4F_frameInfo_t info;

	(void)state;
	append(&in, rough.p, rough.n);
	assert_int_equal(run(codec_lz4.encode, &o, in, false, &z), 0);
	out = library_unpack(z, in.n, &info);
	assert_same(out, in);
	assert_int_equal(info.blockChecksumFlag, LZ4F_blockChecksumEnabled);
	assert_int_equal(info.contentChecksumFlag,
	    LZ4F_contentChecksumEnabled);
	assert_unpacks(z, in);
	free(out.p);
	free(z.p);
	free(in.p);
	free(rough.p);
}

/* Returns the blocks, decoded one by one as the kernel does. */
static struct bytes
legacy_unpack(struct bytes z, size_t room)
{
	struct bytes out = bytes_new(room);
	size_t pos = 4;

	out.n = 0;
	assert_true(z.n >= 4);
	assert_int_equal(load_le32(z.p), 0x184c2102);
	while (pos < z.n) {
		size_t len, left = room - out.n;
		int n;

		assert_true(z.n - pos >= 4);
		len = load_le32(z.p + pos);
		assert_true(len <= z.n - pos - 4);
		n = LZ4_decompress_safe((char *)z.p + pos + 4,
		    (char *)out.p + out.n, (int)len,
		    (int)(left < 8 * MIB ? left : 8 * MIB));
		assert_true(n > 0);
		out.n += (size_t)n;
		/* all but the last are full: lz4(1) relies on that */
		assert_true(n == 8 * MIB || pos + 4 + len == z.n);
		pos += 4 + len;
	}
	return out;
}

static void
legacy_frames(void **state)
{
	static const size_t sizes[] = { 0, 1, 13, 1000, 8 * MIB - 1, 8 * MIB,
	    8 * MIB + 1, 17 * MIB };
	static const int levels[] = { 1, 9, 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < (sizes[i] > MIB ? 1 : 3); k++) {
			struct codec_options o = { .level = levels[k],
			    .threads = 1 + (unsigned)(i % 3),
			    .settings = { { "legacy", 1, NULL } } };
			struct bytes in = sample(sizes[i], (uint32_t)i), z;
			struct bytes rough = noise(i % 2 ? in.n / 2 : 0);
			struct bytes out;

			memcpy(in.p, rough.p, rough.n);
			assert_int_equal(run(codec_lz4.encode, &o,
			    in, i % 2, &z), 0);
			out = legacy_unpack(z, in.n);
			assert_same(out, in);
			assert_unpacks(z, in);
			free(in.p);
			free(rough.p);
			free(z.p);
			free(out.p);
		}
}

static void
legacy_refusals(void **state)
{
	struct codec_options o = { .level = 1, .threads = 1,
	    .block = 64 * KIB, .settings = { { "legacy", 1, NULL } } };
	const char *why = NULL;
	struct memory_plan p;

	(void)state;
	assert_int_equal(codec_lz4.encode->plan(&o, &p, &why),
	    -ENOTSUP);
	assert_non_null(why);
	why = NULL;
	o.block = 0;
	assert_int_equal(codec_set(&o, "block-check", 1, NULL), 0);
	assert_int_equal(codec_lz4.encode->plan(&o, &p, &why),
	    -ENOTSUP);
	assert_non_null(why);
	assert_int_equal(codec_set(&o, "block-check", 0, NULL), 0);
	assert_int_equal(codec_lz4.encode->plan(&o, &p, &why), 0);
}

/*
 * Our output is no larger than liblz4's.  At level 2, liblz4 up to 1.9.4 uses
 * its fast compressor, like pzc; 1.10 uses a medium one, whose output is at
 * most 3 % smaller, so the fast one's size is taken from level 1.
 */
static void
sizes(void **state)
{
	struct bytes in = sample(4 * MIB + 5, 3);
	LZ4F_preferences_t prefs = { .frameInfo = {
	    .blockSizeID = LZ4F_max4MB, .blockMode = LZ4F_blockIndependent,
	    .contentChecksumFlag = LZ4F_contentChecksumEnabled } };
	size_t fast = 0;

	(void)state;
	for (int level = 1; level <= 12; level += level < 3 ? 1 : 3) {
		struct bytes ours = pack(in, level, 0, 2, false), theirs;
		bool medium = level == 2 && LZ4_versionNumber() >= 11000;

		prefs.compressionLevel = level;
		theirs = library_pack(in, &prefs, 0);
		fast = level == 1 ? theirs.n : fast;
		if (medium)
			assert_true(ours.n <= fast);
		assert_true(ours.n <= theirs.n + (medium ? theirs.n / 33 : 0));
		free(ours.p);
		free(theirs.p);
	}
	free(in.p);
}

static void
same_bytes(void **state)
{
	static const int levels[] = { 1, 3 };
	struct bytes in = sample(13 * MIB + 17, 1);

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct bytes one = pack(in, levels[k], 0, 1, false);

		for (unsigned threads = 1; threads <= 8; threads *= 2)
			for (int by_pipe = 0; by_pipe < 2; by_pipe++) {
				struct bytes z = pack(in, levels[k], 0,
				    threads, by_pipe);

				assert_same(z, one);
				free(z.p);
			}
		free(one.p);
	}
	free(in.p);
}

static void
stores_noise(void **state)
{
	struct bytes in = noise(5 * MIB), z = pack(in, 1, 0, 2, false);

	(void)state;
	assert_int_equal(z.n, 7 + 5 * MIB + 2 * 4 + 8);
	assert_int_equal(load_le32(z.p + 7), 4 * MIB | 0x80000000U);
	assert_unpacks(z, in);
	free(in.p);
	free(z.p);
}

static void
block_sizes(void **state)
{
	static const struct {
		size_t block;
		uint8_t code;
	} rows[] = { { 1, 0x40 }, { 64 * KIB, 0x40 }, { 64 * KIB + 1, 0x50 },
	    { 256 * KIB, 0x50 }, { 300 * KIB, 0x60 }, { MIB, 0x60 },
	    { 2 * MIB, 0x70 }, { 4 * MIB, 0x70 }, { 0, 0x70 } };
	struct bytes in = sample(3 * MIB, 2);
	struct codec_options o = { .level = 1, .threads = 1,
	    .block = 4 * MIB + 1 };
	const char *why = NULL;
	struct memory_plan p;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes z = pack(in, 1, rows[i].block, 2, false);

		assert_int_equal(z.p[5], rows[i].code);
		assert_unpacks(z, in);
		free(z.p);
	}
	free(in.p);
	assert_int_equal(codec_lz4.encode->plan(&o, &p, &why), -ENOTSUP);
	assert_non_null(why);
}

/* Counts the bytes in blocks of b that also occur in a. */
static size_t
shared_bytes(struct bytes a, struct bytes b)
{
	size_t shared = 0;

	for (size_t i = 7; i + 4 < b.n;) {
		size_t n = 4 + (load_le32(b.p + i) & 0x7fffffff);

		if (n == 4)
			break;
		if (memmem(a.p, a.n, b.p + i, n) != NULL)
			shared += n;
		i += n;
	}
	return shared;
}

static void
rsyncable(void **state)
{
	struct codec_options o = { .level = 1, .threads = 2,
	    .rsyncable = true, .block = 256 * KIB };
	struct bytes in = sample(6 * MIB, 5), moved = bytes_of("new", 3);
	struct bytes z, y, plain;

	(void)state;
	append(&moved, in.p, in.n);
	assert_int_equal(run(codec_lz4.encode, &o, in, false, &z), 0);
	assert_int_equal(run(codec_lz4.encode, &o, moved, true, &y), 0);
	plain = pack(moved, 1, 256 * KIB, 2, false);
	assert_unpacks(z, in);
	assert_unpacks(y, moved);
	assert_true(shared_bytes(z, y) > y.n / 2);
	assert_true(shared_bytes(z, plain) < plain.n / 10);
	free(in.p);
	free(moved.p);
	free(plain.p);
	free(z.p);
	free(y.p);
}

static void
library_frames(void **state)
{
	struct bytes in = sample(5 * MIB + 99, 8), rough = noise(300000);

	(void)state;
	append(&in, rough.p, rough.n);
	for (unsigned i = 0; i < 64; i++) {
		LZ4F_preferences_t prefs = { .frameInfo = {
		    .blockSizeID = (LZ4F_blockSizeID_t)(4 + i % 4),
		    .blockMode = i & 4 ? LZ4F_blockLinked :
		    LZ4F_blockIndependent,
		    .contentChecksumFlag = i & 8 ?
		    LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum,
		    .blockChecksumFlag = i & 16 ?
		    LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum,
		    .contentSize = i & 32 ? in.n : 0 } };
		struct bytes z = library_pack(in, &prefs, 0), out;

		assert_int_equal(unpack(z, 1 + i % 3, i % 2, &out), 0);
		assert_same(out, in);
		free(out.p);
		free(z.p);
	}
	free(in.p);
	free(rough.p);
}

/* The history extends over many blocks, and across pieces. */
static void
small_blocks(void **state)
{
	static const size_t steps[] = { 100, 1000, 30000, 65535, 70000 };
	struct bytes in = sample(3 * MIB, 9);

	(void)state;
	for (size_t i = 0; i < 10; i++) {
		LZ4F_preferences_t prefs = { .frameInfo = {
		    .blockSizeID = i % 2 ? LZ4F_max4MB : LZ4F_max64KB,
		    .blockMode = i < 5 ? LZ4F_blockLinked :
		    LZ4F_blockIndependent,
		    .contentChecksumFlag = LZ4F_contentChecksumEnabled },
		    .autoFlush = 1 };
		struct bytes z = library_pack(in, &prefs, steps[i % 5]);

		assert_unpacks(z, in);
		free(z.p);
	}
	free(in.p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(block_checksums),
		cmocka_unit_test(legacy_frames),
		cmocka_unit_test(legacy_refusals),
		cmocka_unit_test(sizes),
		cmocka_unit_test(same_bytes),
		cmocka_unit_test(stores_noise),
		cmocka_unit_test(block_sizes),
		cmocka_unit_test(rsyncable),
		cmocka_unit_test(library_frames),
		cmocka_unit_test(small_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
