/*
 * zstd_decode.c - decompressing Zstandard on all cores
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The reader cuts pieces of whole frames whose headers contain their sizes, and
 * jobs of frames written by pzc.  All other data, and units that are too large,
 * are decoded by libzstd's stream decoder in the joiner.  With one thread,
 * everything is decoded there, which needs the least memory.
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
#include "zstd_codec.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/cutter.h"
#include "format/serial.h"
#include "zstd_block.h"
#include "zstd_job.h"
#include "zstd_scan.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum {
	UNIT_MOST = 48 << 20,	/* maximum input or output of a unit in a
				 * worker */
	UNIT_LEAST = 16 << 20,	/* its lower bound under a memory limit, */
	UNIT_STEP = 16 << 20,	/* in steps of this size */
	PIECE_LEAST = 1 << 20,
	UNIT_SLACK = 3 << 20,	/* for many small frames, and for
				 * headers */
	WINDOW_LEAST = 8 << 20,
	BASE = 4 << 20,
	READ_LEN = 128 << 10,
	PIECE_OUT = 1 << 20	/* minimum output of a piece of frames */
};

/* The type of a piece: unzstd_notes.kind. */
enum { PIECE_PLAIN, PIECE_FRAMES, PIECE_JOB };

/* Decompressing Zstandard. */
struct unzstd_notes {
	int kind;		/* fill: PIECE_* */
	size_t skip;		/* fill, a frame's first job: size of the
				 * header */
	size_t used;		/* fill: bytes of `in` that the frames or the
				 * job occupy, including skip */
	uint64_t most;		/* fill: size of `out`; for a job, the
				 * maximum */
	bool final;		/* fill, a job: the last job of its frame */
	bool checksum;		/* fill, a job: its frame has a checksum */
	uint8_t window;		/* fill, a job: the window descriptor in its
				   frame's header */
	bool ok;		/* work: `out` contains the content */
};
SLOT_NOTES(unzstd_notes)

/* Used only by the reader. */
struct zstd_cutter {
	struct zstd_scan scan;
	struct carry carry;
	size_t unit_max;		/* maximum input or output of a unit */
	uint64_t window_max;
	uint64_t beyond;		/* memory needed in addition to a
					 * window */
	struct codec_notes *notes;
	bool serial;			/* cut all frames anywhere */
	bool plain;			/* inside a frame that may be cut
					 * anywhere */
	bool jobs;			/* inside a frame of jobs */
	bool hopeless;			/* no valid frame follows */
	/*
	 * The joiner could not use a job, and decodes the rest of its frame
	 * itself.
	 */
	atomic_bool distrust;
};

/* Accepted input bytes, and the size of their output. */
struct zstd_kept {
	struct buf in;
	size_t skip;			/* header before the first block */
	uint64_t made;
};

struct unzstd_job {
	struct zstd_cutter cutter;

	/* Used only by the joiner. */
	struct serial serial;
	/* In a frame of jobs: */
	bool open;			/* begun but not ended */
	bool resumed;			/* decoded serially from now on */
	bool body_ended;		/* only its checksum is missing */
	struct zstd_header header;
	XXH64_state_t *hash;
	uint64_t made;
	uint64_t drop;			/* output that has already been
					 * written */
	struct zstd_kept kept[2];	/* the older and the newer job */
	uint8_t check[ZSTD_CHECKSUM];
	size_t check_len;
};

/* The stream decoder */

static int
stream_open(void **ctx, uint64_t window_max)
{
	ZSTD_DCtx *d = ZSTD_createDCtx();
	int log = 10;

	if (d == NULL)
		return -ENOMEM;
	while (log < 31 && (uint64_t)1 << log < window_max)
		log++;
	ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, log);
	*ctx = d;
	return 0;
}

static int
stream_run(void *ctx, struct stream_io *io)
{
	ZSTD_inBuffer in = { io->in, io->in_len, 0 };
	ZSTD_outBuffer out = { io->out, io->out_len, 0 };
	size_t left = ZSTD_decompressStream(ctx, &out, &in);

	if (ZSTD_isError(left))
		return zstd_error(left);
	io->in += in.pos;
	io->in_len -= in.pos;
	io->out += out.pos;
	io->out_len -= out.pos;
	if (left == 0)
		return STREAM_END;
	return io->eof && io->in_len == 0 && io->out_len > 0 ? -ENODATA :
	    STREAM_MORE;
}

