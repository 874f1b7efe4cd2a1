/*
 * deflate_walk.c - the blocks of a deflate stream (RFC 1951)
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/deflate/deflate_walk.h"

#include "base/bytes.h"
#include "engine/deflate/deflate_codes.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct bit_walk {
	const uint8_t *in;
	uint64_t len;		/* bytes */
	uint64_t pos;		/* bits; may temporarily be past the end */
	bool fixed;		/* the tables contain the fixed codes */
	uint32_t tab[ENTRIES];
};

enum { PEEKED = 57 };

_Static_assert(PRE_SYMS * 3 <= PEEKED, "the lengths of the first code");
_Static_assert(PRE_MAX + 7 <= PEEKED, "a code length and its repeat");

/*
 * Returns at least PEEKED bits from the current position, followed by zeros
 * after the end of the input.
 */
static uint64_t
peek(const struct bit_walk *w)
{
	uint64_t at = w->pos >> 3;
	uint8_t tail[8] = { 0 };

	if (w->len >= 8 && at <= w->len - 8)
		return load_le64(w->in + at) >> (w->pos & 7);
	if (at < w->len)
		memcpy(tail, w->in + at, w->len - at);
	return load_le64(tail) >> (w->pos & 7);
}

static unsigned
take_bits(struct bit_walk *w, unsigned bits)
{
	unsigned v = (unsigned)(peek(w) & ((1U << bits) - 1));

	w->pos += bits;
	return v;
}

static bool
past_end(const struct bit_walk *w)
{
	return w->pos > w->len * 8;
}

static int
pre_tables(struct bit_walk *w, unsigned npre)
{
	uint8_t lens[PRE_SYMS] = { 0 };
	uint64_t bits = peek(w);

	for (unsigned i = 0; i < npre; i++, bits >>= 3)
		lens[codes_pre_order[i]] = bits & 7;
	w->pos += npre * 3;
	return codes_pre(w->tab, lens);
}

/* Reads the code lengths of both codes, n in total. */
static int
read_lens(struct bit_walk *w, uint8_t *lens, unsigned n)
{
	static const struct {
		uint8_t bits, least;
	} repeat[] = { { 2, 3 }, { 3, 3 }, { 7, 11 } };
	const uint32_t *t = w->tab + PRE_TABLE;
	unsigned i = 0;

	while (i < n) {
		uint64_t bits = peek(w);
		uint32_t e = t[bits & ((1 << PRE_MAX) - 1)];
		unsigned sym = e >> 8, used = e & 0xff, times;

		if (sym < 16) {
			lens[i++] = (uint8_t)sym;
			w->pos += used;
			continue;
		}
		sym -= 16;
		times = repeat[sym].least + ((unsigned)(bits >> used) &
		    ((1U << repeat[sym].bits) - 1));
		if (times > n - i || (sym == 0 && i == 0))
			return -EBADMSG;
		memset(lens + i, sym == 0 ? lens[i - 1] : 0, times);
		i += times;
		w->pos += used + repeat[sym].bits;
	}
	return past_end(w) ? -EBADMSG : 0;
}

static int
dynamic_tables(struct bit_walk *w)
{
	uint8_t lens[LITLEN_SYMS + DIST_SYMS];
	unsigned nlit = take_bits(w, 5) + 257;
	unsigned ndist = take_bits(w, 5) + 1;
	unsigned npre = take_bits(w, 4) + 4;
	int rc;

	if (nlit > 286 || ndist > 30)
		return -EBADMSG;
	rc = pre_tables(w, npre);
	if (rc != 0)
		return rc;
	rc = read_lens(w, lens, nlit + ndist);
	if (rc != 0)
		return rc;
	if (lens[END_OF_BLOCK] == 0)
		return -EBADMSG;
	return codes_dynamic(w->tab, lens, nlit, ndist);
}

/*
 * Walks a block's codes.  The last bytes are walked in a copy padded with
 * zeros, so that every load can read eight bytes.
 */
static int
walk_codes(struct bit_walk *w)
{
	uint8_t tail[16] = { 0 };
	struct place l = { w->pos, NEXT_LIT };
	uint64_t at;

	if (w->len > 8)
		lanes_walk(w->tab, w->in, &l, (w->len - 8) * 8);
	if (!stopped(l.state)) {
		at = l.pos >> 3;
		if (at >= w->len)
			return -EBADMSG;
		memcpy(tail, w->in + at, w->len - at);
		l.pos -= at * 8;
		lanes_walk(w->tab, tail, &l, (w->len - at) * 8);
		l.pos += at * 8;
	}
	w->pos = l.pos;
	return NEXT_OF(l.state) != NEXT_END || past_end(w) ? -EBADMSG : 0;
}

static int
walk_stored(struct bit_walk *w)
{
	unsigned n;

	w->pos = (w->pos + 7) & ~(uint64_t)7;
	n = take_bits(w, 16);
	if (past_end(w) || take_bits(w, 16) != (n ^ 0xffff))
		return -EBADMSG;
	w->pos += (uint64_t)n * 8;
	return past_end(w) ? -EBADMSG : 0;
}

static int
walk_block(struct bit_walk *w, unsigned type)
{
	int rc;

	switch (type) {
	case 0:
		return walk_stored(w);
	case 1:
		if (!w->fixed)
			codes_fixed(w->tab);
		w->fixed = true;
		return walk_codes(w);
	case 2:
		w->fixed = false;
		rc = dynamic_tables(w);
		return rc == 0 ? walk_codes(w) : rc;
	default:
		return -EBADMSG;
	}
}

int
deflate_walk(const uint8_t *in, size_t len, struct deflate_last *last)
{
	struct bit_walk w;
	uint64_t header;
	unsigned final;
	int rc;

	w.in = in;
	w.len = len;
	w.pos = 0;
	w.fixed = false;
	do {
		header = w.pos;
		final = take_bits(&w, 1);
		rc = walk_block(&w, take_bits(&w, 2));
		if (rc != 0)
			return rc;
	} while (!final);
	last->header = header;
	last->end = w.pos;
	return 0;
}

ssize_t
deflate_make_nonfinal(uint8_t *buf, size_t len, size_t cap)
{
	struct deflate_last last;
	uint64_t body;
	int rc;

	rc = deflate_walk(buf, len, &last);
	if (rc != 0)
		return rc;
	if ((last.end + 7) / 8 != len)
		return -EBADMSG;
	/* The header of the empty block is three zero bits. */
	body = (last.end + 3 + 7) / 8;
	if (cap < body + 4)
		return -ENOBUFS;
	buf[last.header / 8] &= (uint8_t)~(1U << last.header % 8);
	if (last.end % 8 != 0)
		buf[last.end / 8] &= (uint8_t)((1U << last.end % 8) - 1);
	if (body > len)
		buf[len] = 0;
	memcpy(buf + body, "\0\0\xff\xff", 4);
	return (ssize_t)(body + 4);
}
