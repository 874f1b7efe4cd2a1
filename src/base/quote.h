/*
 * quote.h - text as CSV and JSON write it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_QUOTE_H
#define COLDPRESS_QUOTE_H

#include "base/strbuf.h"

/*
 * Text that need not be UTF-8, as UTF-8: a byte of no character becomes \xHH,
 * and a backslash before an xHH of the text's own \x5c, so that what was
 * there can be had back.  quote, or '\0', is written twice.
 */
void quote_bytes(struct strbuf *b, const char *text, char quote);

/* A value of CSV (RFC 4180), between quotes where it has to be. */
void quote_csv(struct strbuf *b, const char *value);

/*
 * A string of JSON (RFC 8259).  That must be UTF-8 and a file's name need not
 * be: a byte of no character becomes U+DC00 + byte, the convention of Python's
 * surrogateescape.
 */
void quote_json(struct strbuf *b, const char *text);

#endif
