/*
 * deflate_walk.c - the blocks of a deflate stream (RFC 1951)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The codes of a block are walked from several places at once.
 * Each step depends on the previous one, but a processor can interleave several
 * walks.  The block is cut into segments, and each lane walks one of them,
 * starting from a guessed position a little before it, because Huffman codes
 * synchronize quickly.  Guesses are verified: a segment is accepted only if the
 * walk of the previous segment, which is known to be right, ends at the bit and
 * in the state in which this segment's walk entered the segment; from there on
 * the two walks are identical.  Otherwise everything restarts there, with
 * longer segments, because codes of nearly equal lengths synchronize slowly.
 *
 * A walk leaves or enters a segment at the first position at or after its
 * boundary, so the last steps before a boundary are single ones.
 *
 * This pays off where only lengths are needed, as for pzc -l.  On gzip files
 * from other programs, a single lane took 1.6 to 2.6 times as long, and
 * inflating took 2.1 to 2.5 times as long.
 */
#include "engine/deflate/deflate_walk.h"

#include "base/cpu.h"
#include "base/bytes.h"
#include "engine/deflate/deflate_codes.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* A position in the walk; state is the entry that led to it. */
struct place {
	uint64_t pos;		/* bits */
	uint32_t state;
};

static inline bool
stopped(uint32_t state)
{
	return ENTRY_MASK(state) == 0;
}

/* Advances by one table entry; *bits are the next bits of the stream. */
EACH uint32_t
lane_step(const uint32_t *tab, uint32_t state, uint64_t *bits)
{
	const uint32_t *t = (const uint32_t *)(const void *)
	    ((const char *)tab + ENTRY_PLACE(state));
	uint32_t e = t[*bits & ENTRY_MASK(state)];

	*bits >>= ENTRY_DROP(e);
	return e;
}

/*
 * One load provides 57 bits, the maximum for three entries: a distance, a
 * length and a distance, with their extra bits.
 */
enum { STEP3_BITS = 57 };
_Static_assert(2 * (DIST_BITS + DISTANCE_EXTRA) + LIT_BITS + LENGTH_EXTRA <=
    STEP3_BITS && CODE_MAX - DIST_BITS + DISTANCE_EXTRA + LIT_BITS +
    LENGTH_EXTRA + DIST_BITS + DISTANCE_EXTRA <= STEP3_BITS,
    "three entries must fit");

EACH void
step3(const uint32_t *tab, const uint8_t *in, struct place *l)
{
	uint64_t bits = load_le64(in + (l->pos >> 3)) >> (l->pos & 7);
	uint32_t e1 = lane_step(tab, l->state, &bits);
	uint32_t e2 = lane_step(tab, e1, &bits);
	uint32_t e3 = lane_step(tab, e2, &bits);

	/* The sum is below 64, so higher bits do not matter. */
	l->pos += ENTRY_DROP(e1 + e2 + e3);
	l->state = e3;
}

/* Walks to the first entry at or after bit stop, or to the end of the block. */
static void
run_to(const uint32_t *tab, const uint8_t *in, struct place *l, uint64_t stop)
{
	while (l->pos + STEP3_BITS <= stop && !stopped(l->state))
		step3(tab, in, l);
	while (l->pos < stop && !stopped(l->state)) {
		uint64_t bits = load_le64(in + (l->pos >> 3)) >> (l->pos & 7);

		l->state = lane_step(tab, l->state, &bits);
		l->pos += ENTRY_DROP(l->state);
	}
}

enum {
	LANES = 4,
	RING = 16,		/* maximum number of segments in flight */
	SEGMENT_MIN = 4096,	/* bits; libdeflate's blocks have about 40000 */
	SEGMENT_MAX = 128 << 10,
	GROWTH = 4,
	RUN_UP = 8,		/* the run-up is this fraction of a segment */
};
#define IDLE UINT64_MAX		/* the segment of an idle lane */
#define UNKNOWN UINT32_MAX	/* state of a position not yet reached */

struct lane {
	struct place at;
	int64_t soft;		/* no checks are needed while pos is below
				 * this */
	uint64_t stop;
	uint64_t seg;
	bool before;		/* segment not reached yet */
};

