/*
 * hex.h - reading and writing bytes as hexadecimal text
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Thread-safe.
 */
#ifndef COLDPRESS_HEX_H
#define COLDPRESS_HEX_H

#include <stddef.h>
#include <stdint.h>

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

#endif
