/*
 * hex.h - bytes as text: hexadecimal, and base64 without line breaks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source of base64: RFC 4648, section 4.  Thread-safe.
 */
#ifndef COLDPRESS_HEX_H
#define COLDPRESS_HEX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes 2 * n lower-case digits and a NUL. */
void hex_write(char *text, const uint8_t *data, size_t n);

/*
 * Reads 2 * n digits, in either case, with nothing after them.  Returns 0 or
 * -EINVAL.
 */
int hex_read(uint8_t *data, size_t n, const char *text);

/*
 * Size of a SHA-256 digest as registries write it: "sha256:", 64 digits and a
 * NUL.
 */
enum { HEX_SHA256 = 72 };

void hex_write_sha256(char text[HEX_SHA256], const uint8_t digest[32]);

/*
 * Reads a digest in this form, with digits in either case.  Returns 0 or
 * -EINVAL.
 */
int hex_read_sha256(uint8_t digest[32], const char *text);

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