struct lanes {
	const uint32_t *tab;
	const uint8_t *in;
	uint64_t begin;		/* beginning of segment 0 */
	uint64_t segment;	/* bits per segment */
	uint64_t limit;		/* loads must begin before this bit */
	uint64_t front;		/* everything up to the beginning of this
				 * segment is verified */
	uint64_t next;		/* next segment to assign */
	struct place enter[RING], leave[RING];
	struct lane lane[LANES];
};

static void
lane_until(struct lane *l, uint64_t stop, uint64_t limit)
{
	l->stop = stop < limit ? stop : limit;
	l->soft = (int64_t)l->stop - STEP3_BITS;
}

/* Assigns the next segment or, if none is left, makes the lane idle. */
static void
lane_assign(struct lanes *s, struct lane *l)
{
	uint64_t begin = s->begin + s->next * s->segment;

	if (begin >= s->limit) {
		*l = (struct lane){
			.at = { s->begin, NEXT_END },
			.soft = INT64_MAX, .stop = UINT64_MAX, .seg = IDLE
		};
		return;
	}
	l->seg = s->next++;
	l->before = l->seg != 0;
	s->leave[l->seg % RING].state = UNKNOWN;
	s->enter[l->seg % RING].state = UNKNOWN;
	l->at.state = NEXT_LIT;
	l->at.pos = l->before ? begin - s->segment / RUN_UP : begin;
	lane_until(l, l->before ? begin : begin + s->segment, s->limit);
}

enum { GO_ON, RESTART, DONE };

/* Joins verified segments; *here is the last position known to be correct. */
static int
advance(struct lanes *s, struct place *here)
{
	for (;; s->front++) {
		const struct place *out = &s->leave[s->front % RING];
		const struct place *in = &s->enter[(s->front + 1) % RING];

		if (out->state == UNKNOWN) {
			if (s->next - s->front < RING - LANES)
				return GO_ON;
			/* the lane there is known to be right */
			for (int i = 0; i < LANES; i++)
				if (s->lane[i].seg == s->front)
					*here = s->lane[i].at;
			return RESTART;
		}
		*here = *out;
		if (stopped(out->state) || out->pos >= s->limit)
			return DONE;
		if (in->state == UNKNOWN)
			return GO_ON;
		if (in->pos != out->pos || NEXT_OF(in->state) !=
		    NEXT_OF(out->state))
			return RESTART;
	}
}

/*
 * Works on copies of the lanes, so that the compiler keeps them in registers.
 */
EACH void
run_lanes(struct lanes *s)
{
	const uint32_t *tab = s->tab;
	const uint8_t *in = s->in;
	struct place a = s->lane[0].at, b = s->lane[1].at;
	struct place c = s->lane[2].at, d = s->lane[3].at;
	int64_t sa = s->lane[0].soft, sb = s->lane[1].soft;
	int64_t sc = s->lane[2].soft, sd = s->lane[3].soft;

	/* Limited: a lane that has stopped never reaches its end. */
	for (int i = 0; i < 256; i++) {
		if (((sa - (int64_t)a.pos) | (sb - (int64_t)b.pos) |
		    (sc - (int64_t)c.pos) | (sd - (int64_t)d.pos)) < 0)
			break;
		step3(tab, in, &a);
		step3(tab, in, &b);
		step3(tab, in, &c);
		step3(tab, in, &d);
	}
	s->lane[0].at = a;
	s->lane[1].at = b;
	s->lane[2].at = c;
	s->lane[3].at = d;
}

static void
run_plain(struct lanes *s)
{
	run_lanes(s);
}

WITH_BMI2 static void
run_bmi2(struct lanes *s)
{
	run_lanes(s);
}

/* Walks from *here until a guess proves wrong or the block ends. */
static int
run_segments(struct lanes *s, struct place *here)
{
	bool bmi2 = have_bmi2();
	int rc;

	s->begin = here->pos;
	s->front = s->next = 0;
	for (int i = 0; i < LANES; i++)
		lane_assign(s, &s->lane[i]);
	s->lane[0].at = *here;
	do {
		(bmi2 ? run_bmi2 : run_plain)(s);
		for (int i = 0; i < LANES; i++) {
			struct lane *l = &s->lane[i];

			if (l->seg == IDLE || (!stopped(l->at.state) &&
			    (int64_t)l->at.pos <= l->soft))
				continue;
			/* near the end of the segment, or the walk has ended */
			run_to(s->tab, s->in, &l->at, l->stop);
			if (l->before && !stopped(l->at.state)) {
				s->enter[l->seg % RING] = l->at;
				l->before = false;
				lane_until(l, s->begin + (l->seg + 1) *
				    s->segment, s->limit);
				continue;
			}
			if (l->before)
				s->enter[l->seg % RING].state = NEXT_BAD;
			s->leave[l->seg % RING] = l->at;
			lane_assign(s, l);
		}
		rc = advance(s, here);
	} while (rc == GO_ON);
	return rc;
}

