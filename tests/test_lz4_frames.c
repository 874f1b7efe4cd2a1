/*
 * test_lz4_frames.c - LZ4 frames built by hand, and damaged ones
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
#include <xxhash.h>
#include <cmocka.h>

/* Frames built by hand */

static struct bytes
header(uint8_t flags, uint8_t bd, uint64_t size)
{
	struct bytes b = bytes_of("\x04\x22\x4d\x18", 4);
	uint8_t le[8], check;

	append(&b, &flags, 1);
	append(&b, &bd, 1);
	store_le64(le, size);
	if (flags & 8)
		append(&b, le, 8);
	if (flags & 1)
		append(&b, "\1\2\3\4", 4);
	check = XXH32(b.p + 4, b.n - 4, 0) >> 8 & 0xff;
	append(&b, &check, 1);
	return b;
}

static struct bytes
legacy(struct bytes in, size_t step)
{
	struct bytes b = bytes_of("\x02\x21\x4c\x18", 4);
	int cap = LZ4_compressBound((int)step);
	char *to = malloc((size_t)cap);

	assert_non_null(to);
	for (size_t i = 0; i < in.n; i += step) {
		size_t len = step < in.n - i ? step : in.n - i;
		int n = LZ4_compress_default((const char *)in.p + i, to,
		    (int)len, cap);

		append_le32(&b, (uint32_t)n);
		append(&b, to, (size_t)n);
	}
	free(to);
	return b;
}

static struct bytes
skippable(unsigned kind, size_t n)
{
	struct bytes b = { NULL, 0 }, rough = noise(n);

	append_le32(&b, 0x184d2a50 + kind);
	append_le32(&b, (uint32_t)n);
	append(&b, rough.p, n);
	free(rough.p);
	return b;
}

static void
mixed_frames(void **state)
{
	struct bytes in = sample(100000, 4), z = pack(in, 1, 0, 1, false);
	struct bytes old = legacy(in, 30000), all = { NULL, 0 };
	struct bytes want = { NULL, 0 }, s0 = skippable(0, 0);
	struct bytes s15 = skippable(15, 200000);
	struct bytes parts[] = { s0, z, s15, old, z, old, old, s0, z, z, s15 };

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		append(&all, parts[i].p, parts[i].n);
		if (parts[i].p == z.p || parts[i].p == old.p)
			append(&want, in.p, in.n);
		assert_unpacks(all, want);
	}
	free(in.p);
	free(z.p);
	free(old.p);
	free(s0.p);
	free(s15.p);
	free(all.p);
	free(want.p);
}

static void
legacy_frames(void **state)
{
	struct bytes in = sample(19 * MIB, 4), rough = noise(8 * MIB), z;
	struct bytes empty = { NULL, 0 };

	(void)state;
	z = legacy(in, 8 * MIB);
	assert_unpacks(z, in);
	free(z.p);
	/* a block that is larger than its decoded data */
	z = legacy(rough, 8 * MIB);
	assert_true(z.n > rough.n + 8);
	assert_unpacks(z, rough);
	free(z.p);
	z = legacy(in, 12345);
	assert_unpacks(z, in);
	free(z.p);
	/* lz4(1) accepts these */
	z = legacy(empty, 1);
	assert_int_equal(z.n, 4);
	assert_unpacks(z, empty);
	assert_unpacks(empty, empty);
	/* a block of more than 8 MiB */
	append(&rough, "x", 1);
	memset(rough.p, 0, rough.n);
	free(z.p);
	z = legacy(rough, rough.n);
	assert_refused(z, -EBADMSG);
	free(z.p);
	z = bytes_of("\x02\x21\x4c\x18\0\0\0\0", 8);
	assert_refused(z, -EBADMSG);
	free(z.p);
	free(in.p);
	free(rough.p);
}