static void
stream_close(void *ctx)
{
	ZSTD_freeDCtx(ctx);
}

static const struct stream_ops zstd_stream = {
	.open = stream_open, .run = stream_run, .close = stream_close,
};

/* The reader */

/*
 * The window is checked here, so that the result is the same however a frame is
 * decoded.
 */
static int64_t
scan(struct zstd_cutter *c, const struct slot *s, size_t from, bool *ended)
{
	const struct zstd_header *h = &c->scan.header;
	int64_t n;

	*ended = false;
	if (c->hopeless)
		return -EBADMSG;
	n = zstd_scan(&c->scan, s->in.data + from, s->in.len - from, ended);
	if (n >= 0 && !h->skippable && h->window > c->window_max) {
		c->notes->need = h->window + c->beyond;
		return -EFBIG;
	}
	c->hopeless = n < 0;
	return n;
}

/* Starts a new frame, or restarts the current one from its beginning. */
static void
restart(struct zstd_cutter *c)
{
	memset(&c->scan, 0, sizeof(c->scan));
	c->scan.jobs = true;
	c->plain = c->jobs = false;
}

/*
 * Cuts at the end of a frame that may be cut anywhere, or after all data read
 * so far; with one thread, after any number of frames.  Data before pos has
 * been scanned; if `ended` is set, pos is the frame's end.
 */
static int
cut_plain(struct zstd_cutter *c, struct input *in, struct slot *s,
    size_t pos, bool ended)
{
	ssize_t got = s->in.len > pos || in->eof || ended ? 0 :
	    carry_more(in, s, READ_LEN);
	int64_t n = 0;
	int rc = got < 0 ? (int)got : 0;

	if (rc != 0)
		return rc;
	unzstd_notes(s)->kind = PIECE_PLAIN;
	for (; !ended && n >= 0 && pos < s->in.len; pos += (size_t)n) {
		c->plain = true;
		c->scan.jobs = false;
		zstd_scan_job(&c->scan);
		n = scan(c, s, pos, &ended);
		if (n == -EFBIG)
			return (int)n;
		if (n < 0)
			break;
		if (ended && c->serial && pos + (size_t)n < s->in.len) {
			restart(c);
			ended = false;
		}
	}
	if (ended) {
		rc = carry_cut(&c->carry, s, pos, pos);
		restart(c);
	}
	s->last = in->eof && c->carry.rest.len == 0;
	return rc;
}

/*
 * Cuts a job at the mark after it, or at the end of the frame; data before pos
 * has been scanned.
 */
static int
cut_job(struct zstd_cutter *c, struct input *in, struct slot *s, size_t pos,
    bool ended)
{
	struct unzstd_notes *note = unzstd_notes(s);

	while (!ended && !c->scan.at_job) {
		ssize_t got;
		int64_t n;

		if (in->eof || pos > c->unit_max + c->unit_max / 1024 + READ_LEN)
			return cut_plain(c, in, s, pos, false);
		got = carry_more(in, s, READ_LEN);
		if (got < 0)
			return (int)got;
		n = scan(c, s, pos, &ended);
		if (n == -EFBIG)
			return (int)n;
		if (n < 0)
			return cut_plain(c, in, s, pos, false);
		pos += (size_t)n;
	}
	note->kind = PIECE_JOB;
	note->used = pos;
	note->most = c->scan.most;
	note->final = ended;
	note->checksum = c->scan.header.checksum;
	note->window = c->scan.header.window_byte;
	if (ended)
		restart(c);
	zstd_scan_job(&c->scan);
	return carry_cut(&c->carry, s, pos, pos);
}

static bool
fits_worker(const struct zstd_cutter *c)
{
	const struct zstd_header *h = &c->scan.header;

	return h->skippable ? h->skip <= READ_LEN :
	    h->content <= c->unit_max;
}

static bool
has_jobs(const struct zstd_cutter *c)
{
	const struct zstd_header *h = &c->scan.header;

	return c->scan.marked && h->windowed && !h->dictionary;
}

/* Ends the piece before a frame that does not belong to it. */
static int
cut_before(struct zstd_cutter *c, struct slot *s)
{
	restart(c);
	return carry_cut(&c->carry, s, unzstd_notes(s)->used,
	    unzstd_notes(s)->used);
}

