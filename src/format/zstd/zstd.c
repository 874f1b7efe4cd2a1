/*
 * zstd.c - Zstandard, the row and the compressing half
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of a fixed amount of input, each compressed on its own, with its
 * size and checksum; behind them, if there are several, a skippable frame
 * with a seek table.  Sources: RFC 8878; the Zstandard seekable format 0.1.0.
 *
 * With a long window (window_log) the whole is one frame, compressed by
 * libzstd's own threads: cutting it would cut the window.
 */
#include "zstd_codec.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/cutter.h"
#include "format/formats.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "pipeline/adapt.h"
#include "zstd_scan.h"

#include <errno.h>
#include <stdio.h>
#include <zstd.h>
#include <zstd_errors.h>

#define SEEK_MAGIC 0x184d2a5eU
#define SEEK_FOOTER_MAGIC 0x8f92eab1U

enum {
	FRAME_LEAST_LOG = 22,
	FRAME_LEAST = 1 << FRAME_LEAST_LOG,
	WINDOW_MOST_LOG = 27,	/* that decoders take without being asked */
	SMALL_LEVEL = 8,	/* the last one with such frames */
};

struct job {
	struct cutter cut;
	const struct codec_options *options;
	struct buf table;		/* of frames: two le32 each */
	ZSTD_CCtx *stream;		/* the long way */
};

int
zstd_error(size_t code)
{
	switch (ZSTD_getErrorCode(code)) {
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	case ZSTD_error_frameParameter_windowTooLarge:
		return -EFBIG;
	case ZSTD_error_dictionary_wrong:
	case ZSTD_error_version_unsupported:
		return -ENOTSUP;
	case ZSTD_error_dstSize_tooSmall:
		return -ENOBUFS;
	default:
		return -EBADMSG;
	}
}

/*
 * log2 of a frame: at the higher levels four of the windows that libzstd has
 * there.
 */
static int
frame_log(int level)
{
	return level <= SMALL_LEVEL ? FRAME_LEAST_LOG : level <= 15 ? 24 :
	    level <= 19 ? 25 : level + 7;
}

/*
 * log2 of the window: that of the frame.  This is in memory as a whole, going
 * in and coming out, so the longer window costs nothing; it is worth 0.2 to
 * 1.6 % at level 3, 5 % at 9 to 15, and 3 % at 19.
 */
static int
window_log(int level)
{
	int log = frame_log(level);

	return log < WINDOW_MOST_LOG ? log : WINDOW_MOST_LOG;
}

static bool
set(ZSTD_CCtx *c, ZSTD_cParameter parameter, int value)
{
	return !ZSTD_isError(ZSTD_CCtx_setParameter(c, parameter, value));
}

static ZSTD_CCtx *
new_context(const struct codec_options *o)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();

	/*
	 * The frame's checksum is off in the library and on in zstd(1); it is
	 * all that a test of a file has to go by.
	 */
	if (c == NULL || !set(c, ZSTD_c_compressionLevel, o->level) ||
	    !set(c, ZSTD_c_windowLog, window_log(o->level)) ||
	    !set(c, ZSTD_c_checksumFlag, 1)) {
		ZSTD_freeCCtx(c);
		return NULL;
	}
	return c;
}

/*
 * MiB of a context at each level, rounded up: what ZSTD_estimateCCtxSize()
 * says of a whole frame, which needs no copy of its window.  It follows the
 * parameters of the parser, not the window: 12 takes more than 13.
 */
static uint64_t
context_memory(int level)
{
	static const uint16_t mib[] = {
		1, 1, 2, 3, 4, 4, 7, 7, 13, 25, 25, 49, 33, 49, 65,
		33, 50, 50, 82, 162, 322, 650,
	};

	return (uint64_t)mib[level - 1] << 20;
}

