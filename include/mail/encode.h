/*
 * encode.h - base64, quoted-printable and charsets
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: RFC 2045 (encodings), RFC 2047 (encoded words), RFC 3629 (UTF-8).
 * Thread-safe.
 */
#ifndef COLDPRESS_ENCODE_H
#define COLDPRESS_ENCODE_H

#include "base/strbuf.h"
#include "mail/prng.h"

#include <stdint.h>

enum encoding {
	ENCODE_ASCII, ENCODE_LATIN1, ENCODE_UTF8, ENCODE_LATIN1_QP,
	ENCODE_UTF8_QP, ENCODE_COUNT
};

enum { ENCODE_RAW = 57, ENCODE_LINE = 77 };	/* bytes per line of base64 */

/* Encodes ENCODE_RAW bytes as ENCODE_LINE bytes, including the newline. */
void encode_line(char out[ENCODE_LINE], const uint8_t raw[ENCODE_RAW]);

/* Appends len bytes of base64 lines that encode random bytes. */
void encode_noise(struct strbuf *b, struct prng *p, size_t len);

/* Appends n random base64 characters in one line. */
void encode_token(struct strbuf *b, struct prng *p, unsigned n);

/* Encodes text, which is Latin-1 or, if the encoding is ASCII, pure ASCII. */
void encode_text(struct strbuf *b, const char *text, size_t len,
    enum encoding to);

/*
 * Appends Content-Type and Content-Transfer-Encoding headers for text/subtype.
 */
void encode_header(struct strbuf *b, const char *subtype, enum encoding e);

/* Appends a phrase of a header field, as an encoded word if necessary. */
void encode_phrase(struct strbuf *b, const char *phrase, enum encoding e);

#endif
