/*
 * deflate_guess.c - decoding the middle of a stream before what precedes it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * s->spare begins with the numbers 256 to 256 + INFLATER_WINDOW - 1, which stand
 * for the output before the piece; decoded data follows.  Once the last
 * INFLATER_WINDOW of it contain no such number, blocks are decoded as bytes, to
 * s->out, where that window already is.  In the end, deflate_guess_window()
 * replaces the beginning of s->spare by a table from numbers to bytes.
 */
#include "deflate_guess.h"

#include "base/bytes.h"
#include "deflate_marks.h"

#include <errno.h>
#include <string.h>

enum {
	WIDE = sizeof(uint16_t),
	KNOWN = 256,			/* smaller numbers are bytes */
	WINDOW = INFLATER_WINDOW,
	SPACE_LEAST = 1 << 20,		/* output, in bytes; doubled up to: */
	SPACE_MOST = 8 << 20,
	EXPANDS_MOST = 24,		/* one thread is faster where it is more */
	GROUP = 8,			/* numbers looked at together */
	TRIES = 4,
	FIRST_MOST = 128 << 10,		/* bytes before a piece's first block */
	STORED_MOST = 66000		/* bytes of a stored block, and its
					 * header */
};

_Static_assert((WIDE + 1) * (SPACE_MOST + WIDE * WINDOW) <= DEFLATE_GUESS_B,
    "more_space() stops there");
_Static_assert(KNOWN + WINDOW <= WIDE * WINDOW,
    "the table fits before the data");

/* Returns the numbers; memory from malloc() is aligned. */
static uint16_t *
wide(struct slot *s)
{
	return (uint16_t *)(void *)s->spare.data;
}

/* Returns how many numbers have been decoded. */
static size_t
made_wide(const struct slot *s, const struct inflate_block *b)
{
	return (size_t)(b->out - s->spare.data) / WIDE - WINDOW;
}

/* Returns how much has been decoded. */
static size_t
made_in_all(const struct slot *s, const struct inflate_block *b)
{
	return b->unit == 1 ? (size_t)(b->out - s->out.data) :
	    made_wide(s, b);
}

/* Numbers and bytes that a processor may be able to handle together. */
typedef uint16_t numbers __attribute__((vector_size(GROUP * WIDE)));
typedef uint8_t bytes __attribute__((vector_size(GROUP)));

/* Returns whether all numbers of a group are bytes. */
static inline bool
known(const numbers *group)
{
	uint64_t w[GROUP * WIDE / sizeof(uint64_t)], all = 0;

	memcpy(w, group, sizeof(w));
	for (unsigned i = 0; i < sizeof(w) / sizeof(*w); i++)
		all |= w[i];
	return (all & UINT64_C(0xff00ff00ff00ff00)) == 0;
}

/* Returns whether the n numbers before `end` are bytes. */
static bool
all_known(const uint16_t *end, size_t n)
{
	numbers group;

	/* usually the last ones are not */
	for (const uint16_t *p = end - GROUP; n > 0; p -= GROUP, n -= GROUP) {
		memcpy(&group, p, sizeof(group));
		if (!known(&group))
			return false;
	}
	return true;
}

/* Looks numbers up in the table; most groups need only be narrowed. */
static void
fill_in(uint8_t *out, const uint16_t *p, size_t n, const uint8_t *table)
{
	numbers group;
	bytes low;

	for (; n >= GROUP; n -= GROUP, p += GROUP, out += GROUP) {
		memcpy(&group, p, sizeof(group));
		if (known(&group)) {
			low = __builtin_convertvector(group, bytes);
			memcpy(out, &low, sizeof(low));
			continue;
		}
		for (unsigned i = 0; i < GROUP; i++)
			out[i] = table[p[i]];
	}
	while (n-- > 0)
		*out++ = table[*p++];
}

/*
 * Makes room for more output at b->out, which is in `to`.  Returns 0, -ENOBUFS
 * if that would be too much, for the input that was decoded since bit `from` or
 * at all, or -ENOMEM.
 */
