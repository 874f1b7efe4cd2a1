/*
 * test_codec.c - the settings that a format has of its own, and what they do
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/codec.h"
#include "format/convert.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static void
set_and_replaced(void **state)
{
	struct codec_options o = { .level = 1 };

	(void)state;
	assert_int_equal(codec_number(&o, "window-log"), 0);
	assert_null(codec_text(&o, "check"));
	assert_int_equal(codec_set(&o, "window-log", 25, NULL), 0);
	assert_int_equal(codec_set(&o, "check", 0, "crc32"), 0);
	assert_int_equal(codec_set(&o, "window-log", 27, NULL), 0);
	assert_int_equal(codec_number(&o, "window-log"), 27);
	assert_string_equal(codec_text(&o, "check"), "crc32");
	assert_null(o.settings[2].key);
}

static void
unknown_key(void **state)
{
	struct codec_options o = { .level = 1 };

	(void)state;
	assert_int_equal(codec_set(&o, "windowlog", 25, NULL), -EINVAL);
	assert_int_equal(codec_set(&o, "", 25, NULL), -EINVAL);
	assert_null(o.settings[0].key);
}

/* There is room for all settings of all formats at once, and no more. */
static void
room(void **state)
{
	struct codec_options o = { .level = 1 };

	(void)state;
	for (size_t i = 0; codecs[i] != NULL; i++)
		for (const char *const *k = codecs[i]->settings;
		    k != NULL && *k != NULL; k++)
			assert_int_equal(codec_set(&o, *k, i + 1, *k), 0);
	for (size_t i = 0; codecs[i] != NULL; i++)
		for (const char *const *k = codecs[i]->settings;
		    k != NULL && *k != NULL; k++)
			assert_string_equal(codec_text(&o, *k), *k);
	for (int i = 0; i < CODEC_SETTINGS_MAX; i++)
		o.settings[i].key = "other";
	assert_int_equal(codec_set(&o, "check", 0, "crc32"), -ENOSPC);
	assert_null(codec_text(&o, "check"));
}

enum { PLAIN = 100000, ROOM = 200000 };

struct bytes {
	size_t len;
	uint8_t p[ROOM];
};

static struct bytes plain, packed, got;

static int
take(void *arg, const uint8_t *data, size_t len)
{
	struct bytes *to = arg;

	if (len > ROOM - to->len)
		return -EFBIG;
	memcpy(to->p + to->len, data, len);
	to->len += len;
	return 0;
}

/* Converts with these options and, unless key is NULL, a setting. */
static int
convert(const char *name, bool decompress, const char *key, uint64_t number,
    const char *text, const struct bytes *from, struct bytes *to)
{
	struct convert c = { .codec = codec_by_name(name),
	    .decompress = decompress, .options = { .level = 1, .threads = 1,
	    .flush_ms = -1, .window_max = 1 << 20 }, .write = take,
	    .write_arg = to };
	int fd = memfd_create("codec", MFD_CLOEXEC), rc;
	struct convert_result r;
	struct input in;

	to->len = 0;
	if (key != NULL)
		assert_int_equal(codec_set(&c.options, key, number, text), 0);
	assert_int_equal(write(fd, from->p, from->len), (ssize_t)from->len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(input_open(&in, fd), 0);
	rc = convert_run(&c, &in, -1, &r);
	input_close(&in);
	close(fd);
	return rc;
}

/* The descriptor behind the data: a signature, which may be missing, a CRC. */
static void
zip_descriptor(void **state)
{
	size_t at;

	(void)state;
	plain.len = 1000;
	assert_int_equal(convert("zip", false, NULL, 0, NULL, &plain, &packed),
	    0);
	at = packed.len - 22;
	while (at > 0 && memcmp(packed.p + at, "PK\7\10", 4) != 0)
		at--;
	assert_true(at > 0);
	assert_int_equal(convert("zip", true, NULL, 0, NULL, &packed, &got), 0);
	for (size_t bit = 8 * at; bit < 8 * (at + 8); bit++) {
		packed.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(convert("zip", true, NULL, 0, NULL, &packed,
		    &got), -EBADMSG);
		packed.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	memmove(packed.p + at, packed.p + at + 4, packed.len - at - 4);
	assert_int_equal(convert("zip", true, NULL, 0, NULL, &packed, &got), 0);
}

/* What is not to be verified is not, but the window has its limit. */
static void
zstd_without_check(void **state)
{
	(void)state;
	plain.len = PLAIN;
	assert_int_equal(convert("zstd", false, NULL, 0, NULL, &plain,
	    &packed), 0);
	packed.p[packed.len - 1] ^= 1;
	assert_int_equal(convert("zstd", true, NULL, 0, NULL, &packed, &got),
	    -EBADMSG);
	assert_int_equal(convert("zstd", true, "no-check", 1, NULL, &packed,
	    &got), 0);
	assert_int_equal(got.len, PLAIN);
	assert_int_equal(convert("zstd", false, "window-log", 23, NULL, &plain,
	    &packed), 0);
	assert_int_equal(convert("zstd", true, "no-check", 1, NULL, &packed,
	    &got), -EFBIG);
}

/* Legacy blocks end with the file, but not within a length. */
static void
lz4_legacy(void **state)
{
	(void)state;
	plain.len = 1000;
	assert_int_equal(convert("lz4", false, "legacy", 1, NULL, &plain,
	    &packed), 0);
	for (size_t more = 0; more < 4; more++) {
		assert_int_equal(convert("lz4", true, NULL, 0, NULL, &packed,
		    &got), more == 0 ? 0 : -ENODATA);
		packed.p[packed.len++] = 1;
	}
}

/* The largest block that there is, and one byte more */
static void
lz4_largest(void **state)
{
	struct codec_options o = { .level = 1, .threads = 1,
	    .block = 4 << 20 };
	const struct codec *lz4 = codec_by_name("lz4");
	struct memory_plan p;
	const char *why;

	(void)state;
	assert_int_equal(lz4->encode->plan(&o, &p, &why), 0);
	o.block++;
	assert_int_equal(lz4->encode->plan(&o, &p, &why), -ENOTSUP);
}

/* Both bytes of the magic number count, even if the format is given. */
static void
compress_magic(void **state)
{
	static const uint8_t z[] = { 0x1f, 0x9d, 0x90, 'a', 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		memcpy(packed.p, z, sizeof(z));
		packed.len = sizeof(z);
		packed.p[i] ^= i < 2;
		assert_int_equal(convert("compress", true, NULL, 0, NULL,
		    &packed, &got), i < 2 ? -EBADMSG : 0);
	}
	assert_int_equal(got.len, 1);
}

/* A chain that cannot be one is refused when the memory is planned. */
static void
lzma_filters(void **state)
{
	(void)state;
	plain.len = 1000;
	assert_int_equal(convert("lzma", false, "filters", 0,
	    "delta:dist=1 lzma2", &plain, &packed), -ENOTSUP);
	assert_int_equal(convert("lzma", false, "filters", 0, "nonsense",
	    &plain, &packed), -ENOTSUP);
	assert_int_equal(convert("lzma", false, "filters", 0, "lzma1:preset=0",
	    &plain, &packed), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_and_replaced),
		cmocka_unit_test(unknown_key),
		cmocka_unit_test(room),
		cmocka_unit_test(zip_descriptor),
		cmocka_unit_test(zstd_without_check),
		cmocka_unit_test(lz4_legacy),
		cmocka_unit_test(lz4_largest),
		cmocka_unit_test(compress_magic),
		cmocka_unit_test(lzma_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
