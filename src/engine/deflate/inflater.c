/*
 * inflater.c - streaming raw inflate (RFC 1951)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * inflate_fast.c decodes nearly all symbols.  What is here handles headers,
 * stored blocks, and symbols near the ends of the input and of the output
 * space.  A length and its distance have at most 48 bits together and are
 * consumed as a unit, so no symbol is ever partially decoded.  Incomplete input
 * is kept in bits or, for a block's header, in held.
 */
#include "engine/deflate/inflater.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "inflate_fast.h"

#include <errno.h>
#include <string.h>

enum {
	TAKEN = 56,	/* bits loaded near an edge, while there is input */
	/* bytes in a header: 17 + 19 * 3 + (286 + 30) * (7 + 7) bits */
	HEADER_MAX = 576,
	MOST_LENGTHS = 286, MOST_DISTANCES = 30,
	END_OF_BLOCK = 256,
	REPEAT = 16, ZEROS = 17, MORE_ZEROS = 18,
	AGAIN = 2	/* a result besides STREAM_MORE, STREAM_END and
			 * INFLATER_BLOCK: take another step */
};

_Static_assert(INFLATE_CODE_MAX + INFLATE_LENGTH_EXTRA + INFLATE_CODE_MAX +
    INFLATE_DISTANCE_EXTRA <= TAKEN, "a length and its distance");
_Static_assert(TAKEN - 1 + 8 <= 64, "a byte more fits");

struct inflater {
	enum { HEADER, STORED, SYMBOLS, ENDED } state;
	bool final;			/* this is the last block */
	struct inflate_place at;	/* the pointers in it are valid only
					 * during this call */
	size_t stored;			/* bytes left in the block */
	uint64_t copied;		/* bytes of all stored blocks */
	size_t stop_after;		/* bytes in this call; SIZE_MAX:
					 * never */
	size_t copy_len, copy_back;	/* rest of a match that ran out of
					 * room */
	inflate_fast_fn *fast[2];		/* for units of 1 and 2 bytes */
	struct inflate_codes codes;
	size_t held_len;
	uint8_t held[HEADER_MAX];	/* the part of a header read
						 * so far */
	size_t window_len;
	uint8_t window[INFLATER_WINDOW];	/* the last output, at the end
						 * of the array */
};

/* The header of a block (3.2.3, 3.2.4 and 3.2.7) */

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
precode_symbol(struct header_bits *r, const uint32_t *table)
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

