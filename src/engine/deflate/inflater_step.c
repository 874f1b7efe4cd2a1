/*
 * inflater_step.c - inflating a block's header, stored bytes and edge symbols
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A length and its distance have at most 48 bits together and are consumed as a
 * unit, so no symbol is ever partially decoded.  Incomplete input is kept in
 * bits or, for a block's header, in held.
 */
#include "inflater_impl.h"

#include "inflate_header.h"

#include <errno.h>
#include <string.h>

enum { TAKEN = 56 };	/* bits loaded near an edge, while there is input */

_Static_assert(INFLATE_CODE_MAX + INFLATE_LENGTH_EXTRA + INFLATE_CODE_MAX +
    INFLATE_DISTANCE_EXTRA <= TAKEN, "a length and its distance");
_Static_assert(TAKEN - 1 + 8 <= 64, "a byte more fits");

/* The header of a block */

static int
begin_block(struct inflater *f, const struct inflate_header *h)
{
	f->final = h->final;
	f->stored = h->stored;
	f->state = h->type == INFLATE_STORED ? INFLATER_STORED : INFLATER_SYMBOLS;
	return INFLATER_AGAIN;
}

/* Reads the rest of a header that begins in held. */
static int
go_on_header(struct inflater *f)
{
	struct inflate_place *p = &f->at, held;
	size_t room = sizeof(f->held) - f->held_len;
	size_t n = (size_t)(p->in_end - p->in);
	struct inflate_header h;
	int rc;

	n = n < room ? n : room;
	memcpy(f->held + f->held_len, p->in, n);
	held = (struct inflate_place){ .in = f->held,
	    .in_end = f->held + f->held_len + n, .bits = p->bits,
	    .count = p->count };
	rc = inflate_header(&h, &held, &f->codes);
	if (rc == -ENODATA) {
		/* held is full: a valid header would already have ended */
		f->held_len += n;
		p->in += n;
		return n == room ? -EBADMSG : STREAM_MORE;
	}
	if (rc != 0)
		return rc;
	p->in += held.in - f->held - f->held_len;
	p->bits = held.bits;
	p->count = held.count;
	f->held_len = 0;
	return begin_block(f, &h);
}

static int
take_header(struct inflater *f)
{
	struct inflate_place *p = &f->at;
	struct inflate_header h;
	int rc;

	if (f->held_len > 0 || p->in_end - p->in < INFLATE_HEADER_MAX)
		return go_on_header(f);
	rc = inflate_header(&h, p, &f->codes);
	return rc != 0 ? rc : begin_block(f, &h);
}

static int
end_of_block(struct inflater *f)
{
	f->state = f->final ? INFLATER_ENDED : INFLATER_HEADER;
	if (f->final)
		return STREAM_END;
	return (size_t)(f->at.out - f->at.begin) >= f->stop_after ?
	    INFLATER_BLOCK : INFLATER_AGAIN;
}

/* A stored block */

static int
step_stored(struct inflater *f)
{
	struct inflate_place *p = &f->at;
	size_t n;

	while (p->count > 0 && f->stored > 0 && p->out < p->out_end) {
		*p->out++ = (uint8_t)p->bits;
		p->bits >>= 8;
		p->count -= 8;
		f->stored--;
	}
	n = (size_t)(p->in_end - p->in);
	n = n < f->stored ? n : f->stored;
	if (n > (size_t)(p->out_end - p->out))
		n = (size_t)(p->out_end - p->out);
	if (p->count == 0 && n > 0) {
		memcpy(p->out, p->in, n);
		p->out += n;
		p->in += n;
		f->stored -= n;
	}
	return f->stored == 0 ? end_of_block(f) : STREAM_MORE;
}

/* Symbols near an edge */

static void
take_bits(struct inflate_place *p)
{
	while (p->count < TAKEN && p->in < p->in_end) {
		p->bits |= (uint64_t)*p->in++ << p->count;
		p->count += 8;
	}
}

