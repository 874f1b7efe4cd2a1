/*
 * deflate_scan.c - guessing where the next unit of a deflate stream begins
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The reader cuts the input into pieces that a worker may be able to decode
 * independently: data up to a sync point (00 00 ff ff), if possible one with
 * a link after it (gzip_link.h), or whole members whose header contains their
 * length.  Elsewhere, pieces are cut anywhere, and overlap: the block that begins
 * in one of them ends in the next.  All of this is guesswork, which the joiner verifies, so the output
 * is correct even if every guess is wrong.
 */
#include "deflate_scan.h"

#include "base/bytes.h"
#include "format/gzip/gzip.h"
#include "gzip_link.h"

#include <errno.h>
#include <string.h>

enum {
	SYNC_LEN = 4,
	SYNC_LEAST = 16 << 10,	/* minimum size of an unmarked piece */
	GIVE_UP = 2,		/* maximum number of pieces without a sync
				 * point, in plain ones, */
	GIVE_UP_BLOCKS = 4	/* and in blocks */
};

static int
fill_plain(const struct deflate_reader *r, struct input *in, struct slot *s)
{
	ssize_t n = s->in.len >= r->plain ? 1 :
	    carry_more(in, s, r->plain - s->in.len);

	inflate_notes(s)->kind = PIECE_PLAIN;
	s->last = in->eof;
	return n < 0 ? (int)n : 0;
}

/* Reads a piece that the last block reaches beyond; the next begins before. */
static int
fill_guess(struct deflate_reader *r, struct input *in, struct slot *s)
{
	struct inflate_notes *note = inflate_notes(s);
	size_t most = r->plain + r->plain / GUESS_MORE;
	ssize_t n = s->in.len >= most ? 1 :
	    carry_more(in, s, most - s->in.len);

	if (n < 0)
		return (int)n;
	note->kind = PIECE_GUESS;
	note->used = s->in.len;
	s->last = in->eof;
	if (s->last || s->in.len <= r->plain)
		return 0;
	note->used = r->plain;
	return carry_cut(&r->carry, s, s->in.len, r->plain);
}

/*
 * Returns the end of the first sync point at or after `from`, or 0.  The
 * following bytes may show that it is not one.  If they have not been read, it
 * is accepted, because a live pipe may not have more data yet.
 */
static size_t
find_sync(const uint8_t *p, size_t len, size_t from)
{
	const uint8_t *end = p + len, *q = p + from + 2;

	while (q < end && (q = memchr(q, 0xff, (size_t)(end - q))) != NULL) {
		if (end - q < 2)
			break;
		if (q[1] == 0xff && q[-1] == 0 && q[-2] == 0 &&
		    (end - q < GZIP_GUESS - 2 || gzip_is_sync(q - 2)))
			return (size_t)(q - p) + 2;
		q++;
	}
	return 0;
}

/*
 * Looks for the end of the unit in what was read since the last call; *from is
 * where to start.  Returns it, or 0.
 */
static size_t
find_end(const struct deflate_reader *r, struct slot *s, size_t *from)
{
	size_t skip = inflate_notes(s)->skip, end = 0;

	if (r->linked) {
		/* after the stream's end, another member's first link */
		bool any = r->lost || s->in.data[skip] & 1;

		*from -= skip;
		end = gzip_link_find(s->in.data + skip, s->in.len - skip, from,
		    any ? UINT64_MAX : 0);
		*from += skip;
		return end == 0 ? 0 : skip + end;
	}
	if (s->in.len >= *from + SYNC_LEN) {
		end = find_sync(s->in.data, s->in.len, *from);
		*from = s->in.len - SYNC_LEN + 1;
	}
	return end;
}

static int
fill_sync(struct deflate_reader *r, struct input *in, struct slot *s)
{
	size_t from = inflate_notes(s)->skip, most = r->plain, end = 0;
	ssize_t n = 1;

	/* a piece that has no sync point within `most` bytes is not a unit */
	if (r->block == 0)
		from += SYNC_LEAST;
	else
		most = r->block + r->block / 8 + READ_LEN;
	inflate_notes(s)->kind = PIECE_SYNC;
	while (n > 0 && s->in.len < most) {
		if (s->in.len > from)
			end = find_end(r, s, &from);
		if (end != 0) {
			r->since_sync = 0;
			r->lost = false;
			return carry_cut(&r->carry, s, end, end);
		}
		n = carry_more(in, s, most < READ_LEN ? most : READ_LEN);
	}
	s->last = in->eof;
	if (n <= 0)
		return (int)n;
	r->lost = true;
	r->since_sync += s->in.len;
	if (r->since_sync >= GIVE_UP * r->plain &&
	    r->since_sync >= GIVE_UP_BLOCKS * r->block)
		r->mode = PIECE_PLAIN;
	inflate_notes(s)->kind = PIECE_PLAIN;
	return 0;
}