/* Reads the lengths of the block's codewords, and builds its codes. */
static bool
read_dynamic(struct header_bits *r, struct inflate_codes *c)
{
	static const uint8_t order[INFLATE_PRECODES] = { 16, 17, 18, 0, 8, 7,
		9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
	unsigned lengths = 257 + read_bits(r, 5);
	unsigned distances = 1 + read_bits(r, 5);
	unsigned headers = 4 + read_bits(r, 4);
	unsigned count = lengths + distances, i = 0;
	uint32_t table[INFLATE_PRECODE_SIZE];
	uint8_t bits[MOST_LENGTHS + MOST_DISTANCES];
	uint8_t precode[INFLATE_PRECODES] = { 0 };

	if (lengths > MOST_LENGTHS || distances > MOST_DISTANCES)
		return false;
	for (unsigned k = 0; k < headers; k++)
		precode[order[k]] = (uint8_t)read_bits(r, 3);
	if (r->short_of || !inflate_precode(table, precode))
		return false;
	while (i < count) {
		unsigned symbol = precode_symbol(r, table), n;
		uint8_t value = 0;

		if (r->short_of)
			return false;
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
			return false;
		memset(bits + i, value, n);
		i += n;
	}
	return !r->short_of && bits[END_OF_BLOCK] != 0 &&
	    inflate_length_codes(c, bits, lengths) &&
	    inflate_distance_codes(c, bits + lengths, distances);
}

/*
 * Reads the header at p and builds its codes.  Consumes only the bytes at p->in
 * that it needs.  Returns AGAIN, -ENODATA (the header extends past p->in_end; p
 * has not moved) or -EBADMSG.
 */
static int
block_header(struct inflater *f, struct inflate_place *p)
{
	struct header_bits r = { .p = *p };
	bool final = read_bits(&r, 1), good = false;
	unsigned type = read_bits(&r, 2), stored = 0;

	switch (type) {
	case 0:
		read_bits(&r, r.p.count % 8);
		stored = read_bits(&r, 16);
		good = (stored ^ read_bits(&r, 16)) == 0xffff;
		break;
	case 1:
		inflate_fixed_codes(&f->codes);
		good = true;
		break;
	case 2:
		good = read_dynamic(&r, &f->codes);
		break;
	}
	if (r.short_of)
		return -ENODATA;
	if (!good)
		return -EBADMSG;
	f->copied += stored;
	f->final = final;
	f->stored = stored;
	f->state = type == 0 ? STORED : SYMBOLS;
	*p = r.p;
	return AGAIN;
}

static int
take_header(struct inflater *f)
{
	struct inflate_place *p = &f->at, held;
	size_t room = sizeof(f->held) - f->held_len;
	size_t n = (size_t)(p->in_end - p->in);
	int rc;

	if (f->held_len == 0 && n >= HEADER_MAX)
		return block_header(f, p);
	/* read the rest of a header that begins in held */
	n = n < room ? n : room;
	memcpy(f->held + f->held_len, p->in, n);
	held = (struct inflate_place){ .in = f->held,
	    .in_end = f->held + f->held_len + n, .bits = p->bits,
	    .count = p->count };
	rc = block_header(f, &held);
	if (rc == -ENODATA) {
		/* held is full: a valid header would already have ended */
		f->held_len += n;
		p->in += n;
		return n == room ? -EBADMSG : STREAM_MORE;
	}
	if (rc < 0)
		return rc;
	p->in += held.in - f->held - f->held_len;
	p->bits = held.bits;
	p->count = held.count;
	f->held_len = 0;
	return rc;
}

static int
end_of_block(struct inflater *f)
{
	f->state = f->final ? ENDED : HEADER;
	if (f->final)
		return STREAM_END;
	return (size_t)(f->at.out - f->at.begin) >= f->stop_after ?
	    INFLATER_BLOCK : AGAIN;
}

/* Returns how many bytes of output there is space for. */
static size_t
room(const struct inflate_place *p)
{
	return (size_t)(p->out_end - p->out) / p->unit;
}

static void
put_byte(struct inflate_place *p, uint8_t byte)
{
	inflate_put(p->out, p->unit, byte);
	p->out += p->unit;
}

/* A stored block */

static int
step_stored(struct inflater *f)
{
	struct inflate_place *p = &f->at;
	size_t n;

	while (p->count > 0 && f->stored > 0 && p->out < p->out_end) {
		put_byte(p, (uint8_t)p->bits);
		p->bits >>= 8;
		p->count -= 8;
		f->stored--;
	}
	n = (size_t)(p->in_end - p->in);
	n = n < f->stored ? n : f->stored;
	if (n > room(p))
		n = room(p);
	if (p->count > 0 || n == 0)
		return f->stored == 0 ? end_of_block(f) : STREAM_MORE;
	f->stored -= n;
	if (p->unit == 1) {
		memcpy(p->out, p->in, n);
		p->out += n;
		p->in += n;
	} else {
		while (n-- > 0)
			put_byte(p, *p->in++);
	}
	return f->stored == 0 ? end_of_block(f) : STREAM_MORE;
}

/* Symbols near an edge */

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
	size_t n = f->copy_len < room(p) ? f->copy_len : room(p);
	size_t back = p->unit * f->copy_back;

	f->copy_len -= n;
	if (back > (size_t)(p->out - p->begin)) {
		inflate_copy_window(p, f->copy_back, n);
		return;
	}
	for (n *= p->unit; n > 0; n--) {
		*p->out = *(p->out - back);
		p->out++;
	}
}

/*
 * Decodes one literal, match or end symbol.  Returns STREAM_MORE if it needs
 * more bits or room.
 */
static int
edge_symbol(struct inflater *f)
{
	struct inflate_place *p = &f->at;
	unsigned used = 0, both;
	uint32_t e, d;

	while (p->count < TAKEN && p->in < p->in_end) {
		p->bits |= (uint64_t)*p->in++ << p->count;
		p->count += 8;
	}
	e = look_up(p, f->codes.length, INFLATE_LENGTH_BITS, &used);
	if (used > p->count)
		return STREAM_MORE;
	if (e & INFLATE_NO_CODE)
		return -EBADMSG;
	if (e & (INFLATE_LITERAL | INFLATE_END)) {
		if ((e & INFLATE_LITERAL) && p->out == p->out_end)
			return STREAM_MORE;
		p->bits >>= used;
		p->count -= used;
		if (e & INFLATE_END)
			return end_of_block(f);
		put_byte(p, (uint8_t)(e >> 16));
		return AGAIN;
	}
	both = used;
	d = look_up(p, f->codes.distance, INFLATE_DISTANCE_BITS, &both);
	if (both > p->count)
		return STREAM_MORE;
	if (d & INFLATE_SPECIAL)
		return -EBADMSG;
	f->copy_len = inflate_value(e, p->bits >> (used - (e & INFLATE_BITS)));
	f->copy_back = inflate_value(d, p->bits >> (both - (d & INFLATE_BITS)));
	p->bits >>= both;
	p->count -= both;
	if (p->unit * f->copy_back >
	    (size_t)(p->out - p->begin) + p->window_len)
		return -EBADMSG;
	copy_some(f);
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
	    room(p) > INFLATE_FAST_OUT) {
		switch (f->fast[p->unit - 1](p, &f->codes)) {
		case INFLATE_BLOCK_END:
			return end_of_block(f);
		case INFLATE_BAD:
			return -EBADMSG;
		case INFLATE_NEAR_END:
			break;
		}
	}
	return edge_symbol(f);
}

