/*
 * deflate_made.h - generating sequences of matches, and the data they represent
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_DEFLATE_MADE_H
#define COLDPRESS_DEFLATE_MADE_H

#include "engine/deflate/deflate_blocks.h"
#include "rnd.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MADE_SEQS = 300000, MADE_BYTES = 4 << 20, MADE_WINDOW = 32768 };

/* The kinds of tokens; 0 means any. */
enum made_shape {
	MADE_LITERALS = 1,	/* no matches */
	MADE_MATCHES = 2,	/* no literals except the first */
	MADE_FAR = 4,		/* distances as long as possible */
	MADE_ONE = 8,		/* one byte value */
	MADE_SKEWED = 16,	/* bytes and lengths with unequal frequencies */
	MADE_LONG = 32,		/* matches of 258 */
	MADE_TURNS = 64		/* alternating with noise */
};

struct made {
	struct deflate_seq seqs[MADE_SEQS];
	size_t nseqs;
	uint8_t data[MADE_BYTES];
	size_t len;
};

/* Bytes that control the choices, either given or generated. */
struct made_source {
	const uint8_t *p;
	size_t n;
	uint32_t seed;
};

static inline uint32_t
made_random(struct made_source *s)
{
	if (s->seed == 0) {
		if (s->n == 0)
			return 0;
		s->n--;
		return *s->p++ * UINT32_C(0x01010101);
	}
	return rnd(&s->seed);
}

static inline uint8_t
made_byte(struct made_source *s, unsigned shape)
{
	uint32_t v = made_random(s);

	if (shape & MADE_ONE)
		return 'x';
	if (shape & MADE_SKEWED)
		return (uint8_t)__builtin_ctz(v | UINT32_C(1) << 31);
	return (uint8_t)v;
}

/* Adds one sequence of 1 to `room` bytes. */
static inline void
made_seq(struct made *m, struct made_source *s, unsigned shape, size_t room)
{
	struct deflate_seq *q = &m->seqs[m->nseqs++];
	uint32_t v = made_random(s);
	size_t lits = shape & MADE_LITERALS ? v % 5000 :
	    v % 16 == 0 ? v % 300 : v % 4;
	size_t length = 3 + v / 16 % 256, far;

	if ((shape & MADE_MATCHES) && m->len > 0)
		lits = 0;
	if (m->len == 0 && lits == 0)
		lits = 1;
	lits = lits < room ? lits : room;
	for (size_t i = 0; i < lits; i++)
		m->data[m->len++] = made_byte(s, shape);
	q->literals = (uint32_t)lits;
	q->length = q->distance = 0;
	if (shape & MADE_LONG)
		length = 258;
	else if (shape & MADE_SKEWED)
		length = 3 + (size_t)__builtin_ctz(v | 1U << 30) * 8;
	if ((shape & MADE_LITERALS) || length > room - lits || m->len == 0)
		return;
	far = m->len < MADE_WINDOW ? m->len : MADE_WINDOW;
	if (!(shape & MADE_FAR))
		far = 1 + made_random(s) % far;
	q->length = (uint16_t)length;
	q->distance = (uint16_t)far;
	for (size_t i = 0; i < length; i++, m->len++)
		m->data[m->len] = m->data[m->len - far];
}

/* Makes len bytes, or fewer if there are too many sequences. */
static inline void
made_make(struct made *m, struct made_source *s, unsigned shape, size_t len)
{
	m->nseqs = m->len = 0;
	while (m->len < len && m->nseqs < MADE_SEQS &&
	    (s->seed != 0 || s->n > 0)) {
		unsigned now = shape;

		if (shape & MADE_TURNS)
			now = m->len >> 14 & 1 ? MADE_LITERALS : MADE_SKEWED;
		made_seq(m, s, now, len - m->len);
	}
}

/* Returns whether zlib and libdeflate decode the len bytes at s to the data. */
static inline bool
made_inflates(const struct made *m, const uint8_t *s, size_t len)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	uint8_t *out = malloc(m->len + 1);
	z_stream z = { 0 };
	size_t used, made;
	bool good;

	if (d == NULL || out == NULL || inflateInit2(&z, -15) != Z_OK)
		abort();
	z.next_in = (uint8_t *)(uintptr_t)s;
	z.avail_in = (uInt)len;
	z.next_out = out;
	z.avail_out = (uInt)m->len + 1;
	good = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0 &&
	    z.avail_out == 1 && memcmp(out, m->data, m->len) == 0;
	memset(out, 0, m->len);
	good = good && libdeflate_deflate_decompress_ex(d, s, len, out,
	    m->len + 1, &used, &made) == LIBDEFLATE_SUCCESS &&
	    used == len && made == m->len &&
	    memcmp(out, m->data, m->len) == 0;
	inflateEnd(&z);
	free(out);
	libdeflate_free_decompressor(d);
	return good;
}

#endif
