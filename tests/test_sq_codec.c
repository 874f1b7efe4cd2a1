/*
 * test_sq_codec.c - blocks of an image, unpacked whole, cut and damaged
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../src/image/squashfs/read/squashfs.h"
#include "image/squashfs/write/codec.h"

#include <errno.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { PLAIN = 8192, ROOM = PLAIN + 1024, GUARD = 0x5a };

static uint8_t plain[PLAIN], packed[ROOM], copy[ROOM], out[ROOM];

/* Text, noise and zeros. */
static void
make_plain(void)
{
	uint32_t x = 1;

	for (size_t i = 0; i < PLAIN; i++) {
		x = x * 1664525 + 1013904223;
		plain[i] = (uint8_t)(i >> 8 & 1 ? 0 : i >> 10 & 1 ? x >> 24 :
		    (uint32_t)"a wordier text"[(x >> 24) % 14]);
	}
}

/* The old lzma, which only readers know. */
static size_t
pack_lzma(void)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_options_lzma o;

	assert_false(lzma_lzma_preset(&o, 1));
	assert_int_equal(lzma_alone_encoder(&s, &o), LZMA_OK);
	s.next_in = plain;
	s.avail_in = PLAIN;
	s.next_out = packed;
	s.avail_out = sizeof(packed);
	assert_int_equal(lzma_code(&s, LZMA_FINISH), LZMA_STREAM_END);
	lzma_end(&s);
	return sizeof(packed) - s.avail_out;
}

/* Unpacks from a buffer of just that size; nothing else is written to. */
static int64_t
unpack(struct sq_codec *c, size_t len, size_t cap)
{
	int64_t n;

	memset(out, GUARD, sizeof(out));
	n = sq_codec_unpack(c, copy, len, out, cap);
	if (n < 0)
		assert_int_equal(n, -EBADMSG);
	else
		assert_in_range(n, 0, cap);
	for (size_t i = cap; i < sizeof(out); i++)
		assert_int_equal(out[i], GUARD);
	return n;
}

static void
try_block(int compressor, size_t len, bool checked, bool ended)
{
	struct sq_codec *c;
	int64_t n;

	assert_in_range(len, 100, PLAIN - 1);
	assert_int_equal(sq_codec_open(&c, compressor), 0);
	memcpy(copy, packed, len);
	assert_int_equal(unpack(c, len, PLAIN), PLAIN);
	assert_memory_equal(out, plain, PLAIN);
	/* there may be more room */
	assert_int_equal(unpack(c, len, PLAIN + 500), PLAIN);
	assert_memory_equal(out, plain, PLAIN);
	for (size_t cap = 0; cap < PLAIN; cap += 1 + cap / 9)
		assert_int_equal(unpack(c, len, cap), -EBADMSG);
	for (size_t cut = 1; cut < len; cut += 1 + cut / 50) {
		n = unpack(c, cut, PLAIN);
		if (n >= (ended ? 0 : PLAIN))
			fail_msg("%zu of %zu bytes: %lld", cut, len,
			    (long long)n);
		if (n > 0)
			assert_memory_equal(out, plain, (size_t)n);
	}
	for (size_t at = 0; at < len; at += 1 + at / 60)
		for (unsigned bit = 0; bit < 8; bit++) {
			copy[at] ^= (uint8_t)(1U << bit);
			n = unpack(c, len, PLAIN);
			if (checked && n >= 0 && (n != PLAIN ||
			    memcmp(out, plain, PLAIN) != 0))
				fail_msg("byte %zu: other bytes", at);
			copy[at] = packed[at];
		}
	assert_int_equal(unpack(c, len, PLAIN), PLAIN);
	assert_memory_equal(out, plain, PLAIN);
	sq_codec_close(c);
}