/*
 * Returns the entry selected by the bits after the first *used bits, and adds
 * its bits to *used.
 */
static uint32_t
look_up(const struct inflate_place *p, const uint32_t *table,
    unsigned index_bits, unsigned *used)
{
	uint64_t bits = p->bits >> *used;
	uint32_t e = table[bits & ((1u << index_bits) - 1)];

	if (e & INFLATE_SUBTABLE) {
		*used += index_bits;
		e = inflate_subtable(table, e, bits >> index_bits);
	}
	*used += e & INFLATE_BITS;
	return e;
}

static void
copy_some(struct inflater *f)
{
	struct inflate_place *p = &f->at;
	size_t room = (size_t)(p->out_end - p->out);
	size_t n = f->copy_len < room ? f->copy_len : room;

	f->copy_len -= n;
	if (f->copy_back > (size_t)(p->out - p->begin)) {
		inflate_copy_window(p, f->copy_back, n);
		return;
	}
	while (n-- > 0) {
		*p->out = *(p->out - f->copy_back);
		p->out++;
	}
}

/*
 * Decodes a match whose length has the entry e and is within the first `used`
 * bits.
 */
static int
take_match(struct inflater *f, uint32_t e, unsigned used)
{
	struct inflate_place *p = &f->at;
	unsigned first = used - (e & INFLATE_BITS), both = used;
	uint32_t d = look_up(p, f->codes.distance, INFLATE_DISTANCE_BITS,
	    &both);

	if (both > p->count)
		return STREAM_MORE;
	if (d & INFLATE_SPECIAL)
		return -EBADMSG;
	f->copy_len = inflate_value(e, p->bits >> first);
	f->copy_back = inflate_value(d, p->bits >> (both - (d & INFLATE_BITS)));
	p->bits >>= both;
	p->count -= both;
	if (f->copy_back > (size_t)(p->out - p->begin) + p->window_len)
		return -EBADMSG;
	copy_some(f);
	return INFLATER_AGAIN;
}

/*
 * Decodes one literal, match or end symbol.  Returns STREAM_MORE if it needs
 * more bits or room.
 */
static int
take_symbol(struct inflater *f)
{
	struct inflate_place *p = &f->at;
	unsigned used = 0;
	uint32_t e;

	take_bits(p);
	e = look_up(p, f->codes.length, INFLATE_LENGTH_BITS, &used);
	if (used > p->count)
		return STREAM_MORE;
	if (e & INFLATE_NO_CODE)
		return -EBADMSG;
	if ((e & (INFLATE_LITERAL | INFLATE_END)) == 0)
		return take_match(f, e, used);
	if ((e & INFLATE_LITERAL) && p->out == p->out_end)
		return STREAM_MORE;
	p->bits >>= used;
	p->count -= used;
	if (e & INFLATE_END)
		return end_of_block(f);
	*p->out++ = (uint8_t)(e >> 16);
	return INFLATER_AGAIN;
}

static int
take_symbols(struct inflater *f)
{
	struct inflate_place *p = &f->at;

	if (f->copy_len > 0) {
		copy_some(f);
		return f->copy_len > 0 ? STREAM_MORE : INFLATER_AGAIN;
	}
	if (p->in_end - p->in > INFLATE_FAST_IN &&
	    p->out_end - p->out > INFLATE_FAST_OUT) {
		switch (f->fast(p, &f->codes)) {
		case INFLATE_BLOCK_END:
			return end_of_block(f);
		case INFLATE_BAD:
			return -EBADMSG;
		case INFLATE_NEAR_END:
			break;
		}
	}
	return take_symbol(f);
}

int
inflater_step(struct inflater *f)
{
	switch (f->state) {
	case INFLATER_HEADER:
		return take_header(f);
	case INFLATER_STORED:
		return step_stored(f);
	case INFLATER_SYMBOLS:
		return take_symbols(f);
	default:
		return STREAM_END;
	}
}
