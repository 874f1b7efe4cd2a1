/*
 * hex.c - reading and writing bytes as hexadecimal text
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/hex.h"

#include <errno.h>
#include <string.h>

void
hex_write(char *text, const uint8_t *data, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*text++ = digits[data[i] >> 4];
		*text++ = digits[data[i] & 15];
	}
	*text = '\0';
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' ^ 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
hex_read(uint8_t *data, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++) {
		int high = digit(*text), low;

		low = high < 0 ? -1 : digit(text[1]);
		if (low < 0)
			return -EINVAL;
		data[i] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return *text == '\0' ? 0 : -EINVAL;
}

static const char prefix[] = "sha256:";

void
hex_write_sha256(char text[HEX_SHA256], const uint8_t digest[32])
{
	strcpy(text, prefix);
	hex_write(text + strlen(prefix), digest, 32);
}

int
hex_read_sha256(uint8_t digest[32], const char *text)
{
	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return -EINVAL;
	return hex_read(digest, 32, text + strlen(prefix));
}