static void
blocks(void **state)
{
	static const struct {
		const char *name;
		bool checked;		/* it has a checksum */
		bool ended;		/* it has an end */
	} rows[] = {
		{ "gzip", true, true }, { "zstd", false, true },
		{ "lz4", false, false }, { "lz4hc", false, false },
		{ "xz", true, true }, { "lzo", false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct sqw_method *m = sqw_method_by_name(rows[i].name);
		struct sqw_codec *c;
		size_t len;

		if (m == NULL)
			continue;
		assert_int_equal(sqw_codec_open(&c, m, m->level_default, PLAIN,
		    0, SQW_OURS), 0);
		len = sqw_codec_pack(c, plain, PLAIN, packed, sizeof(packed));
		/* what does not fit is not packed */
		for (size_t cap = 0; cap < len; cap += 1 + cap / 4)
			assert_int_equal(sqw_codec_pack(c, plain, PLAIN, out,
			    cap), 0);
		sqw_codec_close(c);
		try_block(m->compressor, len, rows[i].checked, rows[i].ended);
	}
	try_block(SQUASHFS_LZMA, pack_lzma(), false, true);
}

static void
unknown(void **state)
{
	struct sq_codec *c;

	(void)state;
	assert_int_equal(sq_codec_open(&c, 0), -ENOTSUP);
	assert_int_equal(sq_codec_open(&c, SQUASHFS_ZSTD + 1), -ENOTSUP);
	assert_int_equal(sq_codec_open(&c, -1), -ENOTSUP);
}

/* Compressor options: what is read is what would be written, or refused. */

static int
read_settings(const struct sqw_method *of, const uint8_t *s, size_t len,
    uint32_t block, uint32_t *dictionary, unsigned *strategies)
{
	uint8_t again[SQW_SETTINGS_MAX], padded[SQW_SETTINGS_MAX];
	const struct sqw_method *m;
	int level, rc;

	/* what follows them is not theirs */
	memset(padded, 0xff, sizeof(padded));
	memcpy(padded, s, len);
	rc = sqw_settings_read_more(of->compressor, padded, len, block, &m,
	    &level, dictionary, strategies);
	if (rc != 0) {
		assert_int_equal(rc, -ENOTSUP);
		return rc;
	}
	assert_true(*strategies < 1U << SQW_STRATEGIES);
	assert_int_equal(m->compressor, of->compressor);
	assert_int_equal(sqw_settings_more(m, level, block, *dictionary,
	    *strategies, again), len);
	assert_memory_equal(again, s, len);
	return 0;
}

static void
try_settings(const struct sqw_method *m, int level, uint32_t block,
    uint32_t dictionary, unsigned strategies)
{
	uint8_t s[SQW_SETTINGS_MAX];
	size_t n = sqw_settings_more(m, level, block, dictionary, strategies,
	    s);
	uint32_t read;
	unsigned what;

	if (read_settings(m, s, n, block, &read, &what) != 0 ||
	    read != (dictionary == block ? 0 : dictionary) ||
	    what != strategies)
		fail_msg("%s, %d, %u, %u: read as %u, %u", m->name, level,
		    dictionary, strategies, read, what);
	for (size_t i = 0; i < n; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			s[i] ^= (uint8_t)(1 << bit);
			(void)read_settings(m, s, n, block, &read,
			    &what);
			s[i] ^= (uint8_t)(1 << bit);
		}
}

static void
settings(void **state)
{
	static const uint32_t blocks[] = { 4096, 1 << 17, 1 << 20 };
	static const uint32_t refused[] = { 1, 2048, 4095, 5 * 4096,
		(1 << 17) + 1, 3 << 16, 1 << 18 };
	char names[100], *name, *rest = names;
	const struct sqw_method *xz = sqw_method_by_name("xz");
	uint8_t s[SQW_SETTINGS_MAX];
	uint32_t read;
	unsigned what;

	(void)state;
	snprintf(names, sizeof(names), "%s", sqw_method_names());
	while ((name = strsep(&rest, " ")) != NULL) {
		const struct sqw_method *m = sqw_method_by_name(name);

		assert_non_null(m);
		assert_string_equal(m->name, name);
		if (strcmp(name, "lz4hc") == 0)
			assert_true(sqw_settings(m, 0, 4096, s) == 8 &&
			    s[4] == 1);
		if (strcmp(name, "lz4") == 0)
			assert_true(sqw_settings(m, 0, 4096, s) == 8 &&
			    s[4] == 0);
		for (int i = 0; i < 3; i++)
			for (int l = m->level_min; l <= m->level_max; l++) {
				uint32_t b = blocks[i];

				try_settings(m, l, b, 0, 0);
				for (uint32_t d = 4096; m->filters && d <= b;
				    d *= 2) {
					try_settings(m, l, b, d, 0);
					if (3 * d <= b)
						try_settings(m, l, b, 3 * d,
						    0);
				}
				for (unsigned t = 1; strcmp(name, "gzip") == 0
				    && t < 1U << SQW_STRATEGIES; t++)
					try_settings(m, l, b, 0, t);
			}
	}
	assert_null(sqw_method_by_name("zip"));
	/* gensquashfs gives smaller blocks more */
	try_settings(xz, 0, 4096, 8192, 0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		size_t n = sqw_settings_more(xz, 0, 1 << 17, refused[i], 0, s);

		assert_int_equal(read_settings(xz, s, n, 1 << 17,
		    &read, &what), -ENOTSUP);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks),
		cmocka_unit_test(unknown),
		cmocka_unit_test(settings),
	};

	make_plain();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