/* The stream */

int
inflater_open(struct inflater **out)
{
	struct inflater *f = sys_calloc(1, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	f->fast[0] = inflate_fast_choose(1);
	f->fast[1] = inflate_fast_choose(2);
	f->at.unit = 1;
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
inflater_move(struct inflater *f)
{
	f->state = HEADER;
	f->at.bits = f->at.count = 0;
	f->copy_len = 0;
	f->held_len = 0;
	f->stop_after = SIZE_MAX;
}

void
inflater_start(struct inflater *f)
{
	inflater_move(f);
	f->window_len = 0;
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

/* Decodes as far as input and output space allow. */
static int
take_steps(struct inflater *f)
{
	int rc = AGAIN;

	while (rc == AGAIN) {
		switch (f->state) {
		case HEADER:
			rc = take_header(f);
			break;
		case STORED:
			rc = step_stored(f);
			break;
		case SYMBOLS:
			rc = take_symbols(f);
			break;
		default:
			rc = STREAM_END;
		}
	}
	return rc;
}

static int
run_steps(struct inflater *f, const struct stream_io *io)
{
	struct inflate_place *p = &f->at;

	p->in = io->in;
	p->in_end = io->in + io->in_len;
	p->begin = p->out = io->out;
	p->out_end = io->out + io->out_len;
	p->window_end = f->window + INFLATER_WINDOW;
	p->window_len = f->window_len;
	return take_steps(f);
}

int
inflater_run(struct inflater *f, struct stream_io *io)
{
	struct inflate_place *p = &f->at;
	int rc = run_steps(f, io);

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

const uint8_t *
inflater_window(const struct inflater *f, size_t *len)
{
	*len = f->window_len;
	return f->window + INFLATER_WINDOW - f->window_len;
}

/* Places f at a bit of `in`, before a block; what is beyond `in` is its end. */
static void
place(struct inflater *f, const uint8_t *in, size_t len, uint64_t bit)
{
	struct inflate_place *p = &f->at;

	inflater_start(f);
	p->in = in + (bit / 8 < len ? (size_t)(bit / 8) : len);
	p->in_end = in + len;
	if (bit % 8 != 0 && p->in < p->in_end)
		inflater_prime(f, (unsigned)(8 - bit % 8), *p->in++);
}

int
inflater_block(struct inflater *f, const uint8_t *in, size_t len,
    struct inflate_block *b)
{
	struct inflate_place *p = &f->at;
	int rc;

	place(f, in, len, b->bit);
	p->unit = b->unit;
	p->begin = b->begin;
	p->out = b->out;
	p->out_end = b->end;
	p->window_len = 0;
	f->stop_after = 0;
	rc = take_steps(f);
	p->unit = 1;
	b->reached = (uint64_t)(p->in - in) * 8 - p->count;
	if (rc == STREAM_MORE)
		return p->out == p->out_end ? -ENOBUFS : -ENODATA;
	if (rc < 0)
		return rc;
	b->bit = b->reached;
	b->out = p->out;
	return rc;
}

bool
inflater_begins(struct inflater *f, const uint8_t *in, size_t len,
    uint64_t bit)
{
	place(f, in, len, bit);
	return block_header(f, &f->at) == AGAIN;
}

size_t
inflater_unused(const struct inflater *f, uint8_t unused[8])
{
	store_le64(unused, f->at.bits >> f->at.count % 8);
	return f->at.count / 8;
}

uint64_t
inflater_copied(const struct inflater *f)
{
	return f->copied;
}

bool
inflater_between(const struct inflater *f)
{
	return f->state == HEADER && f->held_len == 0;
}

bool
inflater_at_boundary(const struct inflater *f)
{
	return inflater_between(f) && f->at.count == 0;
}

int
inflater_piece(struct inflater *f, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap, struct inflated *r)
{
	struct stream_io io = { .in = in, .in_len = len, .out = out,
	    .out_len = cap + INFLATER_SPARE };
	int rc;

	inflater_start(f);
	rc = run_steps(f, &io);
	r->final = rc == STREAM_END;
	r->used = (size_t)(f->at.in - in);
	r->made = (size_t)(f->at.out - out);
	if (r->final)
		r->used -= f->at.count / 8;
	else if (rc < 0 || r->used < len || !inflater_at_boundary(f))
		return -EBADMSG;
	return r->made <= cap ? 0 : -EBADMSG;
}