/*
 * Returns whether a member may end at `at`: at the end of the input, or before
 * another member.
 */
static bool
ends_at(const struct input *in, const struct slot *s, size_t at)
{
	if (s->in.len < at + GZIP_GUESS)
		return in->eof && s->in.len == at;
	return gzip_is_header(s->in.data + at);
}

/* Reads until len bytes starting at `from` are available, or the input ends. */
static int
read_up_to(struct input *in, struct slot *s, size_t from, size_t len)
{
	ssize_t n = 0;

	while (n >= 0 && s->in.len - from < len && !in->eof)
		n = carry_more(in, s, len < READ_LEN ? READ_LEN : len);
	return n < 0 ? (int)n : 0;
}

/*
 * Reads the whole member at `from` into s.  Returns its length according to its
 * header, 0 if there is no member, or -errno.
 */
static ssize_t
take_member(const struct deflate_reader *r, struct input *in, struct slot *s,
    size_t from)
{
	struct gzip_header h;
	size_t whole;
	int rc = read_up_to(in, s, from, INPUT_PEEK);

	if (rc != 0)
		return rc;
	if (gzip_header_parse(&h, s->in.data + from, s->in.len - from) != 1 ||
	    h.member == 0 || h.member > r->member_max)
		return 0;
	whole = (size_t)gzip_member_whole(&h);
	rc = read_up_to(in, s, from, whole + GZIP_GUESS);
	if (rc != 0)
		return rc;
	return h.member >= h.len + GZIP_TRAILER &&
	    ends_at(in, s, from + h.member) ? (ssize_t)h.member :
	    ends_at(in, s, from + whole) ? (ssize_t)whole : 0;
}

static int
fill_members(struct deflate_reader *r, struct input *in, struct slot *s)
{
	size_t len = 0, out = 0;

	inflate_notes(s)->kind = PIECE_MEMBERS;
	for (;;) {
		ssize_t n = take_member(r, in, s, len);
		size_t made;

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		made = load_le32(s->in.data + len + (size_t)n - 4);
		if (len > 0 && (out + made > MEMBERS_OUT ||
		    len + (size_t)n > PLAIN_LEN))
			return carry_cut(&r->carry, s, len, len);
		len += (size_t)n;
		out += made;
		inflate_notes(s)->most = out;
	}
	/* the end of the input, or not a member with a length */
	inflate_notes(s)->used = len;
	if (len == s->in.len && in->eof) {
		s->last = true;
		return 0;
	}
	r->mode = PIECE_PLAIN;
	if (len > 0)
		return carry_cut(&r->carry, s, len, len);
	return fill_plain(r, in, s);
}

int
deflate_scan(void *job, struct input *in, struct slot *s)
{
	struct deflate_reader *r = job;
	int rc = carry_begin(&r->carry, s);
	struct gzip_header h;
	const uint8_t *p;
	bool trusted;

	if (rc != 0)
		return rc;
	if (!r->begun) {
		/* the header says how to cut the stream */
		ssize_t n = input_peek(in, INPUT_PEEK, &p);

		r->begun = true;
		if (n < 0)
			return (int)n;
		if (gzip_header_parse(&h, p, (size_t)n) != 1) {
			r->mode = PIECE_PLAIN;
		} else if (h.member != 0 && h.member <= r->member_max) {
			r->mode = PIECE_MEMBERS;
		} else {
			inflate_notes(s)->skip = h.len + h.mark;
			if (h.block_max <= r->block_max) {
				r->block = h.block_max;
				r->linked = h.sizes == GZIP_LINKED;
				r->mode = PIECE_SYNC;
			}
		}
	}
	trusted = atomic_load_explicit(&r->debt, memory_order_relaxed) <=
	    DEBT_MOST;
	if (!trusted && r->block == 0)
		r->mode = PIECE_PLAIN;
	if (r->mode == PIECE_SYNC)
		rc = fill_sync(r, in, s);
	else if (r->mode == PIECE_MEMBERS)
		rc = fill_members(r, in, s);
	else if (r->guess && s->seq > 0 && trusted && !atomic_load(&r->fast))
		return fill_guess(r, in, s);
	else
		rc = fill_plain(r, in, s);
	if (!trusted)
		inflate_notes(s)->kind = PIECE_PLAIN;
	return rc;
}
