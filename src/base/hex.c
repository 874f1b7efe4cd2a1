/*
 * hex.c - bytes as text: hexadecimal, and base64 without line breaks
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

size_t
base64_len(size_t n)
{
	return (n + 2) / 3 * 4;
}

void
base64_write(char *text, const void *data, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = data, *end = p + n;

	for (; end - p >= 3; p += 3) {
		*text++ = digits[p[0] >> 2];
		*text++ = digits[(p[0] & 3) << 4 | p[1] >> 4];
		*text++ = digits[(p[1] & 15) << 2 | p[2] >> 6];
		*text++ = digits[p[2] & 63];
	}
	if (p < end) {
		unsigned second = end - p == 2 ? p[1] : 0;

		*text++ = digits[p[0] >> 2];
		*text++ = digits[(p[0] & 3) << 4 | second >> 4];
		*text++ = end - p == 2 ? digits[(second & 15) << 2] : '=';
		*text++ = '=';
	}
	*text = '\0';
}

static int
base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

ssize_t
base64_read(void *data, const char *text, size_t len)
{
	uint8_t *to = data;
	size_t padding = 0;

	if (len % 4 != 0)
		return -EINVAL;
	while (padding < 2 && len > 0 && text[len - 1 - padding] == '=')
		padding++;
	for (const char *end = text + len; text < end; text += 4) {
		/* n (2 to 4) characters, which are n - 1 bytes, and padding */
		size_t n = text + 4 < end ? 4 : 4 - padding;
		uint32_t bits = 0;

		for (size_t i = 0; i < 4; i++) {
			int value = i < n ? base64_digit(text[i]) : 0;

			if (value < 0)
				return -EINVAL;
			bits = bits << 6 | (uint32_t)value;
		}
		for (size_t i = 0; i + 1 < n; i++)
			*to++ = (uint8_t)(bits >> (16 - 8 * i));
	}
	return to - (uint8_t *)data;
}