static void
bad_headers(void **state)
{
	static const struct {
		uint8_t flags, bd;
		int want;
	} rows[] = { { 0x60, 0x40, 0 }, { 0x62, 0x40, -EBADMSG },
	    { 0x60, 0xc0, -EBADMSG }, { 0x60, 0x41, -EBADMSG },
	    { 0x60, 0x48, -EBADMSG }, { 0x60, 0x30, -EBADMSG },
	    { 0x60, 0x00, -EBADMSG }, { 0x20, 0x40, -ENOTSUP },
	    { 0xa0, 0x40, -ENOTSUP }, { 0x61, 0x40, -ENOTSUP },
	    { 0x69, 0x40, -ENOTSUP }, { 0x68, 0x70, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes b = header(rows[i].flags, rows[i].bd, 0);

		append_le32(&b, 0);
		assert_refused(b, rows[i].want);
		b.p[b.n - 5] ^= 0x10;
		assert_refused(b, rows[i].want == -ENOTSUP &&
		    !(rows[i].flags & 1) ? -ENOTSUP : -EBADMSG);
		free(b.p);
	}
}

/* Makes a frame with one block, preceded by `word` as its length. */
static struct bytes
one_block(uint8_t flags, uint32_t word, const char *data, size_t n)
{
	struct bytes b = header(flags, 0x40, 0);

	append_le32(&b, word);
	append(&b, data, n);
	append_le32(&b, 0);
	return b;
}

static void
bad_blocks(void **state)
{
	struct bytes b, zeros = bytes_new(70000), want, rough, old;
	char packed[1000];
	int n;

	(void)state;
	memset(zeros.p, 0, zeros.n);
	/* literals, and a match at distance 1 */
	b = one_block(0x60, 11, "\x14" "a\1\0\x50" "bcdef", 11);
	b.n -= 5;
	append_le32(&b, 0);
	assert_refused(b, -EBADMSG);
	free(b.p);
	b = one_block(0x60, 10, "\x14" "a\1\0\x50" "bcdef", 10);
	want = bytes_of("aaaaaaaaabcdef", 14);
	assert_unpacks(b, want);
	free(b.p);
	/* reaching back before the frame: linked or not */
	for (uint8_t flags = 0x40; flags <= 0x60; flags += 0x20) {
		b = one_block(flags, 10, "\x14" "a\2\0\x50" "bcdef", 10);
		assert_refused(b, -EBADMSG);
		free(b.p);
	}
	/* larger than the frame's block size, as stored or as decoded */
	b = one_block(0x60, 0x80000000U | 65537, (char *)zeros.p, 65537);
	assert_refused(b, -EBADMSG);
	free(b.p);
	b = one_block(0x60, 0x80000000U | 65536, (char *)zeros.p, 65536);
	zeros.n = 65536;
	assert_unpacks(b, zeros);
	free(b.p);
	for (uint8_t flags = 0x40; flags <= 0x60; flags += 0x20) {
		n = LZ4_compress_default((char *)zeros.p, packed, 65537,
		    sizeof(packed));
		assert_true(n > 0);
		b = one_block(flags, (uint32_t)n, packed, (size_t)n);
		assert_refused(b, -EBADMSG);
		free(b.p);
	}
	/* decodes to a full block, but takes more space than if stored */
	rough = noise(65536);
	old = legacy(rough, rough.n);
	b = one_block(0x60, (uint32_t)old.n - 8, (char *)old.p + 8,
	    old.n - 8);
	assert_refused(b, -EBADMSG);
	free(b.p);
	free(old.p);
	free(rough.p);
	/* many empty blocks */
	want.n = 5 * MIB / 4;
	want.p = realloc(want.p, want.n);
	assert_non_null(want.p);
	for (size_t i = 0; i < want.n; i += 4)
		store_le32(want.p + i, 0x80000000U);
	b = header(0x40, 0x40, 0);
	append(&b, want.p, want.n);
	append_le32(&b, 0);
	zeros.n = 0;
	assert_unpacks(b, zeros);
	free(b.p);
	free(zeros.p);
	free(want.p);
}

static void
wrong_sizes(void **state)
{
	(void)state;
	for (uint8_t flags = 0x48; flags <= 0x68; flags += 0x20)
		for (uint64_t size = 0; size < 10; size++) {
			struct bytes b = header(flags, 0x40, size);

			append_le32(&b, 0x80000005U);
			append(&b, "hello", 5);
			append_le32(&b, 0);
			assert_refused(b, size == 0 || size == 5 ? 0 :
			    -EBADMSG);
			free(b.p);
		}
}

static void
garbage_behind(void **state)
{
	struct bytes in = sample(1000, 1), z = pack(in, 1, 0, 1, false);
	struct bytes old = legacy(in, 1000), b;
	int want;

	(void)state;
	for (size_t n = 1; n < 12; n++) {
		want = n < 4 ? -ENODATA : -EBADMSG;
		b = bytes_of(z.p, z.n);
		append(&b, "xxxxxxxxxxxx", n);
		assert_refused(b, want);
		memset(b.p + z.n, 0, n);
		assert_refused(b, want);
		free(b.p);
		b = bytes_of(old.p, old.n);
		append(&b, "xxxxxxxxxxxx", n);
		assert_refused(b, want);
		free(b.p);
	}
	b = bytes_of("garbage of some length", 22);
	assert_refused(b, -EBADMSG);
	free(b.p);
	free(in.p);
	free(z.p);
	free(old.p);
}

/* Makes a frame of each kind that contains `in`. */
static struct bytes
frame_kind(struct bytes in, int kind)
{
	LZ4F_preferences_t prefs = { .frameInfo = {
	    .blockSizeID = LZ4F_max64KB,
	    .blockMode = kind == 1 ? LZ4F_blockLinked :
	    LZ4F_blockIndependent, .contentSize = in.n,
	    .contentChecksumFlag = LZ4F_contentChecksumEnabled,
	    .blockChecksumFlag = kind == 1 ? LZ4F_noBlockChecksum :
	    LZ4F_blockChecksumEnabled } };

	return kind == 0 ? pack(in, 1, 0, 1, false) :
	    kind == 3 ? legacy(in, 300) : library_pack(in, &prefs, 300);
}

static void
cut_short(void **state)
{
	struct bytes in = sample(1500, 6), skip = skippable(3, 20);

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct bytes z = frame_kind(in, kind), out;
		size_t n = z.n, i;

		for (z.n = 1; z.n < n; z.n++) {
			int rc = unpack(z, 1 + z.n % 2, z.n % 3 == 0, &out);

			/* a legacy frame may end after any block */
			if (kind < 3 || rc != 0)
				assert_int_equal(rc, -ENODATA);
			assert_true(out.n <= in.n);
			assert_memory_equal(out.p, in.p, out.n);
			free(out.p);
		}
		z.n = n;
		append(&z, skip.p, skip.n);
		for (i = 1; i <= skip.n; i++) {
			z.n = n + i;
			/*
			 * truncated in skipped data: accepted, as lz4(1) does
			 */
			if (i < 8)
				assert_refused(z, -ENODATA);
			else
				assert_unpacks(z, in);
		}
		free(z.p);
	}
	free(in.p);
	free(skip.p);
}

