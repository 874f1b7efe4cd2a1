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

static void
forget(struct zstd_kept *k)
{
	k->in.len = k->skip = 0;
	k->made = 0;
}

/* Keeps the input of an accepted job; s->in gets another buffer in exchange. */
static int
keep_job(struct unzstd_job *j, struct slot *s)
{
	struct zstd_kept *older = &j->kept[0], *newer = &j->kept[1];
	const struct unzstd_notes *note = unzstd_notes(s);
	uint64_t window = j->header.window;
	struct buf *to = &newer->in, b;
	int rc;

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
	if (to->len == 0) {
		b = *to;
		*to = s->in;
		s->in = b;
		newer->skip = note->skip;
		return 0;
	}
	rc = buf_reserve(to, to->len + note->used);
	if (rc == 0 && note->used > 0) {
		memcpy(to->data + to->len, s->in.data, note->used);
		to->len += note->used;
	}
	return rc;
}

/*
 * Ends a frame; check points to the four bytes after its last block, if it has
 * a checksum.
 */
static int
end_frame(struct unzstd_job *j, const uint8_t *check)
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
accept(struct unzstd_job *j, struct slot *s, struct sink *out)
{
	const struct unzstd_notes *note = unzstd_notes(s);
	int rc;

	XXH64_update(j->hash, s->out.data, s->out.len);
	j->made += s->out.len;
	/* if the checksum is wrong, the output is not written */
	rc = note->final ?
	    end_frame(j, s->in.data + note->used - ZSTD_CHECKSUM) :
	    keep_job(j, s);
	return rc != 0 ? rc : sink_slot(out, s);
}

/*
 * Continues with a resumed frame, and with the data after it.  The first bytes
 * of the stream decoder's output may already have been written.
 */
static int
feed_serial(struct unzstd_job *j, const uint8_t *p, size_t len, bool last,
    struct sink *out)
{
	struct stream_io io = { .in = p, .in_len = len };
	size_t want = j->header.checksum ? ZSTD_CHECKSUM : 0;
	int rc = STREAM_MORE;

	/*
	 * call again without input while the buffer is full, because there may
	 * be more output
	 */
	while (!j->body_ended && (io.in_len > 0 || io.out_len == 0)) {
		const uint8_t *before = io.in;
		size_t room, made, old;
		uint8_t *start = sink_space(out, &room, &rc);

		if (start == NULL)
			return rc;
		io.out = start;
		io.out_len = room;
		rc = j->serial.ops->run(j->serial.ctx, &io);
		if (rc < 0)
			return rc;
		made = room - io.out_len;
		if (rc == STREAM_MORE && io.in == before && made == 0 &&
		    io.in_len > 0)
			return -EBADMSG;
		old = made < j->drop ? made : (size_t)j->drop;
		made -= old;
		j->drop -= old;
		if (old > 0)
			memmove(start, start + old, made);
		XXH64_update(j->hash, start, made);
		j->made += made;
		sink_advance(out, made);
		j->body_ended = rc == STREAM_END;
	}
	if (!j->body_ended)
		return last ? -ENODATA : 0;
	for (; j->check_len < want && io.in_len > 0; io.in_len--)
		j->check[j->check_len++] = *io.in++;
	if (j->check_len < want)
		return last ? -ENODATA : 0;
	rc = end_frame(j, j->check);
	return rc != 0 ? rc : serial_feed(&j->serial, io.in, io.in_len, last,
	    out);
}

/*
 * Continues with the stream decoder, in the state that it would have reached.
 */
static int
resume(struct unzstd_job *j, struct sink *out)
{
	uint8_t head[ZSTD_JOB_HEAD];
	int rc;

	atomic_store(&j->cutter.distrust, true);
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

int
zstd_join(void *job, struct slot *s, struct sink *out)
{
	struct unzstd_job *j = job;
	const struct unzstd_notes *note = unzstd_notes(s);
	bool ok = note->ok && note->kind == PIECE_JOB;
	int rc;

	if (j->open) {
		const struct zstd_kept *newer = &j->kept[1];
		uint64_t window = j->header.window;

		/* its input must have room beside what is kept */
		if (!j->resumed && ok && (s->out.len >= window ||
		    newer->made >= window ||
		    newer->in.len + note->used <= j->cutter.unit_max))
			return accept(j, s, out);
		rc = j->resumed ? 0 : resume(j, out);
		return rc != 0 ? rc :
		    feed_serial(j, s->in.data, s->in.len, s->last, out);
	}
	if (ok && !j->serial.within && note->skip > 0) {
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
		return accept(j, s, out);
	}
	if (note->ok && !j->serial.within && note->kind == PIECE_FRAMES) {
		j->serial.streams++;
		return sink_slot(out, s);
	}
	if (note->kind == PIECE_JOB)
		atomic_store(&j->cutter.distrust, true);
	if (s->last && s->in.len == 0 && j->serial.streams == 0)
		return -ENODATA;
	return serial_feed(&j->serial, s->in.data, s->in.len, s->last, out);
}
