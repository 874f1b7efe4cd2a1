/*
 * zstd_decode.c - decompressing Zstandard, frame by frame on all cores
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The reader cuts pieces of whole frames, whose headers give their sizes.
 * Frames that do not tell, or tell of too much, are cut anywhere and go
 * through libzstd's stream decoder in the joiner.  With one thread all do:
 * that needs the least memory.
 */
#include "zstd_codec.h"

#include "base/sys.h"
#include "format/carry.h"
#include "format/serial.h"
#include "zstd_scan.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum {
	PLAIN, FRAMES,			/* slot.kind */
	READ_LEN = 128 << 10,
	FRAME_MAX = 32 << 20,		/* output of a frame in a worker */
	PIECE_OUT = 1 << 20		/* output at which a piece is enough */
};

struct job {
	/* the reader's */
	struct zstd_scan scan;
	struct carry carry;
	bool plain;			/* within a frame cut anywhere */
	bool hopeless;			/* no frame where one should be */
	/* the joiner's */
	struct serial serial;
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

/* Reader */

static bool
fits_worker(const struct zstd_header *h)
{
	return h->skippable ? h->skip <= READ_LEN :
	    h->content <= FRAME_MAX;
}

/* To the end of a frame that is cut anywhere, or as far as has been read. */
static int
fill_plain(struct job *j, struct input *in, struct slot *s, size_t from)
{
	bool ended = false;
	int64_t n = 0;
	ssize_t got = s->in.len > from || in->eof ? 0 :
	    carry_more(in, s, READ_LEN);
	int rc = got < 0 ? (int)got : 0;

	if (rc != 0)
		return rc;
	s->kind = PLAIN;
	if (!j->hopeless)
		n = zstd_scan(&j->scan, s->in.data + from, s->in.len - from,
		    &ended);
	j->hopeless |= n < 0;
	j->plain = !ended;
	if (ended)
		rc = carry_cut(&j->carry, s, from + (size_t)n,
		    from + (size_t)n);
	s->last = in->eof && j->carry.rest.len == 0;
	return rc;
}

/*
 * Whole frames, until they are enough for a piece.  s->used: where the last
 * complete one ends; s->bits: the output of all, in bytes.
 */
static int
fill_frames(struct job *j, struct input *in, struct slot *s)
{
	size_t pos = 0;
	bool ended = false;
	ssize_t got;

	s->kind = FRAMES;
	for (;;) {
		int64_t n = zstd_scan(&j->scan, s->in.data + pos,
		    s->in.len - pos, &ended);

		if (n < 0) {
			j->hopeless = j->plain = true;
			break;
		}
		pos += (size_t)n;
		if (ended && fits_worker(&j->scan.header)) {
			s->used = pos;
			s->bits += j->scan.header.skippable ? 0 :
			    j->scan.header.content;
			if (s->bits >= PIECE_OUT || pos >= PIECE_OUT)
				return carry_cut(&j->carry, s, pos, pos);
			continue;
		}
		if (!fits_worker(&j->scan.header) ||
		    pos - s->used > FRAME_MAX + FRAME_MAX / 8) {
			j->plain = true;
			break;
		}
		if (in->eof)
			break;
		/* what is complete does not wait for a live pipe */
		if (s->used > 0 && in->flush_ms >= 0) {
			memset(&j->scan, 0, sizeof(j->scan));
			return carry_cut(&j->carry, s, s->used, s->used);
		}
		got = carry_more(in, s, READ_LEN);
		if (got < 0)
			return (int)got;
	}
	if (s->used == 0 && j->plain)
		return fill_plain(j, in, s, pos);
	if (s->used > 0 && s->used < s->in.len) {
		/* the frame begun is looked at again from its beginning */
		memset(&j->scan, 0, sizeof(j->scan));
		j->plain = false;
		return carry_cut(&j->carry, s, s->used, s->used);
	}
	s->last = true;
	return 0;
}

static int
fill_threads(void *job, struct input *in, struct slot *s)
{
	struct job *j = job;
	int rc = carry_begin(&j->carry, s);

	if (rc != 0)
		return rc;
	return j->plain ? fill_plain(j, in, s, 0) : fill_frames(j, in, s);
}

/* Workers */

static int
worker_open(void *job, void **ctx)
{
	(void)job;
	*ctx = ZSTD_createDCtx();
	return *ctx == NULL ? -ENOMEM : 0;
}

static void
worker_close(void *ctx)
{
	ZSTD_freeDCtx(ctx);
}

/* libzstd goes over all the frames of a buffer, skippable ones too. */
static int
work(void *job, void *ctx, struct slot *s)
{
	size_t n;

	(void)job;
	if (s->kind != FRAMES || s->used == 0 || s->used != s->in.len)
		return 0;
	if (buf_reserve(&s->out, s->bits + 1) != 0)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(ctx, s->out.data, s->bits + 1, s->in.data,
	    s->used);
	s->ok = !ZSTD_isError(n) && n == s->bits;
	s->out.len = s->ok ? n : 0;
	return 0;
}

static int
join(void *job, struct slot *s, struct sink *out)
{
	struct job *j = job;

	if (s->ok && !j->serial.within) {
		j->serial.streams++;
		return sink_slot(out, s);
	}
	if (s->last && s->in.len == 0 && j->serial.streams == 0)
		return -ENODATA;
	return serial_feed(&j->serial, s->in.data, s->in.len, s->last, out);
}

/* A thread more than one costs a whole frame's memory; one costs none. */
static int
plan(const struct codec_options *o, struct plan *p, const char **why)
{
	(void)why;
	*p = (struct plan){ .slots = o->threads == 1 ? 4 : o->threads + 3,
	    .slot_B = o->threads == 1 ? SERIAL_PIECE : 6 << 20,
	    .worker_B = 1 << 20, .fixed_B = 4 << 20 };
	return 0;
}

static int
open_job(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	struct job *j = sys_calloc(1, sizeof(*j));
	int rc;

	(void)p;
	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->plain = j->hopeless = o->threads == 1;
	rc = serial_open(&j->serial, &zstd_stream, o->window_max);
	if (rc != 0)
		sys_free(j);
	else
		*job = j;
	return rc;
}

static void
close_job(void *job)
{
	struct job *j = job;

	if (j == NULL)
		return;
	serial_close(&j->serial);
	carry_close(&j->carry);
	sys_free(j);
}

const struct coder zstd_decoder = {
	.plan = plan, .open = open_job, .close = close_job,
	.ops = { .fill = fill_threads, .work = work, .join = join,
	    .worker_open = worker_open, .worker_close = worker_close },
};