static int
more_space(struct buf *to, struct inflate_block *b, uint64_t from)
{
	size_t made = (size_t)(b->out - to->data), least = WIDE * WINDOW;
	size_t begin = (size_t)(b->begin - to->data), cap = to->cap;
	int rc;

	cap = cap < b->unit * SPACE_LEAST ? b->unit * SPACE_LEAST : 2 * cap;
	if (cap > b->unit * SPACE_MOST)
		cap = b->unit * SPACE_MOST;
	if (cap + least <= to->cap ||
	    to->cap / b->unit > (b->reached - from) / 8 * EXPANDS_MOST)
		return -ENOBUFS;
	rc = buf_reserve(to, cap + least);
	b->begin = to->data + begin;
	b->out = to->data + made;
	b->end = to->data + to->cap / WIDE * WIDE;
	return rc;
}

/* Makes the table, in place of the numbers for the output before the piece. */
static void
make_table(struct slot *s, const uint8_t *window)
{
	for (unsigned i = 0; i < KNOWN; i++)
		s->spare.data[i] = (uint8_t)i;
	memcpy(s->spare.data + KNOWN, window, WINDOW);
}

/*
 * Continues in s->out, with bytes, after the n numbers decoded so far.  The table
 * is needed unless the last WINDOW of them are bytes.
 */
static int
narrow(struct slot *s, struct inflate_block *b, size_t n)
{
	size_t open = n - WINDOW;
	int rc = buf_reserve(&s->out, n + WINDOW);

	if (rc != 0)
		return rc;
	fill_in(s->out.data + open, wide(s) + n, WINDOW, s->spare.data);
	inflate_notes(s)->open = open;
	b->begin = s->out.data + open;
	b->out = s->out.data + n;
	b->end = s->out.data + s->out.cap;
	b->unit = 1;
	return 0;
}

/*
 * Decodes with bytes, if possible, what follows the n numbers decoded so far.
 * Returns 0, -ENOMEM, or -ESTALE if the guess was wrong; then *from is right.
 */
static int
try_narrow(const struct deflate_guesser *g, struct slot *s,
    struct inflate_block *b, size_t n, int64_t *from)
{
	struct deflate_known known;

	if (n < WINDOW)
		return 0;
	if (all_known(wide(s) + WINDOW + n, WINDOW))
		return narrow(s, b, n);
	if (!g->know(g->arg, s, &known))
		return 0;
	if (known.bit > inflate_notes(s)->from) {
		*from = known.bit;
		return -ESTALE;
	}
	if (!deflate_guessed(s, known.bit))
		return 0;
	make_table(s, known.window);
	return narrow(s, b, n);
}

/*
 * Decodes blocks from b->bit up to the first one at or after bit `to`, or as
 * many as can be noted.  Returns INFLATER_BLOCK, STREAM_END, or why it ended
 * earlier: -ENOBUFS, -ENODATA, -EBADMSG or -ESTALE (see try_narrow()); or
 * -ENOMEM.
 */
static int
decode(const struct deflate_guesser *g, struct slot *s,
    struct inflate_block *b, uint64_t to, int64_t *from)
{
	int rc = INFLATER_BLOCK;

	while (rc == INFLATER_BLOCK && b->bit < to &&
	    !deflate_marks_full(s)) {
		rc = b->unit == 1 ? 0 :
		    try_narrow(g, s, b, made_wide(s, b), from);
		if (rc != 0)
			break;
		rc = inflater_block(g->inflater, s->in.data, s->in.len, b);
		if (rc == INFLATER_BLOCK && g->places &&
		    deflate_marks_note(s, PLACE_BLOCK, b->bit,
		    made_in_all(s, b)) != 0)
			rc = -ENOMEM;
		if (rc != -ENOBUFS)
			continue;
		rc = more_space(b->unit == 1 ? &s->out : &s->spare, b,
		    inflate_notes(s)->from);
		if (rc == 0)
			rc = INFLATER_BLOCK;
	}
	return rc;
}

/*
 * Decodes from the bit found to bit `to` of the piece.  Returns as decode(); if
 * the guess was wrong, *found is right.
 */
