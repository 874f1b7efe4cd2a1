/*
 * quote.c - quoting text for CSV and JSON
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/quote.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void
quote_bytes(struct strbuf *b, const char *text, char quote)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *s = (const unsigned char *)text;
	char esc[8];

	while (*s != '\0') {
		size_t n = 0;
		bool escape;

		/* ASCII that needs no escape */
		while (s[n] >= ' ' && s[n] < 0x7f && s[n] != '\\' &&
		    s[n] != (unsigned char)quote)
			n++;
		if (n == 0)
			n = utf8_length((const char *)s);
		/* what is written for an invalid byte */
		escape = s[0] == '\\' && s[1] == 'x' &&
		    s[2] != '\0' && strchr(hex, s[2]) != NULL &&
		    s[3] != '\0' && strchr(hex, s[3]) != NULL;
		if (n == 0 || escape) {
			snprintf(esc, sizeof(esc), "\\x%02x", *s);
			strbuf_add(b, esc, 4);
			s++;
			continue;
		}
		if (*s == (unsigned char)quote)
			strbuf_char(b, quote);
		strbuf_add(b, (const char *)s, n);
		s += n;
	}
}

void
quote_csv(struct strbuf *b, const char *s)
{
	if (strpbrk(s, ",\"\r\n#") == NULL) {
		quote_bytes(b, s, '\0');
		return;
	}
	strbuf_char(b, '"');
	quote_bytes(b, s, '"');
	strbuf_char(b, '"');
}

void
quote_json(struct strbuf *b, const char *text)
{
	const char *s = text;
	char esc[8];

	strbuf_char(b, '"');
	while (*s != '\0') {
		size_t n = utf8_length(s);
		unsigned char c = (unsigned char)s[n == 2];

		if (n == 0)
			snprintf(esc, sizeof(esc), "\\udc%02x", c);
		else if (*s == '"' || *s == '\\')
			snprintf(esc, sizeof(esc), "\\%c", *s);
		else if (utf8_is_control(s))
			snprintf(esc, sizeof(esc), "\\u%04x", c);
		else
			*esc = '\0';
		*esc != '\0' ? strbuf_str(b, esc) : strbuf_add(b, s, n);
		s += n == 0 ? 1 : n;
	}
	strbuf_char(b, '"');
}