static void
flipped_bits(void **state)
{
	struct bytes in = sample(1500, 6);

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		struct bytes z = frame_kind(in, kind), out;
		int rc;

		for (size_t i = 0; i < z.n * 8; i++) {
			z.p[i / 8] ^= (uint8_t)(1 << i % 8);
			rc = unpack(z, 1 + i % 2, false, &out);
			/* without block checks: an equal match elsewhere */
			if (rc == 0 && kind != 2)
				assert_same(out, in);
			else
				assert_true(rc < 0);
			free(out.p);
			z.p[i / 8] ^= (uint8_t)(1 << i % 8);
		}
		free(z.p);
	}
	free(in.p);
}

/* Truncates streams or flips a bit, with several pieces in flight. */
static void
large_and_wrong(void **state)
{
	struct bytes in = sample(17 * MIB, 11);

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		LZ4F_preferences_t prefs = { .frameInfo = {
		    .blockSizeID = LZ4F_max256KB,
		    .blockMode = kind == 1 ? LZ4F_blockLinked :
		    LZ4F_blockIndependent,
		    .contentChecksumFlag = LZ4F_contentChecksumEnabled } };
		struct bytes z = kind == 0 ? pack(in, 1, 0, 2, false) :
		    kind == 3 ? legacy(in, 8 * MIB) :
		    library_pack(in, &prefs, 0);
		struct bytes out;
		size_t n = z.n;

		for (unsigned i = 1; i < 20; i += 4) {
			z.n = n / 20 * i;
			assert_int_equal(unpack(z, 1 + i % 3, i % 2, &out),
			    -ENODATA);
			assert_true(out.n < in.n);
			assert_memory_equal(out.p, in.p, out.n);
			/* nearly everything has been decoded */
			assert_true(out.n + 9 * MIB > in.n / 20 * i);
			free(out.p);
			z.n = n;
			z.p[n / 20 * i] ^= 4;
			assert_true(kind == 3 ||
			    unpack(z, 1 + i % 3, i % 2, &out) < 0);
			if (kind != 3)
				free(out.p);
			z.p[n / 20 * i] ^= 4;
		}
		free(z.p);
	}
	free(in.p);
}

static void
magic_numbers(void **state)
{
	struct bytes skip = skippable(0, 8);

	(void)state;
	assert_true(codec_lz4.magic((const uint8_t *)"\x04\x22\x4d\x18", 4));
	assert_true(codec_lz4.magic((const uint8_t *)"\x02\x21\x4c\x18", 4));
	assert_false(codec_lz4.magic((const uint8_t *)"\x04\x22\x4d\x18", 3));
	assert_false(codec_lz4.magic((const uint8_t *)"\x28\xb5\x2f\xfd", 4));
	assert_true(codec_lz4.magic(skip.p, skip.n));
	append(&skip, "\x28\xb5\x2f\xfd", 4);
	assert_false(codec_lz4.magic(skip.p, skip.n));
	memcpy(skip.p + skip.n - 4, "\x04\x22\x4d\x18", 4);
	assert_true(codec_lz4.magic(skip.p, skip.n));
	free(skip.p);
}

/* lz4(1) */

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mixed_frames),
		cmocka_unit_test(legacy_frames),
		cmocka_unit_test(bad_headers),
		cmocka_unit_test(bad_blocks),
		cmocka_unit_test(wrong_sizes),
		cmocka_unit_test(garbage_behind),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(flipped_bits),
		cmocka_unit_test(large_and_wrong),
		cmocka_unit_test(magic_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
