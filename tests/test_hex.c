/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hex.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* Every byte, as printf(3) writes it, in either case. */
static void
every_byte(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		char lower[3], upper[3], text[3];
		uint8_t byte = (uint8_t)i, read;

		snprintf(lower, sizeof(lower), "%02x", i);
		snprintf(upper, sizeof(upper), "%02X", i);
		hex_write(text, &byte, 1);
		assert_string_equal(text, lower);
		assert_int_equal(hex_read(&read, 1, lower), 0);
		assert_int_equal(read, i);
		assert_int_equal(hex_read(&read, 1, upper), 0);
		assert_int_equal(read, i);
	}
}

/* Any other character, in each place, and any other length */
static void
others(void **state)
{
	uint8_t data[2];
	char text[6];

	(void)state;
	for (int c = 1; c < 256; c++) {
		if (strchr("0123456789abcdefABCDEF", c) != NULL)
			continue;
		for (size_t at = 0; at < 4; at++) {
			strcpy(text, "0a1f");
			text[at] = (char)c;
			assert_int_equal(hex_read(data, 2, text), -EINVAL);
		}
	}
	for (size_t n = 0; n < 6; n++) {
		memset(text, '0', n);
		text[n < 5 ? n : 5] = '\0';
		assert_int_equal(hex_read(data, 2, text), n == 4 ? 0 : -EINVAL);
	}
}

static void
digests(void **state)
{
	char text[HEX_SHA256], bad[HEX_SHA256 + 1];
	uint8_t digest[32], read[32];

	(void)state;
	for (size_t i = 0; i < sizeof(digest); i++)
		digest[i] = (uint8_t)(i * 11);
	hex_write_sha256(text, digest);
	assert_int_equal(strlen(text), HEX_SHA256 - 1);
	assert_int_equal(hex_read_sha256(read, text), 0);
	assert_memory_equal(read, digest, sizeof(digest));
	for (size_t i = 0; i < HEX_SHA256 - 1; i++) {
		strcpy(bad, text);
		bad[i] = 'x';
		assert_int_equal(hex_read_sha256(read, bad), -EINVAL);
		bad[i] = '\0';
		assert_int_equal(hex_read_sha256(read, bad), -EINVAL);
	}
	snprintf(bad, sizeof(bad), "%s0", text);
	assert_int_equal(hex_read_sha256(read, bad), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte),
		cmocka_unit_test(others),
		cmocka_unit_test(digests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
