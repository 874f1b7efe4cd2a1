/*
 * utf8.h - decoding and displaying untrusted text
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 3629 for UTF-8; ECMA-48 for the control characters: C0 (below
 * U+0020), DEL, and C1 (U+0080 to U+009F).  Thread-safe.
 */
#ifndef COLDPRESS_UTF8_H
#define COLDPRESS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

enum { UTF8_SAFE = 8 };		/* maximum length of a character's safe form */

/* Returns the length of the well-formed character at s, or 0. */
size_t utf8_length(const char *s);

/*
 * Returns whether a terminal treats the well-formed character at s as a control
 * character.
 */
bool utf8_is_control(const char *s);

/*
 * Writes the next character of *text, which must not be empty, to out in a form
 * safe for a terminal, and advances *text.  Each byte of a control character
 * becomes \ooo, as does a stray byte that is a control character in 8-bit
 * character sets.  Returns the length of out, which is not NUL-terminated.
 */
size_t utf8_safe(const char **text, char out[UTF8_SAFE]);

#endif
