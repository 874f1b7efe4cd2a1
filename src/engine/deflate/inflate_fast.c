/*
 * inflate_fast.c - decoding the symbols of a deflate block, while there is room
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 1951, 3.2.3.  Eight bytes are loaded at a time, which is more
 * bits than are counted; the uncounted bits are loaded again later, with the
 * same values.  Assertions below limit the bits consumed between refills.
 */
#include "inflate_fast.h"

#include "base/cpu.h"
#include "base/bytes.h"

#include <string.h>

enum {
	LENGTH_MASK = (1 << INFLATE_LENGTH_BITS) - 1,
	DISTANCE_MASK = (1 << INFLATE_DISTANCE_BITS) - 1,
	REFILLED = 56,		/* minimum bits after a refill */
	COPIED = 40,		/* bytes that a copy may write past its end */
	MATCH_MAX = 258
};

_Static_assert(3 * INFLATE_LENGTH_BITS + INFLATE_LENGTH_BITS <= REFILLED,
    "three literals from the first table and the next index");
_Static_assert(2 * INFLATE_LENGTH_BITS + INFLATE_CODE_MAX +
    INFLATE_LENGTH_EXTRA + INFLATE_DISTANCE_BITS <= REFILLED,
    "two literals, a length and its distance index");
_Static_assert(INFLATE_CODE_MAX + INFLATE_DISTANCE_EXTRA +
    INFLATE_LENGTH_BITS <= REFILLED, "a distance and the next index");
_Static_assert(INFLATE_FAST_IN >= 2 * 8, "two refills");
_Static_assert(INFLATE_FAST_OUT >= 2 + MATCH_MAX + COPIED,
    "two literals and a match");

EACH void
refill_bits(const uint8_t **in, uint64_t *bits, unsigned *count)
{
	*bits |= load_le64(*in) << (*count & 0x3f);
	*in += 7 - (*count >> 3 & 7);
	*count |= REFILLED;
}

EACH void
drop_code(uint32_t entry, uint64_t *bits, unsigned *count)
{
	*bits >>= entry & INFLATE_BITS;
	*count -= entry;
}

EACH void
copy_8(uint8_t *to, const uint8_t *from)
{
	memcpy(to, from, 8);
}

EACH void
copy_40(uint8_t *to, const uint8_t *from)
{
	copy_8(to, from);
	copy_8(to + 8, from + 8);
	copy_8(to + 16, from + 16);
	copy_8(to + 24, from + 24);
	copy_8(to + 32, from + 32);
}

/* Copies byte by byte, because from may be less than eight bytes before to. */
EACH void
repeat_8(uint8_t *to, const uint8_t *from)
{
	to[0] = from[0];
	to[1] = from[1];
	to[2] = from[2];
	to[3] = from[3];
	to[4] = from[4];
	to[5] = from[5];
	to[6] = from[6];
	to[7] = from[7];
}

/*
 * Copies a match; writes up to 40 bytes more than len.  If the distance is less
 * than eight, the pattern is replicated to fill eight bytes, which are then
 * written repeatedly, advancing by the largest multiple of the distance that
 * fits.
 */
EACH void
copy_back(uint8_t *out, size_t distance, size_t len)
{
	static const uint8_t periods[8] = { 0, 8, 8, 6, 8, 5, 6, 7 };
	const uint8_t *from = out - distance;
	uint8_t *end = out + len;

	if (distance >= 8) {
		copy_40(out, from);
		if (len > 40) {
			do {
				out += 40;
				from += 40;
				copy_40(out, from);
			} while (out + 40 < end);
		}
	} else {
		size_t step = periods[distance];
		uint64_t word;

		repeat_8(out, from);
		word = load_le64(out);
		do {
			out += step;
			store_le64(out, word);
		} while (out < end);
	}
}

void
inflate_copy_window(struct inflate_place *p, size_t distance, size_t len)
{
	size_t back = distance - (size_t)(p->out - p->begin);
	size_t n = back < len ? back : len;

	memcpy(p->out, p->window_end - back, n);
	if (p->used_end != NULL)
		memset(p->used_end - back, 1, n);
	p->out += n;
	while (n++ < len) {
		*p->out = *(p->out - distance);
		p->out++;
	}
}

/* Outputs the literal of an entry. */
EACH void
put_literal(uint8_t **out, uint32_t e, unsigned unit)
{
	inflate_put(*out, unit, (uint8_t)(e >> 16));
	*out += unit;
}

/* Stores the counted bits, and drops those loaded in excess. */
EACH void
put_bits(struct inflate_place *p, uint64_t bits, unsigned count)
{
	p->count = count & 0x3f;
	p->bits = bits & ((UINT64_C(1) << p->count) - 1);
}

