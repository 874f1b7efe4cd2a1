/*
 * listing.c - code shared by archive and image listings
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/listing.h"

#include "base/utf8.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

void
listing_mode(char text[LISTING_MODE_B], mode_t mode)
{
	static const char types[] = "?pc?d?b?-?l?s???";	/* by S_IFMT */
	static const char bits[] = "rwxrwxrwx", special[] = "sst";

	text[0] = types[(mode & S_IFMT) >> 12];
	for (int i = 0; i < 9; i++)
		text[1 + i] = (mode & 0400 >> i) != 0 ? bits[i] : '-';
	for (int i = 0; i < 3; i++) {
		char *c = &text[3 + 3 * i];

		if ((mode & 04000 >> i) != 0)
			*c = *c == 'x' ? special[i] :
			    (char)(special[i] - 'a' + 'A');
	}
	text[10] = '\0';
}

/*
 * Copies the text in pieces, because utf8_safe() requires a NUL-terminated
 * string.
 */
void
listing_print(FILE *f, const char *text, size_t len)
{
	char copy[512], out[UTF8_SAFE];

	while (len > 0) {
		size_t n = len < sizeof(copy) - 1 ? len : sizeof(copy) - 1;
		const char *at = copy;

		/* do not split a character */
		while (n < len && n > sizeof(copy) - 5 &&
		    ((uint8_t)text[n] & 0xc0) == 0x80)
			n--;
		memcpy(copy, text, n);
		copy[n] = '\0';
		while (*at != '\0') {
			if (*at == '\\')
				fputc('\\', f);
			fwrite(out, 1, utf8_safe(&at, out), f);
		}
		text += n;
		len -= n;
	}
}
