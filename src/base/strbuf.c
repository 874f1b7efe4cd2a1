/*
 * strbuf.c - an append-only byte buffer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/strbuf.h"

#include "base/sys.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

char *
strbuf_room(struct strbuf *b, size_t n)
{
	size_t cap = b->cap == 0 ? 4096 : b->cap;
	char *p;

	/* non-NULL even if n is 0, so that no caller adds to a null pointer */
	if (b->data != NULL && b->cap - b->len >= n)
		return b->data + b->len;
	while (!b->failed && cap - b->len < n) {
		b->failed = cap > SIZE_MAX / 4;
		cap *= 2;
	}
	p = b->failed ? NULL : sys_realloc(b->data, cap);
	if (p == NULL) {
		b->failed = true;
		return NULL;
	}
	b->data = p;
	b->cap = cap;
	return p + b->len;
}

void
strbuf_add(struct strbuf *b, const void *data, size_t n)
{
	char *p = strbuf_room(b, n);

	if (p == NULL || n == 0)
		return;
	memcpy(p, data, n);
	b->len += n;
}

void
strbuf_str(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void
strbuf_char(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

void
strbuf_fmt(struct strbuf *b, const char *fmt, ...)
{
	size_t room = 512;
	va_list ap;

	for (;;) {
		char *p = strbuf_room(b, room);
		int n;

		if (p == NULL)
			return;
		va_start(ap, fmt);
		n = vsnprintf(p, room, fmt, ap);
		va_end(ap);
		if (n < 0) {
			b->failed = true;
			return;
		}
		if ((size_t)n < room) {
			b->len += (size_t)n;
			return;
		}
		room = (size_t)n + 1;
	}
}

void
strbuf_clear(struct strbuf *b)
{
	b->len = 0;
	b->failed = false;
}

void
strbuf_free(struct strbuf *b)
{
	sys_free(b->data);
	*b = (struct strbuf){ .data = NULL };
}

char *
strcopy(const char *s)
{
	return strcopy_part(s, strlen(s));
}

char *
strcopy_part(const void *s, size_t len)
{
	char *copy = sys_malloc(len + 1);

	if (copy == NULL)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}
