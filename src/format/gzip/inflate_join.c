/*
 * inflate_join.c - joining the pieces of gzip, zlib and zip streams
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The joiner is a state machine that has consumed every byte up to the current
 * position, and knows whether that is in a header, within a deflate block,
 * between two blocks, in a trailer or between members.  Between blocks, or
 * before a member, it uses the worker's result if the next piece was decoded
 * from its first byte; otherwise it decodes the piece itself.  A false sync
 * point, a stream whose blocks depend on each other, or a wrong length
 * therefore only costs the time of one attempt.
 */
#include "deflate_decode.h"

#include "base/bytes.h"
#include "format/gzip/gzip.h"

#include <errno.h>
#include <string.h>

enum { HEADER_MAX = 1 << 20 };

/*
 * inflate_job.state: BETWEEN is after a member, REST is data to be skipped, and
 * JUNK is unexpected data.
 */
enum { HEAD, BODY, STORED, TRAILER, BETWEEN, PADDING, REST, JUNK };

static int
hold_bytes(struct inflate_job *j, const uint8_t *p, size_t len)
{
	size_t need = j->held.len + len;
	int rc = need <= j->held.cap ? 0 :
	    buf_reserve(&j->held, need < 512 ? 512 : 2 * need);

	if (rc == 0) {
		memcpy(j->held.data + j->held.len, p, len);
		j->held.len += len;
	}
	return rc;
}

/*
 * Each function consumes as many of the len bytes at p as it needs.  Returns
 * the number of bytes consumed, or -errno.
 */

static ssize_t
take_head(struct inflate_job *j, const uint8_t *p, size_t len)
{
	size_t before = j->held.len;
	int rc = hold_bytes(j, p, len < HEADER_MAX ? len : HEADER_MAX);
	ssize_t n;

	if (rc != 0)
		return rc;
	j->head = (struct deflate_head){ .why = NULL };
	n = j->wrap->head(j->held.data, j->held.len, &j->head);
	if (n < 0 && j->any && j->held.len > 1 && j->held.data[1] != 0x8b) {
		j->state = JUNK;
		return (ssize_t)(j->held.len - before);
	}
	j->notes->why = n < 0 || j->head.stored ? j->head.why : NULL;
	if (n < 0)
		return n;
	if (n == 0)
		return j->held.len > HEADER_MAX ? -EBADMSG :
		    (ssize_t)(j->held.len - before);
	j->held.len = 0;
	j->check = j->wrap->check->start;
	j->total = 0;
	if (!j->head.stored)
		j->state = BODY;
	else
		j->state = j->head.left > 0 ? STORED : TRAILER;
	inflater_start(j->inflater);
	return n - (ssize_t)before;
}

static ssize_t
take_trailer(struct inflate_job *j, const uint8_t *p, size_t len)
{
	size_t want = j->head.front ? 0 : j->wrap->trailer - j->held.len;
	size_t n = want < len ? want : len;
	int rc = hold_bytes(j, p, n);

	if (rc != 0 || n < want)
		return rc != 0 ? rc : (ssize_t)n;
	rc = j->wrap->verify(j->head.front ? j->head.trailer : j->held.data,
	    j->check, j->total);
	j->held.len = 0;
	j->any = true;
	j->notes->has_check = true;
	j->notes->check = j->check;
	j->state = j->wrap->ignore_rest ? REST : BETWEEN;
	return rc != 0 ? rc : (ssize_t)n;
}

static void
note_trailing(struct inflate_job *j, const uint8_t *p, size_t len)
{
	struct codec_notes *n = j->notes;

	for (size_t i = 0; i < len && n->trailing_B + i < 2; i++)
		n->trailing[n->trailing_B + i] = p[i];
	n->trailing_B += len;
}

/*
 * Handles the data after a member: another member, zeros to the end, or data
 * that is not gzip.
 */
static ssize_t
take_between(struct inflate_job *j, const uint8_t *p, size_t len)
{
	size_t n = 0;

	if (j->state == BETWEEN && j->wrap->members && p[0] == 0x1f) {
		j->state = HEAD;
		return 0;
	}
	while (n < len && p[n] == 0 && !j->copy_rest)
		n++;
	note_trailing(j, p, n);
	j->state = n < len ? JUNK : PADDING;
	return (ssize_t)n;
}

/* Records trailing junk, and copies all of it, zeros included, if requested. */
static int
put_junk(struct inflate_job *j, const uint8_t *p, size_t len,
    struct sink *out)
{
	note_trailing(j, p, len);
	j->notes->trailing_garbage = true;
	return j->copy_rest ? sink_write(out, p, len) : 0;
}

/* Gets the checksum of the inflater's output from the sink. */
static void
end_check(struct inflate_job *j, struct sink *out)
{
	if (j->checking)
		j->check = sink_check_end(out);
	j->checking = false;
}

/* Processes everything serially, byte by byte if necessary. */
static int
feed_bytes(struct inflate_job *j, const uint8_t *p, size_t len,
    struct sink *out)
{
	struct stream_io io = { .in = p, .in_len = len, .out_len = 1 };
	uint8_t unused[8];
	size_t room;
	ssize_t n;
	int rc = 0;

