/*
 * zstd_decode.c - decompressing Zstandard on all cores
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The reader cuts pieces of whole frames whose headers contain their sizes, and
 * jobs of frames written by pzc.  All other data, and units that are too large,
 * are decoded by libzstd's stream decoder in the joiner.  With one thread,
 * everything is decoded there, which needs the least memory.
 */
#include "zstd_codec.h"

#include "base/sys.h"
#include "zstd_block.h"
#include "zstd_decode.h"
#include "zstd_job.h"

#include <errno.h>
#include <string.h>
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
	BASE = 4 << 20
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

/* Workers */

static int
unzstd_worker_open(void *job, void **ctx)
{
	(void)job;
	*ctx = ZSTD_createDCtx();
	return *ctx == NULL ? -ENOMEM : 0;
}

/* Decodes all frames of a piece in one call, including skippable ones. */
static int
work_frames(ZSTD_DCtx *d, struct slot *s)
{
	struct unzstd_notes *note = unzstd_notes(s);
	size_t n;

	if (note->used == 0 || note->used != s->in.len)
		return 0;
	if (buf_reserve(&s->out, note->most + 1) != 0)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(d, s->out.data, note->most + 1, s->in.data,
	    note->used);
	note->ok = !ZSTD_isError(n) && n == note->most;
	s->out.len = note->ok ? n : 0;
	return 0;
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

	switch (unzstd_notes(s)->kind) {
	case PIECE_FRAMES:
		return work_frames(ctx, s);
	case PIECE_JOB:
		return work_job(ctx, s, j->cutter.unit_max);
	default:
		return 0;
	}
}

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
	.ops = { .fill = zstd_cut, .work = unzstd_work, .join = zstd_join,
	    .worker_open = unzstd_worker_open,
	    .worker_close = stream_close },
};
