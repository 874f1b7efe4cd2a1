/*
 * utf8.h - characters of text that anybody may have written
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 3629 for UTF-8; ECMA-48 for the controls C0 (below U+0020), DEL
 * and C1 (U+0080 to U+009F).  Thread-safe.
 */
#ifndef COLDPRESS_UTF8_H
#define COLDPRESS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

enum { UTF8_SAFE = 8 };		/* bytes of a character's safe form */

/* The length of the well-formed character at s, or 0. */
size_t utf8_length(const char *s);

/* Whether a terminal takes the well-formed character at s for a command. */
bool utf8_is_control(const char *s);

/*
 * The next character of *text, which is not at its end, for a terminal:
 * controls, and bytes of no character that are controls in 8-bit sets, as
 * \ooo each byte.  *text moves behind it.  The length of out, which is not
 * terminated.
 */
size_t utf8_safe(const char **text, char out[UTF8_SAFE]);

#endif
