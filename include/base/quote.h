/*
 * quote.h - quoting text for CSV and JSON
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_QUOTE_H
#define COLDPRESS_QUOTE_H

#include "base/strbuf.h"

/*
 * Appends text, which may contain invalid UTF-8, as valid UTF-8: an invalid
 * byte becomes \xHH, and a backslash before a literal xHH becomes \x5c, so that
 * the original can be recovered.  The character quote is doubled, unless it is
 * '\0'.
 */
void quote_bytes(struct strbuf *b, const char *text, char quote);

/*
 * Appends a CSV value (RFC 4180), quoted where necessary.  A '#' is quoted too,
 * because many readers that skip comments would cut the row there.
 */
void quote_csv(struct strbuf *b, const char *value);

/*
 * Appends a JSON string (RFC 8259).  JSON must be UTF-8, but file names need
 * not be: an invalid byte becomes U+DC00 + byte, as in Python's
 * surrogateescape.
 */
void quote_json(struct strbuf *b, const char *text);

#endif
