/*
 * zstd_encode.c - compressing to Zstandard
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * There are three ways.  The usual one, as with zstd -T, writes one frame, with
 * a checksum and a window that every decoder accepts.  However, no job refers
 * to the previous one, so jobs can be decompressed on all cores; zstd_job.h
 * describes the layout.  An input of one job becomes an ordinary frame without
 * marks.  Jobs are long, because each begins with an empty window.  Up to level
 * 8 the first two jobs are shorter, for the benefit of inputs of only a few
 * jobs.
 *
 * With --independent or --seekable, every frame covers the same amount of
 * input, is compressed independently, and contains its size and checksum.  A
 * skippable frame with a seek table may follow.
 *
 * zstd_stream.c has the third: one frame with a long window, or with any other
 * setting that jobs cannot have.
 *
 * Sources: RFC 8878; the Zstandard seekable format 0.1.0.
 */
#include "zstd_codec.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/cutter.h"
#include "format/zstd_table.h"
#include "pipeline/adapt.h"
#include "zstd_block.h"
#include "zstd_job.h"
#include "zstd_scan.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
	SHORT_JOB = 8 << 20,	/* size of the first SHORT_JOBS */
	SHORT_JOBS = 2,
	MANY_JOB = 4 << 20,	/* job size if many jobs are wanted: -R,
				 * --adapt */
	WINDOW_LEAST_LOG = 10,
	ROOM = 256 << 10,	/* room for data added by zstd_job_settle() */
	FRAME_LEAST_LOG = 22,
	FRAME_LEAST = 1 << FRAME_LEAST_LOG,
	WINDOW_MOST_LOG = 27,	/* maximum that decoders accept without an
				 * option */
	SMALL_LEVEL = 8,	/* the last level with small frames */
	LONG_PIECE = 4 << 20
};

struct zstd_encoder {
	struct cutter cut;		/* first, for cutter_fill() */
	const struct codec_options *options;
	int window_log;
	/* one frame of jobs */
	bool fixed;			/* all jobs have the same size */
	XXH64_state_t *hash;
	uint64_t total, size;		/* size: to be recorded, or 0 */
	/* frames of known size */
	struct buf table;		/* for --seekable */
};

/*
 * The windows are those that libzstd 1.5 chooses for input of unknown size, so
 * any program that reads its files can read these.  The context sizes are from
 * ZSTD_estimateCCtxSize() and depend on the parser's parameters: level 12 needs
 * more memory than level 13.
 */
static const struct grade {
	uint8_t window_log;	/* the same as libzstd's for an unknown size */
	uint16_t job_mib;	/* MiB of input in a job */
	uint16_t mib;		/* context size in MiB, rounded up */
} grades[] = {
	{ 19, 16, 1 }, { 20, 16, 1 }, { 21, 16, 2 }, { 21, 16, 3 },
	{ 21, 16, 4 }, { 21, 16, 4 }, { 21, 16, 7 }, { 21, 16, 7 },
	{ 22, 24, 13 }, { 22, 24, 25 }, { 22, 24, 25 },
	{ 22, 24, 49 }, { 22, 24, 33 }, { 22, 24, 49 },
	{ 22, 32, 65 }, { 22, 32, 33 }, { 23, 48, 50 },
	{ 23, 48, 50 }, { 23, 48, 82 }, { 25, 128, 162 },
	{ 26, 256, 322 }, { 27, 512, 650 },
};

static const struct grade *
grade_of(const struct codec_options *o)
{
	return &grades[o->level - 1];
}

uint64_t
zstd_context_size(int level)
{
	return (uint64_t)grades[level - 1].mib << 20;
}

static void
close_zstd_encoder(void *job)
{
	struct zstd_encoder *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	XXH64_freeState(j->hash);
	sys_free(j->table.data);
	sys_free(j);
}

static struct zstd_encoder *
new_zstd_encoder(const struct codec_options *o, const struct memory_plan *p)
{
	struct zstd_encoder *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->cut.block = p->block;
	j->cut.rsyncable = o->rsyncable;
	j->options = o;
	j->size = codec_number(o, "size");
	return j;
}

