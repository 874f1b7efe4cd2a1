/*
 * buf.h - bytes that are added to
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Want of memory is kept until somebody asks: what is added then is lost.
 * Private to src/mail and mailgen.  A struct buf, all zero at first, belongs
 * to one thread at a time and is given to buf_free() by its owner.
 */
#ifndef COLDPRESS_BUF_H
#define COLDPRESS_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;
	size_t len, cap;
	bool failed;
};

/* Room for n more bytes behind len, n may be 0; or NULL: there is no memory. */
char *buf_room(struct buf *b, size_t n);

void buf_add(struct buf *b, const void *data, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Keeps the memory for what comes next. */
void buf_clear(struct buf *b);
void buf_free(struct buf *b);

#endif