static int
plan(const struct codec_options *o, struct plan *p, const char **why)
{
	(void)why;
	if (o->block > (size_t)1 << 30) {
		*why = "blocks of this format are at most 1 GiB";
		return -ENOTSUP;
	}
	p->block = o->block != 0 ? o->block :
	    o->adapt != NULL ? FRAME_LEAST :
	    (size_t)1 << frame_log(o->level);
	/* large frames: one a worker, one to read into, one to write from */
	p->slots = p->block > FRAME_LEAST ? o->threads + 2 :
	    pipeline_slots(o->threads);
	p->slot_B = p->block + ZSTD_compressBound(p->block);
	p->worker_B = context_memory(o->level);
	p->fixed_B = 1 << 20;
	return 0;
}

static int
open_job(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	struct job *j = sys_calloc(1, sizeof(*j));

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->cut.block = p->block;
	j->cut.rsyncable = o->rsyncable;
	j->options = o;
	*job = j;
	return 0;
}

static void
close_job(void *job)
{
	struct job *j = job;

	if (j == NULL)
		return;
	ZSTD_freeCCtx(j->stream);
	cutter_close(&j->cut);
	sys_free(j->table.data);
	sys_free(j);
}

static int
fill(void *job, struct input *in, struct slot *s)
{
	struct job *j = job;

	return cutter_fill(&j->cut, in, s);
}

static int
worker_open(void *job, void **ctx)
{
	struct job *j = job;

	*ctx = new_context(j->options);
	return *ctx == NULL ? -ENOMEM : 0;
}

static void
worker_close(void *ctx)
{
	ZSTD_freeCCtx(ctx);
}

static int
work(void *job, void *ctx, struct slot *s)
{
	struct job *j = job;
	size_t n;
	int rc;

	/* the end of an input of whole blocks: no frame for it */
	if (s->in.len == 0 && s->seq > 0)
		return 0;
	if (j->options->adapt != NULL)
		ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel,
		    adapt_take(j->options->adapt));
	rc = buf_reserve(&s->out, ZSTD_compressBound(s->in.len));
	if (rc != 0)
		return rc;
	n = ZSTD_compress2(ctx, s->out.data, s->out.cap, s->in.data,
	    s->in.len);
	if (ZSTD_isError(n))
		return zstd_error(n);
	s->out.len = n;
	return 0;
}

static int
note_frame(struct job *j, size_t packed, size_t size)
{
	struct buf *t = &j->table;
	int rc = t->cap - t->len >= 8 ? 0 :
	    buf_reserve(t, t->cap == 0 ? 4096 : 2 * t->cap);

	if (rc == 0) {
		store_le32(t->data + t->len, (uint32_t)packed);
		store_le32(t->data + t->len + 4, (uint32_t)size);
		t->len += 8;
	}
	return rc;
}

static int
put_table(struct job *j, struct sink *out)
{
	uint8_t head[8], foot[9];
	int rc;

	store_le32(head, SEEK_MAGIC);
	store_le32(head + 4, (uint32_t)(j->table.len + sizeof(foot)));
	store_le32(foot, (uint32_t)(j->table.len / 8));
	foot[4] = 0;
	store_le32(foot + 5, SEEK_FOOTER_MAGIC);
	rc = sink_write(out, head, sizeof(head));
	if (rc == 0)
		rc = sink_write(out, j->table.data, j->table.len);
	return rc != 0 ? rc : sink_write(out, foot, sizeof(foot));
}

static int
join(void *job, struct slot *s, struct sink *out)
{
	struct job *j = job;
	bool last = s->last;
	int rc = 0;

	if (s->out.len > 0)
		rc = note_frame(j, s->out.len, s->in.len);
	if (rc == 0)
		rc = sink_slot(out, s);
	return rc == 0 && last && j->table.len > 8 ? put_table(j, out) : rc;
}

const struct coder zstd_encoder = {
	.plan = plan, .open = open_job, .close = close_job,
	.ops = { .fill = fill, .work = work, .join = join,
	    .worker_open = worker_open, .worker_close = worker_close },
};

