/*
 * strcopy.h - copying strings
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The caller frees a copy with sys_free(); NULL means out of memory.
 * Thread-safe.
 */
#ifndef COLDPRESS_STRCOPY_H
#define COLDPRESS_STRCOPY_H

#include <stddef.h>

/* Copies a string. */
char *strcopy(const char *s);

/* Copies len bytes, and adds a NUL. */
char *strcopy_part(const void *s, size_t len);

#endif
