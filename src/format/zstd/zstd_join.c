/*
 * zstd_join.c - joining the pieces of a Zstandard stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The output of whole frames and jobs decoded by a worker is used unchanged;
 * everything else is decoded here by libzstd's stream decoder, in order.
 *
 * A frame of jobs may turn out not to be one: a piece that begins with marks
 * may refer to data before it, be too long for a worker, or be truncated.  In
 * that case the stream decoder has to continue from there, and needs the state
 * that it would have had.  It reaches that state by decoding the input of
 * earlier jobs again, starting with a job that is known to be independent and
 * was followed by at least a window's length of output; later data cannot refer
 * to anything before that job.  Therefore the input for one window is kept, and
 * its output is discarded the second time.  The checksum of such a frame is
 * computed here.
 */
#include "zstd_decode.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "zstd_job.h"

#include <errno.h>
#include <string.h>

static int
append_buf(struct buf *b, const uint8_t *p, size_t len)
{
	int rc = buf_reserve(b, b->len + len);

	if (rc == 0 && len > 0) {
		memcpy(b->data + b->len, p, len);
		b->len += len;
	}
	return rc;
}

static void
swap(struct buf *a, struct buf *b)
{
	struct buf c = *a;

	*a = *b;
	*b = c;
}

static void
forget(struct zstd_kept *k)
{
	k->in.len = k->skip = 0;
	k->made = 0;
}

/* Returns whether the input of an accepted job can also be kept. */
static bool
has_room(const struct zstd_joiner *j, struct slot *s)
{
	const struct zstd_kept *newer = &j->kept[1];

	return s->out.len >= j->header.window ||
	    newer->made >= j->header.window ||
	    newer->in.len + unzstd_notes(s)->used <= j->cutter->unit_max;
}

/* Keeps the input of an accepted job; s->in gets another buffer in exchange. */
static int
keep_job(struct zstd_joiner *j, struct slot *s)
{
	struct zstd_kept *older = &j->kept[0], *newer = &j->kept[1];
	uint64_t window = j->header.window;

	if (s->out.len >= window) {
		forget(older);
		forget(newer);
	} else if (newer->made >= window) {
		struct zstd_kept k = *older;

		*older = *newer;
		*newer = k;
		forget(newer);
	}
	newer->made += s->out.len;
	if (newer->in.len > 0)
		return append_buf(&newer->in, s->in.data,
		    unzstd_notes(s)->used);
	swap(&newer->in, &s->in);
	newer->skip = unzstd_notes(s)->skip;
	return 0;
}

static int
begin_frame(struct zstd_joiner *j, const struct slot *s)
{
	if (zstd_header_parse(&j->header, s->in.data, s->in.len) != 1)
		return -EBADMSG;
	if (j->hash == NULL)
		j->hash = XXH64_createState();
	if (j->hash == NULL)
		return -ENOMEM;
	XXH64_reset(j->hash, 0);
	j->open = true;
	j->made = 0;
	forget(&j->kept[0]);
	forget(&j->kept[1]);
	return 0;
}

/*
 * Ends a frame; check points to the four bytes after its last block, if it has
 * a checksum.
 */
static int
end_frame(struct zstd_joiner *j, const uint8_t *check)
{
	j->open = j->resumed = false;
	j->serial.streams++;
	if (j->header.content != UINT64_MAX && j->header.content != j->made)
		return -EBADMSG;
	return j->header.checksum &&
	    load_le32(check) != (uint32_t)XXH64_digest(j->hash) ?
	    -EBADMSG : 0;
}

/* Accepts an independent job decoded by a worker. */
static int
accept(struct zstd_joiner *j, struct slot *s, struct sink *out)
{
	const struct unzstd_notes *note = unzstd_notes(s);
	int rc;

	XXH64_update(j->hash, s->out.data, s->out.len);
	j->made += s->out.len;
	/* if the checksum is wrong, the output is not written */
	rc = note->final ?
	    end_frame(j, s->in.data + note->used - CHECKSUM_LEN) :
	    keep_job(j, s);
	return rc != 0 ? rc : sink_slot(out, s);
}

/*
 * Writes the stream decoder's output, whose first bytes may already have been
 * written.
 */