/* Collects whole frames until they make up a piece. */
static int
cut_frames(struct zstd_cutter *c, struct input *in, struct slot *s)
{
	struct unzstd_notes *note = unzstd_notes(s);
	size_t pos = 0;
	bool ended;
	ssize_t got;

	note->kind = PIECE_FRAMES;
	for (;;) {
		int64_t n = scan(c, s, pos, &ended);

		if (n == -EFBIG)
			return (int)n;
		if (n < 0)
			break;
		pos += (size_t)n;
		if (has_jobs(c) && note->used == 0) {
			note->skip = c->scan.header.len;
			c->jobs = true;
			return cut_job(c, in, s, pos, ended);
		}
		if (has_jobs(c))
			return cut_before(c, s);
		if (ended && fits_worker(c)) {
			note->used = pos;
			note->most += c->scan.header.skippable ? 0 :
			    c->scan.header.content;
			if (note->most >= PIECE_OUT || pos >= PIECE_OUT)
				return cut_before(c, s);
			restart(c);
			continue;
		}
		if (!fits_worker(c) || pos - note->used > c->unit_max)
			break;
		if (in->eof)
			break;
		/* do not delay complete frames by waiting for a live pipe */
		if (note->used > 0 && in->flush_ms >= 0)
			return cut_before(c, s);
		got = carry_more(in, s, READ_LEN);
		if (got < 0)
			return (int)got;
	}
	if (note->used == 0 && s->in.len > 0)
		return cut_plain(c, in, s, pos, ended);
	s->last = in->eof && note->used == s->in.len;
	return s->last ? 0 : cut_before(c, s);
}

static int
unzstd_fill(void *job, struct input *in, struct slot *s)
{
	struct unzstd_job *j = job;
	struct zstd_cutter *c = &j->cutter;
	int rc = carry_begin(&c->carry, s);

	if (rc != 0)
		return rc;
	c->scan.jobs = !c->plain;
	c->plain |= c->serial || c->hopeless ||
	    (c->jobs && atomic_load(&c->distrust));
	if (c->plain)
		return cut_plain(c, in, s, 0, false);
	if (c->jobs)
		return cut_job(c, in, s, 0, false);
	return cut_frames(c, in, s);
}
/* The workers */

static int
unzstd_worker_open(void *job, void **ctx)
{
	(void)job;
	*ctx = ZSTD_createDCtx();
	return *ctx == NULL ? -ENOMEM : 0;
}

/*
 * Decodes a job as a separate frame, if it is independent (see zstd_job.h).  A
 * header temporarily replaces two marks, and the mark after the job becomes its
 * last block.
 */
static int
work_job(ZSTD_DCtx *d, struct slot *s, size_t most)
{
	struct unzstd_notes *note = unzstd_notes(s);
	uint8_t *p = s->in.data, was[ZSTD_JOB_HEAD], *last = NULL;
	size_t end = note->used, at = note->skip, cap, n;
	int rc = 0;

	if (note->final && note->checksum)
		end -= ZSTD_CHECKSUM;
	/* another block must follow the marks */
	while (end - at > ZSTD_BLOCK_HEAD &&
	    memcmp(p + at, "\0\0", ZSTD_BLOCK_HEAD) == 0)
		at += ZSTD_BLOCK_HEAD;
	/* only the end of a frame that consists of whole jobs */
	note->ok = note->final && end - at == ZSTD_BLOCK_HEAD &&
	    memcmp(p + at, "\1\0", ZSTD_BLOCK_HEAD) == 0;
	if (note->ok || at - note->skip < ZSTD_JOB_LEAD * ZSTD_BLOCK_HEAD)
		return 0;
	at -= ZSTD_JOB_HEAD;
	memcpy(was, p + at, sizeof(was));
	zstd_job_head(p + at, note->window);
	if (!note->final) {
		last = p + end - ZSTD_BLOCK_HEAD;
		*last |= 1;
	}
	if (!zstd_job_alone(p + at + ZSTD_JOB_HEAD, end - at - ZSTD_JOB_HEAD))
		goto out;
	cap = note->most < most ? (size_t)note->most : most;
	rc = buf_reserve(&s->out, cap + 1);
	if (rc != 0)
		goto out;
	n = ZSTD_decompressDCtx(d, s->out.data, cap, p + at, end - at);
	note->ok = !ZSTD_isError(n);
	s->out.len = note->ok ? n : 0;
out:
	if (last != NULL)
		*last = 0;
	memcpy(p + at, was, sizeof(was));
	return rc;
}

