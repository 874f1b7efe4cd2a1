/*
 * inflate_header.c - reading the header of a deflate block
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "inflate_header.h"

#include <errno.h>
#include <string.h>

enum {
	MOST_LENGTHS = 286, MOST_DISTANCES = 30,
	END_OF_BLOCK = 256,
	REPEAT = 16, ZEROS = 17, MORE_ZEROS = 18,
};

/* A position, and whether a read past the end was attempted. */
struct header_bits {
	struct inflate_place p;
	bool short_of;
};

/* Loads at least n bits (at most 32), with zeros past the end. */
static void
need(struct header_bits *r, unsigned n)
{
	while (r->p.count < n) {
		if (r->p.in == r->p.in_end) {
			r->short_of = true;
			r->p.count = 32;
			return;
		}
		r->p.bits |= (uint64_t)*r->p.in++ << r->p.count;
		r->p.count += 8;
	}
}

static unsigned
read_bits(struct header_bits *r, unsigned n)
{
	unsigned v;

	need(r, n);
	v = (unsigned)(r->p.bits & ((UINT64_C(1) << n) - 1));
	r->p.bits >>= n;
	r->p.count -= n;
	return v;
}

/* Decodes a symbol of the precode, consuming only its own bits. */
static unsigned
take_symbol(struct header_bits *r, const uint32_t *table)
{
	uint32_t e = table[r->p.bits & ((1u << INFLATE_PRECODE_BITS) - 1)];

	while ((e & 0xff) > r->p.count) {
		need(r, r->p.count + 1);
		e = table[r->p.bits & ((1u << INFLATE_PRECODE_BITS) - 1)];
	}
	r->p.bits >>= e & 0xff;
	r->p.count -= e & 0xff;
	return e >> 16;
}

static bool
read_precode(struct header_bits *r, unsigned count, uint32_t *table)
{
	static const uint8_t order[INFLATE_PRECODES] = { 16, 17, 18, 0, 8, 7,
		9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
	uint8_t bits[INFLATE_PRECODES] = { 0 };

	for (unsigned i = 0; i < count; i++)
		bits[order[i]] = (uint8_t)read_bits(r, 3);
	return r->short_of || inflate_precode(table, bits);
}

/* Reads the lengths of the block's codewords, count in total. */
static bool
read_lengths(struct header_bits *r, const uint32_t *table, uint8_t *bits,
    unsigned count)
{
	unsigned i = 0;

	while (i < count && !r->short_of) {
		unsigned symbol = take_symbol(r, table), n;
		uint8_t value = 0;

		if (symbol < REPEAT) {
			bits[i++] = (uint8_t)symbol;
			continue;
		}
		if (symbol == REPEAT && i == 0)
			return false;
		if (symbol == REPEAT)
			value = bits[i - 1];
		n = symbol == REPEAT ? 3 + read_bits(r, 2) :
		    symbol == ZEROS ? 3 + read_bits(r, 3) :
		    11 + read_bits(r, 7);
		if (n > count - i)
			return r->short_of;
		memset(bits + i, value, n);
		i += n;
	}
	return true;
}

static bool
read_dynamic(struct header_bits *r, struct inflate_codes *c)
{
	unsigned lengths = 257 + read_bits(r, 5);
	unsigned distances = 1 + read_bits(r, 5);
	unsigned headers = 4 + read_bits(r, 4);
	uint32_t table[INFLATE_PRECODE_SIZE];
	uint8_t bits[MOST_LENGTHS + MOST_DISTANCES];

	if (lengths > MOST_LENGTHS || distances > MOST_DISTANCES)
		return r->short_of;
	if (!read_precode(r, headers, table))
		return false;
	if (r->short_of)
		return true;
	if (!read_lengths(r, table, bits, lengths + distances))
		return false;
	return r->short_of || (bits[END_OF_BLOCK] != 0 &&
	    inflate_length_codes(c, bits, lengths) &&
	    inflate_distance_codes(c, bits + lengths, distances));
}

static bool
read_stored(struct header_bits *r, size_t *len)
{
	unsigned low, check;

	read_bits(r, r->p.count % 8);
	low = read_bits(r, 16);
	check = read_bits(r, 16);
	*len = low;
	return r->short_of || (low ^ check) == 0xffff;
}

int
inflate_header(struct inflate_header *h, struct inflate_place *p,
    struct inflate_codes *c)
{
	struct header_bits r = { .p = *p };
	bool good = false;

	h->final = read_bits(&r, 1);
	h->type = read_bits(&r, 2);
	h->stored = 0;
	switch (h->type) {
	case INFLATE_STORED:
		good = read_stored(&r, &h->stored);
		break;
	case INFLATE_FIXED:
		inflate_fixed_codes(c);
		good = true;
		break;
	case INFLATE_DYNAMIC:
		good = read_dynamic(&r, c);
		break;
	}
	if (r.short_of)
		return -ENODATA;
	if (!good)
		return -EBADMSG;
	*p = r.p;
	return 0;
}
