/*
 * strbuf.h - an append-only byte buffer, and copies of strings
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Running out of memory is recorded in `failed`; data appended after that is
 * lost.  A struct strbuf, initially zeroed, belongs to one thread at a time;
 * its owner frees it with strbuf_free().
 */
#ifndef COLDPRESS_STRBUF_H
#define COLDPRESS_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf {
	char *data;
	size_t len, cap;
	bool failed;
};

/*
 * Returns room for n more bytes after len (n may be 0), or NULL if out of
 * memory.
 */
char *strbuf_room(struct strbuf *b, size_t n);

void strbuf_add(struct strbuf *b, const void *data, size_t n);
void strbuf_str(struct strbuf *b, const char *s);
void strbuf_char(struct strbuf *b, char c);
void strbuf_fmt(struct strbuf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Empties the buffer but keeps its memory. */
void strbuf_clear(struct strbuf *b);
void strbuf_free(struct strbuf *b);

/*
 * Copy a string, or len bytes with a NUL after them.  The caller frees the copy
 * with sys_free(); NULL means out of memory.  Thread-safe.
 */
char *strcopy(const char *s);
char *strcopy_part(const void *s, size_t len);

#endif
