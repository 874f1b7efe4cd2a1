/*
 * utf8.c - decoding and displaying untrusted text
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t
utf8_length(const char *text)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 :
	    s[0] >> 3 == 30 ? 4 : 0;
	uint32_t c = n < 2 ? s[0] : s[0] & (0xffU >> (n + 1));

	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 63);
	}
	if (n > 1 && (c < least[n] || c > 0x10ffff || c >> 11 == 27))
		return 0;
	return n;
}

bool
utf8_is_control(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	return s[0] < ' ' || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

static void
put_octal(char c, char out[4])
{
	unsigned char byte = (unsigned char)c;

	out[0] = '\\';
	out[1] = (char)('0' + (byte >> 6));
	out[2] = (char)('0' + (byte >> 3 & 7));
	out[3] = (char)('0' + (byte & 7));
}

size_t
utf8_safe(const char **text, char out[UTF8_SAFE])
{
	const char *s = *text;
	unsigned char c = (unsigned char)*s;
	size_t n = utf8_length(s);
	bool alone = n == 0;

	n = alone ? 1 : n;
	*text += n;
	if (alone ? c >= 0xa0 : !utf8_is_control(s)) {
		memcpy(out, s, n);
		return n;
	}
	/* C0 controls and DEL are one byte long, C1 controls two. */
	put_octal(s[0], out);
	if (n == 1)
		return 4;
	put_octal(s[1], out + 4);
	return 8;
}