static int
unzstd_work(void *job, void *ctx, struct slot *s)
{
	const struct unzstd_job *j = job;
	struct unzstd_notes *note = unzstd_notes(s);
	size_t n;

	if (note->kind == PIECE_JOB)
		return work_job(ctx, s, j->cutter.unit_max);
	if (note->kind != PIECE_FRAMES || note->used == 0 ||
	    note->used != s->in.len)
		return 0;
	/* all frames in one call, including skippable ones */
	if (buf_reserve(&s->out, note->most + 1) != 0)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(ctx, s->out.data, note->most + 1, s->in.data,
	    note->used);
	note->ok = !ZSTD_isError(n) && n == note->most;
	s->out.len = note->ok ? n : 0;
	return 0;
}

/* The joiner */

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

static int
unzstd_join(void *job, struct slot *s, struct sink *out)
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

/* The job */

/*
 * Plans for units of this size.  In addition to the slots, the joiner stores
 * the input of two units, and the reader the data that it has read beyond a
 * unit.
 */
static void
plan_units(const struct codec_options *o, struct memory_plan *p, uint64_t unit,
    uint64_t window)
{
	*p = (struct memory_plan){ .slots = o->threads + 2,
	    .slot_B = 2 * unit + UNIT_SLACK, .worker_B = 1 << 20,
	    .fixed_B = BASE + window + 3 * unit };
	if (o->threads == 1)
		*p = (struct memory_plan){ .slots = 4, .slot_B = SERIAL_PIECE,
		    .fixed_B = BASE + window };
}

/*
 * With more than one thread, each needs memory for the input and output of a
 * unit; a single thread does not.  A memory limit first reduces the unit size;
 * larger units are then decoded by one thread, in pieces.
 */
static int
unzstd_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	uint64_t window = WINDOW_LEAST, least = UNIT_LEAST;
	struct zstd_header h;

	(void)why;
	if (o->memory == 0) {
		plan_units(o, p, UNIT_MOST, WINDOW_LEAST);
		return 0;
	}
	/* the first frame, as far as it is known, stands for the others */
	if (o->head != NULL &&
	    zstd_header_parse(&h, o->head, o->head_len) == 1 && !h.skippable) {
		if (h.window > window)
			window = h.window;
		if (h.content <= UNIT_MOST)
			least = h.content | PIECE_LEAST;
	}
	if (window > o->window_max)
		window = o->window_max;
	for (uint64_t unit = UNIT_MOST; unit >= least; unit -= UNIT_STEP) {
		plan_units(o, p, unit, window);
		if (p->slots * p->slot_B + p->fixed_B + o->threads *
		    p->worker_B <= o->memory)
			return 0;
	}
	plan_units(o, p, least, window);
	return 0;
}

static void
unzstd_close(void *job)
{
	struct unzstd_job *j = job;

	if (j == NULL)
		return;
	serial_close(&j->serial);
	XXH64_freeState(j->hash);
	sys_free(j->kept[0].in.data);
	sys_free(j->kept[1].in.data);
	carry_close(&j->cutter.carry);
	sys_free(j);
}

static int
unzstd_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct unzstd_job *j = sys_calloc(1, sizeof(*j));
	struct zstd_cutter *c;
	uint64_t window;
	int rc;

	if (j == NULL)
		return -ENOMEM;
	c = &j->cutter;
	c->serial = o->threads == 1;
	c->window_max = o->window_max;
	if (!c->serial)
		c->unit_max = (p->slot_B - UNIT_SLACK) / 2;
	c->beyond = CODEC_BEYOND_WINDOW;
	/* under a limit, the largest window that fits in the plan */
	window = p->fixed_B - BASE - 3 * (uint64_t)c->unit_max;
	if (o->memory != 0 && window < c->window_max) {
		c->window_max = window;
		c->beyond = p->slots * p->slot_B + o->threads * p->worker_B +
		    p->fixed_B - window;
	}
	c->notes = notes;
	rc = serial_open(&j->serial, &zstd_stream, o->window_max);
	if (rc != 0)
		unzstd_close(j);
	else
		*job = j;
	return rc;
}

const struct coder zstd_decoder = {
	.plan = unzstd_plan, .open = unzstd_open, .close = unzstd_close,
	.ops = { .fill = unzstd_fill, .work = unzstd_work, .join = unzstd_join,
	    .worker_open = unzstd_worker_open,
	    .worker_close = stream_close },
};