	/* if the buffer is full, there may be more output without more input */
	while (io.in_len > 0 || (j->inflating && io.out_len == 0)) {
		switch (j->state) {
		case HEAD:
			n = take_head(j, io.in, io.in_len);
			break;
		case BODY:
			j->inflating = true;
			if (!j->checking)
				sink_check_begin(out, j->wrap->check->add,
				    j->check);
			j->checking = true;
			io.out = sink_space(out, &room, &rc);
			if (io.out == NULL)
				return rc;
			io.out_len = room;
			rc = inflater_run(j->inflater, &io);
			if (rc < 0)
				return rc;
			j->total += room - io.out_len;
			sink_advance(out, room - io.out_len);
			if (rc != STREAM_END)
				continue;
			end_check(j, out);
			j->state = TRAILER;
			j->inflating = false;
			/* at most a trailer was read past the end */
			rc = feed_bytes(j, unused,
			    inflater_unused(j->inflater, unused), out);
			if (rc != 0)
				return rc;
			continue;
		case STORED:
			n = (ssize_t)(io.in_len < j->head.left ? io.in_len :
			    j->head.left);
			j->check = j->wrap->check->add(j->check, io.in,
			    (size_t)n);
			j->total += (size_t)n;
			j->head.left -= (size_t)n;
			if (j->head.left == 0)
				j->state = TRAILER;
			rc = sink_write(out, io.in, (size_t)n);
			if (rc != 0)
				return rc;
			break;
		case TRAILER:
			n = take_trailer(j, io.in, io.in_len);
			break;
		case REST:
			n = (ssize_t)io.in_len;
			break;
		case JUNK:
			rc = put_junk(j, j->held.data, j->held.len, out);
			j->held.len = 0;
			return rc != 0 ? rc :
			    put_junk(j, io.in, io.in_len, out);
		default:
			n = take_between(j, io.in, io.in_len);
		}
		if (n < 0)
			return (int)n;
		io.in += n;
		io.in_len -= (size_t)n;
	}
	if (j->inflating && inflater_at_boundary(j->inflater))
		j->inflating = false;
	return 0;
}

/* Accepts a worker's result; data after the unit is fed in later. */
static int
accept(struct inflate_job *j, struct slot *s, struct sink *out)
{
	const struct inflate_notes *note = inflate_notes(s);
	size_t at = note->skip + note->used, len = s->in.len - at;
	uint8_t rest[64];
	int rc;

	if (note->kind == PIECE_MEMBERS) {
		j->state = BETWEEN;
		j->any = true;
		j->notes->has_check = true;
		j->notes->check = load_le32(s->in.data + at - GZIP_TRAILER);
	} else {
		end_check(j, out);
		j->check = (uint32_t)j->wrap->check->combine(j->check,
		    note->check, (off_t)s->out.len);
		j->total += s->out.len;
		inflater_saw(j->inflater, s->out.data, s->out.len);
		if (note->final)
			j->state = TRAILER;
	}
	if (len > sizeof(rest)) {
		rc = sink_write(out, s->out.data, s->out.len);
		return rc != 0 ? rc : feed_bytes(j, s->in.data + at, len, out);
	}
	memcpy(rest, s->in.data + at, len);
	rc = sink_slot(out, s);
	return rc != 0 ? rc : feed_bytes(j, rest, len, out);
}

int
inflate_join(void *job, struct slot *s, struct sink *out)
{
	struct inflate_job *j = job;
	const struct inflate_notes *note = inflate_notes(s);
	long long debt, len = (long long)s->in.len;
	size_t skip = note->skip;
	bool last = s->last, accepted;
	int rc = skip == 0 ? 0 : feed_bytes(j, s->in.data, skip, out);

	if (rc != 0)
		return rc;
	/* the state must match the presumed start of the piece's unit */
	if (note->kind == PIECE_MEMBERS)
		accepted = note->ok && j->held.len == 0 &&
		    (j->state == HEAD || j->state == BETWEEN);
	else
		accepted = note->ok && j->state == BODY && !j->inflating;
	debt = atomic_load(&j->debt);
	if (accepted || note->kind == PIECE_PLAIN)
		debt -= debt < len ? debt : len;
	else
		debt += len + (long long)inflate_most(j, note->kind);
	atomic_store(&j->debt, debt);
	rc = accepted ? accept(j, s, out) :
	    feed_bytes(j, s->in.data + skip, s->in.len - skip, out);
	if (rc != 0 || !last)
		return rc;
	/*
	 * a single byte that could be the start of a header, or junk that
	 * starts like one
	 */
	if (j->state == JUNK || (j->state == HEAD && j->copy_rest && j->any &&
	    j->held.len == 1))
		return put_junk(j, j->held.data, j->held.len, out);
	return j->state == BETWEEN || j->state == PADDING ||
	    j->state == REST ? 0 : -ENODATA;
}
