/*
 * inflater.c - streaming raw inflate (RFC 1951)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Nearly everything is done by inflate_fast.c, within one piece of input and of
 * output space; this file handles their edges, and what lies between symbols.
 * A length and its distance have at most 48 bits together and are taken as a
 * unit, so nothing is ever half decoded: incomplete input waits in the bits or,
 * for a block's header, in held.
 */
#include "engine/deflate/inflater.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "inflate_fast.h"
#include "inflate_header.h"

#include <errno.h>
#include <string.h>

enum state { HEADER, STORED, SYMBOLS, ENDED };

enum {
	AGAIN = 2,		/* besides STREAM_MORE, STREAM_END and
				 * INFLATER_BLOCK: continue */
	TAKEN = 56		/* bits, near an edge, while there is input */
};

_Static_assert(INFLATE_CODE_MAX + INFLATE_LENGTH_EXTRA + INFLATE_CODE_MAX +
    INFLATE_DISTANCE_EXTRA <= TAKEN, "a length and its distance");
_Static_assert(TAKEN - 1 + 8 <= 64, "a byte more fits");

struct inflater {
	enum state state;
	bool final;			/* this is the last block */
	struct inflate_place at;	/* its pointers are those of this run */
	size_t stored;			/* bytes of the block still to come */
	size_t stop_after;		/* bytes of this run; SIZE_MAX: never */
	size_t copy_len, copy_back;	/* of a match that ran out of room */
	inflate_fast_fn *fast;
	struct inflate_codes codes;
	size_t held_len;
	uint8_t held[INFLATE_HEADER_MAX];	/* of a header so far */
	size_t window_len;
	uint8_t window[INFLATER_WINDOW];	/* the last output, at the end
						 * of the array */
};

int
inflater_open(struct inflater **out)
{
	struct inflater *f = sys_calloc(1, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	f->fast = inflate_fast_choose();
	f->stop_after = SIZE_MAX;
	*out = f;
	return 0;
}

void
inflater_close(struct inflater *f)
{
	sys_free(f);
}

void
inflater_start(struct inflater *f)
{
	f->state = HEADER;
	f->at.bits = f->at.count = 0;
	f->copy_len = 0;
	f->held_len = 0;
	f->window_len = 0;
	f->stop_after = SIZE_MAX;
}

void
inflater_prime(struct inflater *f, unsigned bits, uint8_t byte)
{
	f->at.bits = bits == 0 ? 0 : byte >> (8 - bits);
	f->at.count = bits;
}

void
inflater_stop_after(struct inflater *f, size_t made)
{
	f->stop_after = made;
}

void
inflater_mark(struct inflater *f, uint8_t *used_end)
{
	f->at.used_end = used_end;
}

unsigned
inflater_ahead(const struct inflater *f)
{
	return f->at.count;
}

void
inflater_saw(struct inflater *f, const uint8_t *out, size_t len)
{
	size_t keep = INFLATER_WINDOW - len;

	if (len >= INFLATER_WINDOW) {
		memcpy(f->window, out + len - INFLATER_WINDOW,
		    INFLATER_WINDOW);
		f->window_len = INFLATER_WINDOW;
		return;
	}
	if (len == 0)
		return;
	memmove(f->window, f->window + len, keep);
	memcpy(f->window + keep, out, len);
	f->window_len += len;
	if (f->window_len > INFLATER_WINDOW)
		f->window_len = INFLATER_WINDOW;
}

/* The header of a block */

static int
begin_block(struct inflater *f, const struct inflate_header *h)
{
	f->final = h->final;
	f->stored = h->stored;
	f->state = h->type == INFLATE_STORED ? STORED : SYMBOLS;
	return AGAIN;
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
		/* held has the maximum: it would not end like this */
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
end_block(struct inflater *f)
{
	f->state = f->final ? ENDED : HEADER;
	if (f->final)
		return STREAM_END;
	return (size_t)(f->at.out - f->at.begin) >= f->stop_after ?
	    INFLATER_BLOCK : AGAIN;
}

/* A stored block */

static int
take_stored(struct inflater *f)
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
	return f->stored == 0 ? end_block(f) : STREAM_MORE;
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
 * Returns the entry selected by the bits after the first used ones; adds to
 * used.
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

/* Takes a match whose length is in e, within the first used bits. */
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
	return AGAIN;
}

/*
 * Decodes one literal, match or end.  Returns STREAM_MORE if it needs more bits
 * or room.
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
		return end_block(f);
	*p->out++ = (uint8_t)(e >> 16);
	return AGAIN;
}

static int
take_symbols(struct inflater *f)
{
	struct inflate_place *p = &f->at;

	if (f->copy_len > 0) {
		copy_some(f);
		return f->copy_len > 0 ? STREAM_MORE : AGAIN;
	}
	if (p->in_end - p->in > INFLATE_FAST_IN &&
	    p->out_end - p->out > INFLATE_FAST_OUT) {
		switch (f->fast(p, &f->codes)) {
		case INFLATE_BLOCK_END:
			return end_block(f);
		case INFLATE_BAD:
			return -EBADMSG;
		case INFLATE_NEAR_END:
			break;
		}
	}
	return take_symbol(f);
}

static int
step(struct inflater *f)
{
	switch (f->state) {
	case HEADER:
		return take_header(f);
	case STORED:
		return take_stored(f);
	case SYMBOLS:
		return take_symbols(f);
	default:
		return STREAM_END;
	}
}

/* Decodes as far as input and room go. */
static int
run(struct inflater *f, const struct stream_io *io)
{
	struct inflate_place *p = &f->at;
	int rc;

	p->in = io->in;
	p->in_end = io->in + io->in_len;
	p->begin = p->out = io->out;
	p->out_end = io->out + io->out_len;
	p->window_end = f->window + INFLATER_WINDOW;
	p->window_len = f->window_len;
	do
		rc = step(f);
	while (rc == AGAIN);
	return rc;
}

int
inflater_run(struct inflater *f, struct stream_io *io)
{
	struct inflate_place *p = &f->at;
	int rc = run(f, io);

	f->stop_after = SIZE_MAX;
	inflater_saw(f, p->begin, (size_t)(p->out - p->begin));
	io->in = p->in;
	io->in_len = (size_t)(p->in_end - p->in);
	io->out = p->out;
	io->out_len = (size_t)(p->out_end - p->out);
	if (rc == STREAM_MORE && io->eof && io->in_len == 0 &&
	    io->out_len > 0)
		return -ENODATA;
	return rc;
}

size_t
inflater_unused(const struct inflater *f, uint8_t unused[8])
{
	store_le64(unused, f->at.bits >> f->at.count % 8);
	return f->at.count / 8;
}

bool
inflater_at_boundary(const struct inflater *f)
{
	return f->state == HEADER && f->at.count == 0 && f->held_len == 0;
}

int
inflater_piece(struct inflater *f, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap, struct inflated *r)
{
	struct stream_io io = { .in = in, .in_len = len, .out = out,
	    .out_len = cap + INFLATER_SPARE };
	int rc;

	inflater_start(f);
	rc = run(f, &io);
	r->final = rc == STREAM_END;
	r->used = (size_t)(f->at.in - in);
	r->made = (size_t)(f->at.out - out);
	if (r->final)
		r->used -= f->at.count / 8;
	else if (rc < 0 || r->used < len || !inflater_at_boundary(f))
		return -EBADMSG;
	return r->made <= cap ? 0 : -EBADMSG;
}