static int
open_context(void *job, void **ctx)
{
	(void)job;
	*ctx = ZSTD_createCCtx();
	return *ctx == NULL ? -ENOMEM : 0;
}

static void
close_context(void *ctx)
{
	ZSTD_freeCCtx(ctx);
}

/* Compresses s->in into a frame, with or without its checksum and size. */
static int
compress_frame(const struct zstd_encoder *j, ZSTD_CCtx *c, struct slot *s,
    bool checksum, bool size)
{
	const struct codec_options *o = j->options;
	const struct {
		ZSTD_cParameter parameter;
		int value;
	} set[] = {
		{ ZSTD_c_compressionLevel,
		    o->adapt != NULL ? adapt_take(o->adapt) :
		    zstd_level(o) },
		{ ZSTD_c_windowLog, j->window_log },
		/*
		 * The checksum is off by default in the library but on in
		 * zstd(1); without it, testing a file would detect little
		 * damage.
		 */
		{ ZSTD_c_checksumFlag, checksum },
		{ ZSTD_c_contentSizeFlag, size },
	};
	size_t n;

	for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++)
		if (ZSTD_isError(ZSTD_CCtx_setParameter(c, set[i].parameter,
		    set[i].value)))
			return -ENOMEM;
	n = ZSTD_compress2(c, s->out.data, s->out.cap, s->in.data, s->in.len);
	if (ZSTD_isError(n))
		return zstd_error(n);
	s->out.len = n;
	return 0;
}

/* One frame of jobs */

struct jobs_notes {
	bool hole;		/* fill: `in` has no data, which is zero */
};
SLOT_NOTES(jobs_notes)

struct jobs_worker {
	ZSTD_CCtx *context;
	struct cutter_zeros zeros;
};

static int
jobs_worker_open(void *job, void **ctx)
{
	struct jobs_worker *w = sys_calloc(1, sizeof(*w));
	void *context;

	if (w == NULL || open_context(job, &context) != 0) {
		sys_free(w);
		return -ENOMEM;
	}
	w->context = context;
	*ctx = w;
	return 0;
}

static void
jobs_worker_close(void *ctx)
{
	struct jobs_worker *w = ctx;

	close_context(w->context);
	cutter_zeros_free(&w->zeros);
	sys_free(w);
}

static size_t
longest_job(const struct codec_options *o)
{
	if (o->block != 0)
		return o->block;
	return o->adapt != NULL || o->rsyncable ? MANY_JOB :
	    (size_t)grade_of(o)->job_mib << 20;
}

static int
jobs_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	if (o->block > (size_t)1 << 30) {
		*why = "this format limits blocks to 1 GiB";
		return -ENOTSUP;
	}
	p->block = longest_job(o);
	/* one slot for each worker, and one to read into or write from */
	p->slots = p->block > MANY_JOB ? o->threads + 1 :
	    pipeline_slots(o->threads);
	p->slot_B = p->block + ZSTD_compressBound(p->block) + ROOM;
	p->worker_B = (uint64_t)grade_of(o)->mib << 20;
	p->fixed_B = 1 << 20;
	return 0;
}

static int
jobs_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct zstd_encoder *j = new_zstd_encoder(o, p);

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->fixed = o->block != 0 || o->adapt != NULL || o->rsyncable;
	j->window_log = WINDOW_LEAST_LOG;
	while (j->window_log < grade_of(o)->window_log &&
	    (size_t)1 << j->window_log < p->block)
		j->window_log++;
	j->hash = XXH64_createState();
	if (j->hash == NULL) {
		close_zstd_encoder(j);
		return -ENOMEM;
	}
	XXH64_reset(j->hash, 0);
	*job = j;
	return 0;
}

static int
jobs_fill(void *job, struct input *in, struct slot *s)
{
	struct zstd_encoder *j = job;
	size_t len = longest_job(j->options);
	int rc;

	if (!j->fixed) {
		j->cut.block = s->seq < SHORT_JOBS && len <= 2 * SHORT_JOB ?
		    SHORT_JOB : len;
	}
	rc = cutter_hole(&j->cut, in, s);
	jobs_notes(s)->hole = rc == 1;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	/* allocate everything at once, because growing would fragment memory */
	if (s->seq > 0)
		rc = buf_reserve(&s->in, len);
	return rc != 0 ? rc : cutter_fill(j, in, s);
}

