/*
 * quote.c - quoting text for CSV and JSON
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/quote.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * Returns whether s begins with an escape that quote_bytes() writes for an
 * invalid byte.
 */
static bool
is_escape(const unsigned char *s)
{
	return s[0] == '\\' && s[1] == 'x' && strchr("0123456789abcdef",
	    s[2] == '\0' ? 'x' : s[2]) != NULL &&
	    strchr("0123456789abcdef", s[3] == '\0' ? 'x' : s[3]) != NULL;
}

/* Returns the length of the prefix of s that is ASCII and needs no escape. */
static size_t
plain_len(const unsigned char *s, char quote)
{
	size_t n = 0;

	while (s[n] >= ' ' && s[n] < 0x7f && s[n] != '\\' &&
	    s[n] != (unsigned char)quote)
		n++;
	return n;
}

void
quote_bytes(struct strbuf *b, const char *text, char quote)
{
	const unsigned char *s = (const unsigned char *)text;
	char esc[8];

	while (*s != '\0') {
		size_t n = plain_len(s, quote);

		if (n == 0)
			n = utf8_length((const char *)s);
		if (n == 0 || is_escape(s)) {
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