/* Returns the reason why the entry e ends the loop. */
EACH enum inflate_why
why_ended(uint32_t e)
{
	return e & INFLATE_END ? INFLATE_BLOCK_END : INFLATE_BAD;
}

/* Returns the entry of a distance whose code is longer than the first index. */
EACH uint32_t
second_distance(const uint32_t *distance, uint32_t e, uint64_t *bits,
    unsigned *count)
{
	drop_code(e, bits, count);
	return e & INFLATE_SUBTABLE ? inflate_subtable(distance, e, *bits) : e;
}

EACH enum inflate_why
inflate_run(struct inflate_place *p, const struct inflate_codes *c,
    unsigned unit)
{
	const uint32_t *length = c->length, *distance = c->distance;
	const uint8_t *in = p->in, *in_last = p->in_end - INFLATE_FAST_IN;
	const uint8_t *begin = p->begin;
	uint8_t *out = p->out, *out_last = p->out_end - unit * INFLATE_FAST_OUT;
	enum inflate_why why = INFLATE_NEAR_END;
	unsigned count = p->count;
	uint64_t bits = p->bits, before;
	uint32_t e;

	refill_bits(&in, &bits, &count);
	e = length[bits & LENGTH_MASK];
	while (in < in_last && out < out_last) {
		before = bits;
		drop_code(e, &bits, &count);
		if (e & INFLATE_LITERAL) {
			put_literal(&out, e, unit);
			e = length[bits & LENGTH_MASK];
			before = bits;
			drop_code(e, &bits, &count);
			if (e & INFLATE_LITERAL) {
				put_literal(&out, e, unit);
				e = length[bits & LENGTH_MASK];
				before = bits;
				drop_code(e, &bits, &count);
				if (e & INFLATE_LITERAL) {
					put_literal(&out, e, unit);
					e = length[bits & LENGTH_MASK];
					refill_bits(&in, &bits, &count);
					continue;
				}
			}
		}
		if (__builtin_expect(e & INFLATE_SPECIAL, 0)) {
			if (e & INFLATE_SUBTABLE) {
				e = inflate_subtable(length, e, bits);
				before = bits;
				drop_code(e, &bits, &count);
				if (e & INFLATE_LITERAL) {
					put_literal(&out, e, unit);
					e = length[bits & LENGTH_MASK];
					refill_bits(&in, &bits, &count);
					continue;
				}
			}
			if (__builtin_expect(e & INFLATE_SPECIAL, 0)) {
				why = why_ended(e);
				break;
			}
		}
		size_t len = unit * (size_t)inflate_value(e, before);
		e = distance[bits & DISTANCE_MASK];
		refill_bits(&in, &bits, &count);
		if (__builtin_expect(e & INFLATE_SPECIAL, 0)) {
			e = second_distance(distance, e, &bits, &count);
			if (__builtin_expect(e & INFLATE_SPECIAL, 0)) {
				why = INFLATE_BAD;
				break;
			}
		}
		before = bits;
		drop_code(e, &bits, &count);
		size_t back = unit * (size_t)inflate_value(e, before);
		/* look up the next entry while this match is copied */
		e = length[bits & LENGTH_MASK];
		refill_bits(&in, &bits, &count);
		if (__builtin_expect(back > (size_t)(out - begin), 0)) {
			if (back > (size_t)(out - begin) + p->window_len) {
				why = INFLATE_BAD;
				break;
			}
			p->out = out;
			inflate_copy_window(p, back, len);
			out = p->out;
			continue;
		}
		copy_back(out, back, len);
		out += len;
	}
	p->in = in;
	p->out = out;
	put_bits(p, bits, count);
	return why;
}

static enum inflate_why
run_plain(struct inflate_place *p, const struct inflate_codes *c)
{
	return inflate_run(p, c, 1);
}

static enum inflate_why
run_plain_2(struct inflate_place *p, const struct inflate_codes *c)
{
	return inflate_run(p, c, 2);
}

WITH_BMI2 static enum inflate_why
run_bmi2(struct inflate_place *p, const struct inflate_codes *c)
{
	return inflate_run(p, c, 1);
}

WITH_BMI2 static enum inflate_why
run_bmi2_2(struct inflate_place *p, const struct inflate_codes *c)
{
	return inflate_run(p, c, 2);
}

inflate_fast_fn *
inflate_fast_choose(unsigned unit)
{
	if (unit == 1)
		return have_bmi2() ? run_bmi2 : run_plain;
	return have_bmi2() ? run_bmi2_2 : run_plain_2;
}
