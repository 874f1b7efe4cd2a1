/*
 * encode.c - base64, quoted-printable and charsets
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/mail.h"

#include "base/bytes.h"

#include <string.h>

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char hex[] = "0123456789ABCDEF";

enum { QP_WIDTH = 76 };

void
encode_line(char out[ENCODE_LINE], const uint8_t raw[ENCODE_RAW])
{
	for (int i = 0; i < ENCODE_RAW / 3; i++) {
		uint32_t v = (uint32_t)raw[3 * i] << 16 |
		    (uint32_t)raw[3 * i + 1] << 8 | raw[3 * i + 2];

		for (int j = 0; j < 4; j++)
			out[4 * i + j] = digits[v >> (18 - 6 * j) & 63];
	}
	out[ENCODE_LINE - 1] = '\n';
}

void
encode_noise(struct strbuf *b, struct prng *p, size_t len)
{
	uint8_t raw[64];
	char line[ENCODE_LINE];

	while (len > 1 && !b->failed) {
		size_t n = len < ENCODE_LINE ? len : ENCODE_LINE;

		for (int i = 0; i < 8; i++)
			store_le64(raw + 8 * i, prng_next(p));
		encode_line(line, raw);
		line[n - 1] = '\n';
		strbuf_add(b, line, n);
		len -= n;
	}
}

void
encode_token(struct strbuf *b, struct prng *p, unsigned n)
{
	char *at = strbuf_room(b, n);

	if (at == NULL)
		return;
	for (unsigned i = 0; i < n; i++)
		at[i] = digits[prng_next(p) >> 58];
	b->len += n;
}

static bool
is_utf8(enum encoding e)
{
	return e == ENCODE_UTF8 || e == ENCODE_UTF8_QP;
}

/* Converts one Latin-1 character to its bytes before quoting. */
static unsigned
in_charset(uint8_t c, enum encoding e, uint8_t out[2])
{
	if (c < 0x80 || !is_utf8(e)) {
		out[0] = c;
		return 1;
	}
	out[0] = (uint8_t)(0xc0 | c >> 6);
	out[1] = (uint8_t)(0x80 | (c & 0x3f));
	return 2;
}

/* Splits lines into lines of at most QP_WIDTH. */
static void
quote_lines(struct strbuf *b, const char *text, size_t len, enum encoding e)
{
	unsigned column = 0;

	for (size_t i = 0; i < len; i++) {
		bool ends = i + 1 == len || text[i + 1] == '\n', quote;
		unsigned n, width;
		uint8_t c[2];

		if (text[i] == '\n') {
			strbuf_char(b, '\n');
			column = 0;
			continue;
		}
		n = in_charset((uint8_t)text[i], e, c);
		quote = c[0] >= 0x80 || c[0] == '=' || (c[0] == ' ' && ends);
		width = quote ? 3 * n : 1;
		if (column + width >= QP_WIDTH) {
			strbuf_str(b, "=\n");
			column = 0;
		}
		for (unsigned j = 0; j < n; j++)
			if (quote)
				strbuf_add(b, (char[]){ '=', hex[c[j] >> 4],
				    hex[c[j] & 15] }, 3);
			else
				strbuf_char(b, (char)c[j]);
		column += width;
	}
}

void
encode_text(struct strbuf *b, const char *text, size_t len, enum encoding to)
{
	switch (to) {
	case ENCODE_LATIN1_QP: case ENCODE_UTF8_QP:
		quote_lines(b, text, len, to);
		break;
	case ENCODE_UTF8:
		for (size_t i = 0; i < len; i++) {
			uint8_t c[2];

			strbuf_add(b, c, in_charset((uint8_t)text[i], to, c));
		}
		break;
	default:
		strbuf_add(b, text, len);
	}
}

void
encode_header(struct strbuf *b, const char *subtype, enum encoding e)
{
	static const char *const charsets[ENCODE_COUNT] = { "us-ascii",
	    "iso-8859-1", "utf-8", "iso-8859-1", "utf-8" };
	static const char *const transfer[ENCODE_COUNT] = { "7bit", "8bit",
	    "8bit", "quoted-printable", "quoted-printable" };

	strbuf_fmt(b, "Content-Type: text/%s; charset=%s\n"
	    "Content-Transfer-Encoding: %s\n", subtype, charsets[e],
	    transfer[e]);
}

void
encode_phrase(struct strbuf *b, const char *phrase, enum encoding e)
{
	bool plain = true;

	for (const char *s = phrase; *s != '\0'; s++)
		plain = plain && (uint8_t)*s < 0x80;
	if (plain) {
		strbuf_str(b, phrase);
		return;
	}
	strbuf_str(b, is_utf8(e) ? "=?utf-8?q?" : "=?iso-8859-1?q?");
	for (const char *s = phrase; *s != '\0'; s++) {
		uint8_t c[2];
		unsigned n = in_charset((uint8_t)*s, e, c);

		if (*s == ' ')
			strbuf_char(b, '_');
		else if (c[0] < 0x80)
			strbuf_char(b, *s);
		else for (unsigned j = 0; j < n; j++)
			strbuf_fmt(b, "=%02X", c[j]);
	}
	strbuf_str(b, "?=");
}