/*
 * Walks from *here to the end of the block, or to the first position at or
 * after bit `limit` if that comes first.  Eight bytes must be readable at any
 * bit before limit.
 */
static void
lanes_walk(const uint32_t *tab, const uint8_t *in, struct place *here,
    uint64_t limit)
{
	struct lanes s;

	s.tab = tab;
	s.in = in;
	s.limit = limit;
	s.segment = SEGMENT_MIN;
	while (here->pos + 2 * s.segment < limit) {
		if (run_segments(&s, here) == DONE)
			return;
		if (s.segment < SEGMENT_MAX)
			s.segment *= GROWTH;
	}
	run_to(tab, in, here, limit);
}

/* Headers and blocks */

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

/* Reads the code lengths of both codes, and fills the tables. */
static int
dynamic_tables(struct bit_walk *w)
{
	static const struct {
		uint8_t bits, least;
	} repeat[] = { { 2, 3 }, { 3, 3 }, { 7, 11 } };
	const uint32_t *t = w->tab + PRE_TABLE;
	uint8_t lens[LITLEN_SYMS + DIST_SYMS], pre[PRE_SYMS] = { 0 };
	unsigned nlit = take_bits(w, 5) + 257;
	unsigned ndist = take_bits(w, 5) + 1;
	unsigned npre = take_bits(w, 4) + 4, n = nlit + ndist;
	uint64_t bits;

	if (nlit > 286 || ndist > 30)
		return -EBADMSG;
	bits = peek(w);
	for (unsigned i = 0; i < npre; i++, bits >>= 3)
		pre[codes_pre_order[i]] = bits & 7;
	w->pos += npre * 3;
	if (codes_pre(w->tab, pre) != 0)
		return -EBADMSG;
	for (unsigned i = 0, times; i < n; i += times) {
		uint32_t e;
		unsigned sym, used;

		bits = peek(w);
		e = t[bits & ((1 << PRE_MAX) - 1)];
		sym = e >> 8;
		used = e & 0xff;
		if (sym < 16) {
			lens[i] = (uint8_t)sym;
			w->pos += used;
			times = 1;
			continue;
		}
		sym -= 16;
		times = repeat[sym].least + ((unsigned)(bits >> used) &
		    ((1U << repeat[sym].bits) - 1));
		if (times > n - i || (sym == 0 && i == 0))
			return -EBADMSG;
		memset(lens + i, sym == 0 ? lens[i - 1] : 0, times);
		w->pos += used + repeat[sym].bits;
	}
	if (past_end(w) || lens[END_OF_BLOCK] == 0)
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

int
deflate_walk(const uint8_t *in, size_t len, struct deflate_last *last)
{
	struct bit_walk w;
	uint64_t header;
	unsigned final, n;

	w.in = in;
	w.len = len;
	w.pos = 0;
	w.fixed = false;
	do {
		header = w.pos;
		final = take_bits(&w, 1);
		switch (take_bits(&w, 2)) {
		case 0:
			w.pos = (w.pos + 7) & ~(uint64_t)7;
			n = take_bits(&w, 16);
			if (past_end(&w) || take_bits(&w, 16) != (n ^ 0xffff))
				return -EBADMSG;
			w.pos += (uint64_t)n * 8;
			if (past_end(&w))
				return -EBADMSG;
			break;
		case 1:
			if (!w.fixed)
				codes_fixed(w.tab);
			w.fixed = true;
			if (walk_codes(&w) != 0)
				return -EBADMSG;
			break;
		case 2:
			w.fixed = false;
			if (dynamic_tables(&w) != 0 || walk_codes(&w) != 0)
				return -EBADMSG;
			break;
		default:
			return -EBADMSG;
		}
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