/*
 * Returns whether s is the whole input, which becomes an ordinary libzstd frame
 * rather than a job.
 */
static bool
is_alone(const struct slot *s)
{
	return s->seq == 0 && s->last;
}

/* Stores the blocks uncompressed, which is always possible. */
static void
store_blocks(struct slot *s, size_t most)
{
	uint8_t *to = s->out.data + ZSTD_JOB_HEAD;

	for (size_t at = 0, n; at < s->in.len; at += n) {
		n = s->in.len - at < most ? s->in.len - at : most;
		zstd_block_head_store(to, at + n == s->in.len, ZSTD_RAW, n);
		memcpy(to + ZSTD_BLOCK_HEAD, s->in.data + at, n);
		to += ZSTD_BLOCK_HEAD + n;
	}
	s->out.len = (size_t)(to - s->out.data);
}

static int
compress_job(const struct zstd_encoder *j, ZSTD_CCtx *c, struct slot *s)
{
	size_t most = (size_t)1 << j->window_log, n, raw, len;
	bool alone = is_alone(s);
	struct zstd_header h;
	uint8_t *last;
	int rc;

	/* the end of an input that consists of whole jobs */
	if (s->in.len == 0 && s->seq > 0)
		return 0;
	if (most > ZSTD_BLOCK_MAX)
		most = ZSTD_BLOCK_MAX;
	len = alone ? s->in.len : longest_job(j->options);
	raw = len + ZSTD_BLOCK_HEAD * (len / most + 1);
	n = ZSTD_compressBound(len);
	rc = buf_reserve(&s->out, (n < raw ? raw : n) + ROOM);
	if (rc == 0)
		rc = compress_frame(j, c, s, alone,
		    alone && (j->size != 0 || s->in.len == 0));
	if (rc != 0 || alone)
		return rc;

	/* turn the frame into a job: marks replace its header */
	rc = zstd_header_parse(&h, s->out.data, s->out.len) == 1 &&
	    h.len == ZSTD_JOB_HEAD ?
	    zstd_job_settle(&s->out, ZSTD_JOB_HEAD, most) : -EBADMSG;
	if (rc == -ENOMEM)
		return rc;
	if (rc != 0)
		store_blocks(s, most);
	memset(s->out.data, 0, ZSTD_JOB_HEAD);
	if (s->last)
		return 0;
	last = zstd_last_block(s->out.data + ZSTD_JOB_HEAD,
	    s->out.len - ZSTD_JOB_HEAD);
	if (last == NULL)
		return -EBADMSG;
	*last &= 0xfe;
	n = ZSTD_BLOCK_HEAD * zstd_job_marks(s->in.len);
	memset(s->out.data + s->out.len, 0, n);
	s->out.len += n;
	return 0;
}

static int
jobs_work(void *job, void *ctx, struct slot *s)
{
	const struct zstd_encoder *j = job;
	struct jobs_worker *w = ctx;
	int level = j->options->level;
	int rc = jobs_notes(s)->hole ? cutter_zeros_get(&w->zeros, s, level) :
	    0;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = compress_job(j, w->context, s);
	return rc == 0 && jobs_notes(s)->hole ?
	    cutter_zeros_keep(&w->zeros, s, level) : rc;
}