static void
take_output(struct zstd_joiner *j, uint8_t *p, size_t n, struct sink *out)
{
	size_t old = n < j->drop ? n : (size_t)j->drop;

	j->drop -= old;
	if (old > 0)
		memmove(p, p + old, n - old);
	XXH64_update(j->hash, p, n - old);
	j->made += n - old;
	sink_advance(out, n - old);
}

/* Decodes blocks of a resumed frame as far as possible, advancing *p. */
static int
feed_blocks(struct zstd_joiner *j, const uint8_t **p, const uint8_t *end,
    struct sink *out)
{
	struct stream_io io = { .in = *p, .in_len = (size_t)(end - *p) };
	int rc = STREAM_MORE;

	/*
	 * call again without input while the buffer is full, because there may
	 * be more output
	 */
	while (rc == STREAM_MORE && (io.in_len > 0 || io.out_len == 0)) {
		const uint8_t *before = io.in;
		size_t room;
		uint8_t *start = sink_space(out, &room, &rc);

		if (start == NULL)
			return rc;
		io.out = start;
		io.out_len = room;
		rc = zstd_stream.run(j->serial.ctx, &io);
		if (rc < 0)
			return rc;
		if (rc == STREAM_MORE && io.in == before &&
		    io.out_len == room && io.in_len > 0)
			return -EBADMSG;
		take_output(j, start, room - io.out_len, out);
	}
	j->body_ended = rc == STREAM_END;
	*p = io.in;
	return 0;
}

/* Continues with a resumed frame, and with the data after it. */
static int
feed_serial(struct zstd_joiner *j, const uint8_t *p, size_t len, bool last,
    struct sink *out)
{
	const uint8_t *end = p + len;
	int rc = j->body_ended ? 0 : feed_blocks(j, &p, end, out);

	if (rc == 0 && j->body_ended) {
		size_t want = j->header.checksum ? CHECKSUM_LEN : 0;

		while (j->check_len < want && p < end)
			j->check[j->check_len++] = *p++;
		if (j->check_len == want) {
			rc = end_frame(j, j->check);
			return rc != 0 ? rc : serial_feed(&j->serial, p,
			    (size_t)(end - p), last, out);
		}
	}
	return rc == 0 && last ? -ENODATA : rc;
}

/*
 * Continues with the stream decoder, in the state that it would have reached.
 */
static int
resume(struct zstd_joiner *j, struct sink *out)
{
	uint8_t head[ZSTD_JOB_HEAD];
	int rc;

	atomic_store(&j->cutter->distrust, true);
	j->resumed = true;
	j->body_ended = false;
	j->check_len = 0;
	j->drop = j->kept[0].made + j->kept[1].made;
	zstd_job_head(head, j->header.window_byte);
	rc = feed_serial(j, head, sizeof(head), false, out);
	for (int i = 0; rc == 0 && i < 2; i++) {
		const struct zstd_kept *k = &j->kept[i];

		if (k->in.len > 0)
			rc = feed_serial(j, k->in.data + k->skip,
			    k->in.len - k->skip, false, out);
	}
	return rc;
}

static bool
acceptable(struct zstd_joiner *j, struct slot *s)
{
	return unzstd_notes(s)->kind == PIECE_JOB && unzstd_notes(s)->ok &&
	    has_room(j, s);
}

static int
join_frame(struct zstd_joiner *j, struct slot *s, struct sink *out)
{
	int rc = 0;

	if (!j->resumed && acceptable(j, s))
		return accept(j, s, out);
	if (!j->resumed)
		rc = resume(j, out);
	return rc != 0 ? rc :
	    feed_serial(j, s->in.data, s->in.len, s->last, out);
}

int
zstd_join(struct zstd_joiner *j, struct slot *s, struct sink *out)
{
	const struct unzstd_notes *note = unzstd_notes(s);
	int rc;

	if (j->open)
		return join_frame(j, s, out);
	if (note->ok && !j->serial.within) {
		if (note->kind == PIECE_JOB && note->skip > 0) {
			rc = begin_frame(j, s);
			return rc != 0 ? rc : accept(j, s, out);
		}
		if (note->kind == PIECE_FRAMES) {
			j->serial.streams++;
			return sink_slot(out, s);
		}
	}
	if (note->kind == PIECE_JOB)
		atomic_store(&j->cutter->distrust, true);
	if (s->last && s->in.len == 0 && j->serial.streams == 0)
		return -ENODATA;
	return serial_feed(&j->serial, s->in.data, s->in.len, s->last, out);
}
