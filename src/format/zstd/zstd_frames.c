/*
 * zstd_frames.c - compressing to Zstandard frames of known size
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every frame covers the same amount of input, is compressed independently, and
 * contains its size and checksum.  A skippable frame with a seek table may
 * follow.  Source: the Zstandard seekable format 0.1.0.
 */
#include "zstd_codec.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/cutter.h"
#include "pipeline/adapt.h"

#include <errno.h>

#define SEEK_MAGIC 0x184d2a5eU
#define SEEK_FOOTER_MAGIC 0x8f92eab1U

enum {
	FRAME_LEAST_LOG = 22,
	FRAME_LEAST = 1 << FRAME_LEAST_LOG,
	WINDOW_MOST_LOG = 27,	/* maximum that decoders accept without an
				 * option */
	SMALL_LEVEL = 8,	/* the last level with small frames */
};

struct zstd_frames {
	struct cutter cut;
	const struct codec_options *options;
	struct buf table;		/* frame entries: two le32 each */
};

/*
 * Returns log2 of the frame size: at the higher levels, four of libzstd's
 * windows.
 */
static int
frame_log(int level)
{
	return level <= SMALL_LEVEL ? FRAME_LEAST_LOG : level <= 15 ? 24 :
	    level <= 19 ? 25 : level + 7;
}

/*
 * Returns log2 of the window size, which is the frame size.  The input and
 * output of a frame are held in memory in full anyway, so the longer window
 * costs nothing.  It saves 0.2 to 1.6 % at level 3, 5 % at levels 9 to 15, and
 * 3 % at level 19.
 */
static int
window_log(int level)
{
	int log = frame_log(level);

	return log < WINDOW_MOST_LOG ? log : WINDOW_MOST_LOG;
}

static ZSTD_CCtx *
new_context(const struct codec_options *o)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();

	/*
	 * The checksum is off by default in the library but on in zstd(1);
	 * without it, testing a file would detect little damage.
	 */
	if (c == NULL || zstd_set(c, ZSTD_c_compressionLevel, o->level) != 0 ||
	    zstd_set(c, ZSTD_c_windowLog, window_log(o->level)) != 0 ||
	    zstd_set(c, ZSTD_c_checksumFlag, 1) != 0) {
		ZSTD_freeCCtx(c);
		return NULL;
	}
	return c;
}

static int
zstd_frames_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	if (o->block > (size_t)1 << 30) {
		*why = "this format limits blocks to 1 GiB";
		return -ENOTSUP;
	}
	p->block = o->block != 0 ? o->block :
	    o->adapt != NULL ? FRAME_LEAST :
	    (size_t)1 << frame_log(o->level);
	/*
	 * with large frames: one slot for each worker, one to read into, and
	 * one to write from
	 */
	p->slots = p->block > FRAME_LEAST ? o->threads + 2 :
	    pipeline_slots(o->threads);
	p->slot_B = p->block + ZSTD_compressBound(p->block);
	p->worker_B = (uint64_t)zstd_level(o->level)->mib << 20;
	p->fixed_B = 1 << 20;
	return 0;
}

static int
zstd_frames_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct zstd_frames *j = sys_calloc(1, sizeof(*j));

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
zstd_frames_close(void *job)
{
	struct zstd_frames *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	sys_free(j->table.data);
	sys_free(j);
}

static int
zstd_frames_fill(void *job, struct input *in, struct slot *s)
{
	struct zstd_frames *j = job;

	return cutter_fill(&j->cut, in, s);
}

static int
zstd_frames_worker_open(void *job, void **ctx)
{
	struct zstd_frames *j = job;

	*ctx = new_context(j->options);
	return *ctx == NULL ? -ENOMEM : 0;
}

static void
zstd_frames_worker_close(void *ctx)
{
	ZSTD_freeCCtx(ctx);
}

static int
zstd_frames_work(void *job, void *ctx, struct slot *s)
{
	struct zstd_frames *j = job;
	size_t n;
	int rc;

	/* the end of an input that consists of whole blocks; write no frame */
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
note_frame(struct zstd_frames *j, size_t packed, size_t size)
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
put_table(struct zstd_frames *j, struct sink *out)
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
zstd_frames_join(void *job, struct slot *s, struct sink *out)
{
	struct zstd_frames *j = job;
	bool last = s->last;
	int rc = 0;

	if (s->out.len > 0)
		rc = note_frame(j, s->out.len, s->in.len);
	if (rc == 0)
		rc = sink_slot(out, s);
	return rc == 0 && last && codec_number(j->options, "seekable") ?
	    put_table(j, out) : rc;
}

const struct coder zstd_frames_encoder = {
	.plan = zstd_frames_plan, .open = zstd_frames_open,
	    .close = zstd_frames_close,
	.ops = { .fill = zstd_frames_fill, .work = zstd_frames_work,
	    .join = zstd_frames_join, .worker_open = zstd_frames_worker_open,
	    .worker_close = zstd_frames_worker_close },
};