static int
attempt(const struct deflate_guesser *g, struct slot *s,
    struct inflate_block *b, struct deflate_found *found, uint64_t to)
{
	uint64_t copied = inflater_copied(g->inflater);
	int64_t from = 0;
	int rc = buf_reserve(&s->spare, WIDE * (WINDOW + SPACE_LEAST));

	if (rc != 0)
		return rc;
	for (unsigned i = 0; i < WINDOW; i++)
		wide(s)[i] = (uint16_t)(KNOWN + i);
	*b = (struct inflate_block){ .bit = found->bit,
	    .begin = s->spare.data, .out = s->spare.data + WIDE * WINDOW,
	    .end = s->spare.data + s->spare.cap / WIDE * WIDE, .unit = WIDE };
	inflate_notes(s)->from = (uint32_t)found->bit;
	inflate_notes(s)->stored = found->stored;
	inflate_notes(s)->places = 0;
	rc = decode(g, s, b, to, &from);
	inflate_notes(s)->copied = inflater_copied(g->inflater) - copied;
	if (rc == -ESTALE)
		*found = (struct deflate_found){ (uint64_t)from, false };
	return rc;
}

/*
 * Finds another start, after one from which it was possible to decode up to a
 * bit, but not to the end of the piece.  It may have been in a stored block, in
 * which a whole stream looks no different.
 */
static bool
find_other(const struct deflate_guesser *g, const struct slot *s,
    uint64_t bit, uint64_t to, struct deflate_found *found)
{
	uint64_t beyond = found->bit + 8 * STORED_MOST;
	struct deflate_found next;
	bool any = deflate_find(g->finder, g->inflater, s->in.data, s->in.len,
	    found->bit + 1, beyond < to ? beyond : to, true, &next) ||
	    deflate_find(g->finder, g->inflater, s->in.data, s->in.len,
	    bit > found->bit ? bit : bit + 1, to, false, &next);

	if (any)
		*found = next;
	return any;
}

bool
deflate_guessed(struct slot *s, int64_t bit)
{
	const struct inflate_notes *note = inflate_notes(s);

	if (bit == note->from)
		return true;
	/* the block's header begins with three zeros */
	return note->stored && bit >= 0 && bit < note->from &&
	    bit + DEFLATE_FIND_UNSURE >= note->from &&
	    (load_le16(s->in.data + bit / 8) >> bit % 8 & 7) == 0;
}

int
deflate_guess(const struct deflate_guesser *g, struct slot *s)
{
	struct inflate_notes *note = inflate_notes(s);
	struct deflate_found found;
	struct inflate_block b;
	uint64_t to = 8 * (uint64_t)note->used, near = 8 * FIRST_MOST;
	unsigned tries = 1;
	int rc;

	if (!deflate_find(g->finder, g->inflater, s->in.data, s->in.len, 0,
	    near < to ? near : to, false, &found))
		return 0;
	do
		rc = attempt(g, s, &b, &found, to);
	while (rc == -ESTALE ||
	    ((rc == STREAM_END || rc == -EBADMSG) && tries++ < TRIES &&
	    find_other(g, s, b.bit, to, &found)));
	if (rc == -ENOMEM)
		return rc;
	s->out.len = made_in_all(s, &b);
	if (b.unit != 1)
		note->open = s->out.len;
	note->final = rc == STREAM_END;
	note->to = (uint32_t)b.bit;
	rc = buf_reserve(&s->out, s->out.len);
	note->ok = rc == 0 && s->out.len > 0;
	return rc;
}

void
deflate_guess_window(struct slot *s, const uint8_t *window, uint8_t *after,
    size_t *len)
{
	const struct inflate_notes *note = inflate_notes(s);

	make_table(s, window);
	*len = s->out.len < WINDOW ? s->out.len : WINDOW;
	/* what was decoded as bytes includes its whole window */
	if (note->open < s->out.len)
		memcpy(after, s->out.data + s->out.len - *len, *len);
	else
		fill_in(after, wide(s) + WINDOW + s->out.len - *len, *len,
		    s->spare.data);
}

void
deflate_guess_fill(struct slot *s)
{
	fill_in(s->out.data, wide(s) + WINDOW, inflate_notes(s)->open,
	    s->spare.data);
}
