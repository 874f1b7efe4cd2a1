/*
 * hex.h - bytes as hexadecimal text
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
 * Reads 2 * n digits, of either case, with nothing after them.  Returns 0 or
 * -EINVAL.
 */
int hex_read(uint8_t *data, size_t n, const char *text);

/*
 * Reads a SHA-256 in the form used by registries: "sha256:" and 64 digits.
 * Returns 0 or -EINVAL.
 */
int hex_read_sha256(uint8_t digest[32], const char *text);

#endif
