/*
 * base64.h - base64 without line breaks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 4648, section 4.  Thread-safe.
 */
#ifndef COLDPRESS_BASE64_H
#define COLDPRESS_BASE64_H

#include <stddef.h>
#include <sys/types.h>

/* Returns the length of the base64 text for n bytes. */
size_t base64_len(size_t n);

/* Writes base64_len(n) characters and a NUL. */
void base64_write(char *text, const void *data, size_t n);

/*
 * Decodes len characters, including padding, to at most len / 4 * 3 bytes.
 * data and text may be the same buffer.  Returns the decoded length, or
 * -EINVAL.
 */
ssize_t base64_read(void *data, const char *text, size_t len);

#endif