static int
jobs_join(void *job, struct slot *s, struct sink *out)
{
	static const uint8_t empty[ZSTD_BLOCK_HEAD] = { 1, 0, 0 };
	struct zstd_encoder *j = job;
	bool last = s->last, any = s->in.len > 0;
	bool wide = j->size > UINT32_MAX;
	uint8_t head[ZSTD_HEADER_MAX], check[ZSTD_CHECKSUM];
	size_t len = ZSTD_JOB_HEAD;
	int rc = 0;

	j->total += s->in.len;
	if (last && j->size != 0 && j->total != j->size)
		return -ESTALE;
	if (is_alone(s))
		return sink_slot(out, s);
	if (s->seq == 0) {
		zstd_job_head(head,
		    (uint8_t)((j->window_log - WINDOW_LEAST_LOG) << 3));
		head[4] |= ZSTD_HAS_CHECKSUM;
		if (j->size != 0) {
			head[4] |= (uint8_t)((wide ? 3 : 2) << ZSTD_SIZE_SHIFT);
			store_le64(head + len, j->size);
			len += wide ? 8 : 4;
		}
		rc = sink_write(out, head, len);
	}
	if (!jobs_notes(s)->hole)
		XXH64_update(j->hash, s->in.data, s->in.len);
	for (size_t n = jobs_notes(s)->hole ? s->in.len : 0, part; n > 0;
	    n -= part) {
		part = n < CUTTER_ZERO ? n : CUTTER_ZERO;
		XXH64_update(j->hash, cutter_zero, part);
	}
	if (rc == 0)
		rc = sink_slot(out, s);
	/* the checksum, preceded by a last block if there has been none */
	if (rc == 0 && last && !any)
		rc = sink_write(out, empty, sizeof(empty));
	if (rc != 0 || !last)
		return rc;
	store_le32(check, (uint32_t)XXH64_digest(j->hash));
	return sink_write(out, check, sizeof(check));
}

const struct coder zstd_encoder = {
	.plan = jobs_plan, .open = jobs_open, .close = close_zstd_encoder,
	.ops = { .fill = jobs_fill, .work = jobs_work, .join = jobs_join,
	    .worker_open = jobs_worker_open,
	    .worker_close = jobs_worker_close },
};

/* Frames of known size */

/*
 * Returns log2 of the frame size: at the higher levels, four of libzstd's
 * windows.
 */
static int
frame_log(int level)
{
	if (level <= SMALL_LEVEL)
		return FRAME_LEAST_LOG;
	if (level <= 15)
		return 24;
	return level <= 19 ? 25 : level + 7;
}

static int
frames_plan(const struct codec_options *o, struct memory_plan *p,
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
	p->worker_B = (uint64_t)grade_of(o)->mib << 20;
	p->fixed_B = 1 << 20;
	return 0;
}

/*
 * The window is as long as the frame.  The input and output of a frame are held
 * in memory in full anyway, so the longer window costs nothing.  It saves 0.2
 * to 1.6 % at level 3, 5 % at levels 9 to 15, and 3 % at level 19.
 */
static int
frames_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct zstd_encoder *j = new_zstd_encoder(o, p);

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->window_log = frame_log(o->level);
	if (j->window_log > WINDOW_MOST_LOG)
		j->window_log = WINDOW_MOST_LOG;
	*job = j;
	return 0;
}

static int
frames_work(void *job, void *ctx, struct slot *s)
{
	int rc;

	/* the end of an input that consists of whole blocks; write no frame */
	if (s->in.len == 0 && s->seq > 0)
		return 0;
	rc = buf_reserve(&s->out, ZSTD_compressBound(s->in.len));
	return rc != 0 ? rc : compress_frame(job, ctx, s, true, true);
}

static int
frames_join(void *job, struct slot *s, struct sink *out)
{
	struct zstd_encoder *j = job;
	bool seekable = codec_number(j->options, "seekable") != 0;
	bool last = s->last;
	int rc = 0;

	if (seekable && s->out.len > 0)
		rc = zstd_table_add(&j->table, s->out.len, s->in.len);
	if (rc == 0)
		rc = sink_slot(out, s);
	if (rc != 0 || !last || !seekable)
		return rc;
	rc = zstd_table_end(&j->table);
	return rc != 0 ? rc : sink_write(out, j->table.data, j->table.len);
}

const struct coder zstd_frames_encoder = {
	.plan = frames_plan, .open = frames_open, .close = close_zstd_encoder,
	.ops = { .fill = cutter_fill, .work = frames_work,
	    .join = frames_join, .worker_open = open_context,
	    .worker_close = close_context },
};
