/*
 * test_lz4_frames.c - LZ4 frames built by hand
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lz4_made.h"

#include "base/bytes.h"

#include <errno.h>
#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <cmocka.h>

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mixed_frames),
		cmocka_unit_test(legacy_frames),
		cmocka_unit_test(bad_headers),
		cmocka_unit_test(bad_blocks),
		cmocka_unit_test(wrong_sizes),
		cmocka_unit_test(magic_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
