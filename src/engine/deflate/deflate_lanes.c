/*
 * deflate_lanes.c - walking through one block from several places at once
 * SPDX-License-Identifier: BSD-2-Clause
 *
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
#include "engine/deflate/deflate_codes.h"

#include "base/bmi2.h"
#include "base/bytes.h"

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

/*
 * Handles a lane that is near the end of its segment, or whose walk has ended.
 */
static void
lane_event(struct lanes *s, struct lane *l)
{
	run_to(s->tab, s->in, &l->at, l->stop);
	if (l->before && !stopped(l->at.state)) {
		s->enter[l->seg % RING] = l->at;
		l->before = false;
		lane_until(l, s->begin + (l->seg + 1) * s->segment, s->limit);
		return;
	}
	if (l->before)
		s->enter[l->seg % RING].state = NEXT_BAD;
	s->leave[l->seg % RING] = l->at;
	lane_assign(s, l);
}

enum { GO_ON, RESTART, DONE };

/*
 * Sets *here to the position of the lane in the first unfinished segment, which
 * is known to be correct.
 */
static void
front_place(const struct lanes *s, struct place *here)
{
	for (int i = 0; i < LANES; i++) {
		if (s->lane[i].seg == s->front)
			*here = s->lane[i].at;
	}
}

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
			front_place(s, here);
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

			if (l->seg != IDLE && (stopped(l->at.state) ||
			    (int64_t)l->at.pos > l->soft))
				lane_event(s, l);
		}
		rc = advance(s, here);
	} while (rc == GO_ON);
	return rc;
}

void
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
