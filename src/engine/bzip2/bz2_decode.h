/*
 * bz2_decode.h - declarations shared within the bzip2 decoder
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The same blocks are valid as for bzip2 1.0.8.  A code may be incomplete; it
 * is an error only if an unassigned codeword occurs.  It may also be
 * oversubscribed; the unreachable codes never occur.  Excess selectors are
 * skipped.  A run is counted only when it ends.  The input is read as if it
 * were followed by zeros, and an error within these zeros means that the input
 * is too short.
 */
#ifndef COLDPRESS_BZ2_DECODE_H
#define COLDPRESS_BZ2_DECODE_H

#include "bz2_impl.h"

enum {
	BZ2_FAST_BITS = 10,	/* codes up to this length need one lookup */
	BZ2_LEN_BITS = 5	/* length bits of an entry, below the symbol */
};

_Static_assert(BZ2_CODE_MAX <= BZ2_REFILLED, "a symbol");
_Static_assert(BZ2_TABLES_MAX <= BZ2_REFILLED, "a selector, in unary");
_Static_assert(BZ2_CODE_MAX < 1 << BZ2_LEN_BITS &&
    BZ2_SYMBOLS_MAX << BZ2_LEN_BITS <= UINT16_MAX, "an entry has 16 bits");

struct bz2_table {
	uint16_t fast[1 << BZ2_FAST_BITS];	/* 0: a longer or invalid
						 * code */
	/*
	 * upper bound of the codes of each length, left-aligned to BZ2_CODE_MAX
	 */
	uint32_t end[BZ2_CODE_MAX + 1];
	int32_t first[BZ2_CODE_MAX + 1]; /* add a code to get its index in
					  * sorted order */
	uint16_t order[BZ2_SYMBOLS_MAX];
};

struct bz2_decoder {
	int level;
	struct bz2_unrle unrle;
	uint32_t crc, stored;
	uint32_t counts[256];
	uint8_t selectors[BZ2_SELECTORS_MAX];
	struct bz2_table tables[BZ2_TABLES_MAX];
	struct bz2_crc crc_tables;
	uint8_t *text;			/* the last column, then the block */
	void *scratch;
};

/*
 * The input, most significant bit first; the next bits are the highest in acc.
 */
struct bz2_in {
	const uint8_t *in;
	size_t len, pos;
	uint64_t acc;
	unsigned count;
};

static inline void
bz2_refill(struct bz2_in *b)
{
	if (b->len - b->pos >= 8 && b->pos < b->len) {
		b->acc |= load_be64(b->in + b->pos) >> b->count;
		b->pos += (63 - b->count) >> 3;
		b->count |= BZ2_REFILLED;
		return;
	}
	for (; b->count <= BZ2_REFILLED; b->count += 8, b->pos++)
		if (b->pos < b->len)
			b->acc |= (uint64_t)b->in[b->pos] <<
			    (BZ2_REFILLED - b->count);
}

static inline void
bz2_skip(struct bz2_in *b, unsigned n)
{
	b->acc <<= n;
	b->count -= n;
}

/* Takes n bits, 1..32; count must be at least n. */
static inline uint32_t
bz2_take(struct bz2_in *b, unsigned n)
{
	uint32_t v = (uint32_t)(b->acc >> (64 - n));

	bz2_skip(b, n);
	return v;
}

static inline uint32_t
bz2_get(struct bz2_in *b, unsigned n)
{
	bz2_refill(b);
	return bz2_take(b, n);
}

static inline uint64_t
bz2_position(const struct bz2_in *b)
{
	return (uint64_t)b->pos * 8 - b->count;
}

static inline bool
bz2_overrun(const struct bz2_in *b)
{
	return bz2_position(b) > (uint64_t)b->len * 8;
}

/*
 * Reads the selectors, and the tables for an alphabet of `symbols` symbols.
 * Returns the number of selectors, or -EBADMSG.
 */
int bz2_read_codes(struct bz2_decoder *d, struct bz2_in *b, int symbols);

#endif
