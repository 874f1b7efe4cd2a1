/*
 * zstd_fse.c - the FSE tables of Zstandard's sequences
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zstd_fse.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { SYMBOLS = 53 };

/*
 * For each type of code: the number of symbols, the largest table and the
 * predefined counts.
 */
static const struct kind {
	unsigned symbols, log_max, log;
	int8_t counts[SYMBOLS];		/* -1: less than one */
	uint8_t extra[SYMBOLS];
} kinds[ZSTD_CODES] = {
	[ZSTD_LL] = { 36, 9, 6,
	    { 4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2,
	    2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1 },
	    { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2,
	    2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } },
	[ZSTD_OF] = { 32, 8, 5,
	    { 1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	    1, 1, 1, -1, -1, -1, -1, -1 },
	    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
	    18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 } },
	[ZSTD_ML] = { 53, 9, 6,
	    { 1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	    1, 1, 1, -1, -1, -1, -1, -1, -1, -1 },
	    { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5,
	    7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } },
};

static unsigned
highest_bit(unsigned v)
{
	return 31 - (unsigned)__builtin_clz(v);
}

/* A bit reader that starts at the first byte, and reads zeros past the end. */
struct bits {
	const uint8_t *p;
	size_t len, pos;		/* pos in bits */
};

static unsigned
peek(const struct bits *b, unsigned n)
{
	unsigned v = 0;

	for (size_t i = 0, at = b->pos / 8; i < 3 && at + i < b->len; i++)
		v |= (unsigned)b->p[at + i] << (8 * i);
	return v >> b->pos % 8 & ((1U << n) - 1);
}

/* Reads a count plus one, 0..left+1; small values are one bit shorter. */
static unsigned
take_count(struct bits *b, unsigned left)
{
	unsigned n = highest_bit(left + 1) + 1;
	unsigned low = (1U << (n - 1)) - 1;
	unsigned short_ones = (1U << n) - 1 - (left + 1);
	unsigned v = peek(b, n);

	if ((v & low) < short_ones) {
		b->pos += n - 1;
		return v & low;
	}
	b->pos += n;
	return v > low ? v - short_ones : v;
}

/*
 * Returns the number of further symbols with count 0, which is coded in groups
 * of two bits; after a group with the value 3, another follows.
 */
static unsigned
take_zeros(struct bits *b)
{
	unsigned n = 0, v;

	do {
		v = peek(b, 2);
		b->pos += 2;
		n += v;
	} while (v == 3 && n < SYMBOLS);
	return n;
}

/* Spreads the symbols over the states, and numbers each symbol's states. */
static void
build(struct zstd_fse *t, const int8_t *small, const int16_t *counts,
    unsigned symbols)
{
	unsigned size = 1U << t->log, high = size, pos = 0;
	unsigned step = (size >> 1) + (size >> 3) + 3;
	uint16_t next[SYMBOLS];

	for (unsigned s = 0; s < symbols; s++) {
		int n = small != NULL ? small[s] : counts[s];

		next[s] = (uint16_t)(n < 0 ? 1 : n);
		if (n < 0)
			t->states[--high].symbol = (uint8_t)s;
	}
	for (unsigned s = 0; s < symbols; s++) {
		int n = small != NULL ? small[s] : counts[s];

		for (int i = 0; i < n; i++) {
			t->states[pos].symbol = (uint8_t)s;
			do
				pos = (pos + step) & (size - 1);
			while (pos >= high);
		}
	}
	for (unsigned i = 0; i < size; i++) {
		struct zstd_state *x = &t->states[i];
		unsigned n = next[x->symbol]++;

		x->bits = (uint8_t)(t->log - highest_bit(n));
		x->base = (uint16_t)((n << x->bits) - size);
	}
}

ssize_t
zstd_fse_read(struct zstd_fse *t, enum zstd_code code, const uint8_t *p,
    size_t len)
{
	const struct kind *k = &kinds[code];
	struct bits b = { p, len, 4 };
	int16_t counts[SYMBOLS] = { 0 };
	unsigned left, s = 0;

	if (len == 0)
		return -EBADMSG;
	t->log = 5 + (p[0] & 15);
	if (t->log > k->log_max)
		return -EBADMSG;
	for (left = 1U << t->log; left > 0 && s < k->symbols;) {
		int n = (int)take_count(&b, left) - 1;

		left -= n < 0 ? 1 : (unsigned)n;
		counts[s++] = (int16_t)n;
		if (n == 0)
			s += take_zeros(&b);
	}
	if (left != 0 || s > k->symbols || (b.pos + 7) / 8 > len)
		return -EBADMSG;
	build(t, NULL, counts, s);
	return (ssize_t)((b.pos + 7) / 8);
}

int
zstd_fse_single(struct zstd_fse *t, enum zstd_code code, uint8_t symbol)
{
	if (symbol >= kinds[code].symbols)
		return -EBADMSG;
	t->log = 0;
	t->states[0] = (struct zstd_state){ .symbol = symbol };
	return 0;
}

void
zstd_fse_predefined(struct zstd_fse *t, enum zstd_code code)
{
	t->log = kinds[code].log;
	build(t, kinds[code].counts, NULL, kinds[code].symbols);
}

unsigned
zstd_extra_bits(enum zstd_code code, uint8_t symbol)
{
	return kinds[code].extra[symbol];
}

int
zstd_fse_before(const struct zstd_fse *t, uint8_t symbol, int next)
{
	for (int i = 0; i < 1 << t->log; i++) {
		const struct zstd_state *x = &t->states[i];

		if (x->symbol == symbol && (next < 0 || (next >= x->base &&
		    next < x->base + (1 << x->bits))))
			return i;
	}
	return -1;
}
