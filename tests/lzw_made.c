/*
 * lzw_made.c - writing .Z files of every width and mode, for the tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lzw_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A slow encoder that tracks the reader's state. */
struct writer {
	uint8_t *out;
	size_t len;
	uint64_t bits;
	unsigned bits_len, group, width, most;
	bool block, first;
	uint32_t reader_free;
	uint32_t free, head[65536], beside[65536];
	uint8_t last[65536];
};

static void
write_bits(struct writer *w, uint32_t value, unsigned n)
{
	w->bits |= (uint64_t)value << w->bits_len;
	for (w->bits_len += n; w->bits_len >= 8; w->bits_len -= 8) {
		w->out[w->len++] = (uint8_t)w->bits;
		w->bits >>= 8;
	}
}

static void
write_code(struct writer *w, uint32_t code)
{
	bool clear = w->block && code == 256;
	unsigned width = w->width;

	write_bits(w, code, width);
	w->group++;
	if (clear) {
		w->reader_free = 256;
		w->width = 9;
	} else if (!w->first && w->reader_free < 1U << w->most) {
		w->reader_free++;
	}
	w->first = false;
	if (w->reader_free >> w->width != 0 &&
	    (w->width < w->most || (w->most == 9 && w->width == 9)))
		w->width++;
	if (w->width == width && !clear)
		return;
	for (; w->group % 8 != 0; w->group++)
		write_bits(w, 0, width);
}

static void
forget(struct writer *w)
{
	memset(w->head, 0, w->free * sizeof(w->head[0]));
	w->free = w->block ? 257 : 256;
}

/* Returns the code for string and byte, or 0 after assigning one. */
static uint32_t
find(struct writer *w, uint32_t string, uint8_t byte)
{
	uint32_t code = w->head[string];

	while (code != 0 && w->last[code] != byte)
		code = w->beside[code];
	if (code == 0 && w->free < 1U << w->most) {
		w->last[w->free] = byte;
		w->beside[w->free] = w->head[string];
		w->head[string] = w->free++;
	}
	return code;
}

/* Writes the header, and starts with no strings. */
static struct writer *
begin(const struct lzw_mode *m, uint8_t *out)
{
	struct writer *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->out = out;
	w->most = m->most;
	w->width = 9;
	w->first = true;
	w->block = m->block;
	write_bits(w, 0x1f | 0x9d << 8 |
	    (m->most | (m->block ? 0x80 : 0)) << 16, 24);
	forget(w);
	w->reader_free = w->free;
	return w;
}

size_t
lzw_make(const struct lzw_mode *m, const uint8_t *in, size_t len, uint8_t *out)
{
	struct writer *w = begin(m, out);
	uint32_t string = 0;

	for (size_t i = 0; i < len; i++) {
		uint32_t longer = i == 0 ? 0 : find(w, string, in[i]);

		if (longer == 0 && i > 0)
			write_code(w, string);
		string = longer != 0 ? longer : in[i];
		if (longer == 0 && m->clear_every != 0 && i > 0 &&
		    i % m->clear_every == 0) {
			write_code(w, 256);
			forget(w);
		}
	}
	if (len > 0)
		write_code(w, string);
	write_bits(w, 0, 7);
	len = w->len;
	free(w);
	return len;
}
