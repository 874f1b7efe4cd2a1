/*
 * quote.h - quoting text for CSV and JSON
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_QUOTE_H
#define COLDPRESS_QUOTE_H

#include "base/strbuf.h"

/*
 * Writes text that may not be UTF-8 as UTF-8: an invalid byte becomes \xHH, and
 * a backslash in front of a literal xHH becomes \x5c, so that the original can
 * be recovered.  The character quote is doubled, unless it is '\0'.
 */
void quote_bytes(struct strbuf *b, const char *text, char quote);

/* Appends a CSV value (RFC 4180), quoted where necessary. */
void quote_csv(struct strbuf *b, const char *value);

/*
 * Appends a JSON string (RFC 8259).  It must be UTF-8, but a file name may not
 * be: an invalid byte becomes U+DC00 + byte, the convention of Python's
 * surrogateescape.
 */
void quote_json(struct strbuf *b, const char *text);

#endif