/* The long way */

static int
plan_long(const struct codec_options *o, struct plan *p, const char **why)
{
	if (o->rsyncable) {
		*why = "a long window has no rsyncable form here";
		return -ENOTSUP;
	}
	*p = (struct plan){ .block = FRAME_LEAST, .slots = 4,
	    .slot_B = FRAME_LEAST,
	    .worker_B = context_memory(o->level) +
	    ((uint64_t)8 << o->window_log),
	    .fixed_B = (uint64_t)2 << o->window_log };
	return 0;
}

static int
open_long(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	struct job *j;
	int rc = open_job(job, o, p, notes);

	if (rc != 0)
		return rc;
	j = *job;
	j->stream = new_context(o);
	if (j->stream == NULL) {
		close_job(j);
		return -ENOMEM;
	}
	ZSTD_CCtx_setParameter(j->stream, ZSTD_c_enableLongDistanceMatching,
	    1);
	ZSTD_CCtx_setParameter(j->stream, ZSTD_c_windowLog, o->window_log);
	/* fails where libzstd has no threads: then it compresses with one */
	ZSTD_CCtx_setParameter(j->stream, ZSTD_c_nbWorkers, (int)o->threads);
	return 0;
}

/*
 * The library must see the input begun before it is told of its end, else a
 * short one is compressed another way.
 */
static int
join_long(void *job, struct slot *s, struct sink *out)
{
	struct job *j = job;
	ZSTD_inBuffer in = { s->in.data, s->in.len, 0 };
	size_t left = 1, room;
	int rc = 0;

	while (in.pos < in.size || (s->last && left != 0)) {
		ZSTD_outBuffer o = { sink_space(out, &room, &rc), 0, 0 };

		if (o.dst == NULL)
			return rc;
		o.size = room;
		left = ZSTD_compressStream2(j->stream, &o, &in,
		    s->last && in.pos == in.size ? ZSTD_e_end :
		    ZSTD_e_continue);
		if (ZSTD_isError(left))
			return zstd_error(left);
		sink_advance(out, o.pos);
		if (in.pos < in.size || !s->last)
			left = 1;
	}
	return 0;
}

const struct coder zstd_long_encoder = {
	.plan = plan_long, .open = open_long, .close = close_job,
	.ops = { .fill = fill, .join = join_long },
};

/*
 * Skippable frames are lz4's as well: they are ours unless something else is
 * seen to follow.
 */
static bool
magic(const uint8_t *p, size_t len)
{
	struct zstd_header h;

	if (len < 4 || zstd_header_parse(&h, p, len) < 0)
		return false;
	while (len >= 8 && (load_le32(p) & ~15U) == ZSTD_SKIP_MAGIC) {
		size_t n = load_le32(p + 4);

		if (n >= len - 8 || len - 8 - n < 4)
			return true;
		p += 8 + n;
		len -= 8 + n;
	}
	return load_le32(p) == ZSTD_FRAME_MAGIC ||
	    (load_le32(p) & ~15U) == ZSTD_SKIP_MAGIC;
}

static const char *
versions(void)
{
	return ZSTD_versionString();
}

static const struct coder *
encoder_for(const struct codec_options *o)
{
	return o->window_log != 0 ? &zstd_long_encoder : &zstd_encoder;
}

const struct codec codec_zstd = {
	.name = "zstd", .short_name = "zst",
	.suffixes = (const struct codec_suffix[]){ { ".zst", "" },
	    { ".tzst", ".tar" }, { NULL, NULL } },
	.level_min = 1, .level_max = 22, .level_default = 3,
	.adapt_max = 15,
	.list = zstd_list, .seek = &zstd_seek,
	.magic = magic, .encode = &zstd_encoder, .decode = &zstd_decoder,
	.encoder_for = encoder_for,
	.versions = versions,
};
