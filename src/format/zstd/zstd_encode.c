/*
 * zstd_encode.c - compressing to one Zstandard frame of jobs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * As with zstd -T, the output is one frame, with a checksum and a window that
 * every decoder accepts.  However, no job refers to the previous one, so jobs
 * can be decompressed on all cores; zstd_job.h describes the layout.  An input
 * of one job becomes an ordinary frame without marks.
 *
 * Jobs are long, because each begins with an empty window.  Up to level 8 the
 * first two jobs are shorter, for the benefit of inputs of only a few jobs.
 */
#include "zstd_codec.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/cutter.h"
#include "pipeline/adapt.h"
#include "zstd_block.h"
#include "zstd_job.h"
#include "zstd_scan.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

enum {
	SHORT_JOB = 8 << 20,	/* size of the first SHORT_JOBS */
	SHORT_JOBS = 2,
	MANY_JOB = 4 << 20,	/* job size if many jobs are wanted: -R,
				 * --adapt */
	WINDOW_LEAST_LOG = 10,
	ROOM = 256 << 10,	/* room for data added by zstd_job_settle() */
	CHECKSUM = 4
};

struct zstd_jobs {
	struct cutter cut;
	const struct codec_options *options;
	int window_log;
	bool fixed;			/* all jobs have the same size */
	XXH64_state_t *hash;
	uint64_t total, size;		/* size: to be recorded, or 0 */
};

static size_t
longest_job(const struct codec_options *o)
{
	return o->block != 0 ? o->block :
	    o->adapt != NULL || o->rsyncable ? MANY_JOB :
	    (size_t)zstd_level(o->level)->job_mib << 20;
}

static int
zstd_jobs_plan(const struct codec_options *o, struct memory_plan *p,
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
	p->worker_B = (uint64_t)zstd_level(o->level)->mib << 20;
	p->fixed_B = 1 << 20;
	return 0;
}

static void
zstd_jobs_close(void *job)
{
	struct zstd_jobs *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	XXH64_freeState(j->hash);
	sys_free(j);
}

static int
zstd_jobs_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct zstd_jobs *j = sys_calloc(1, sizeof(*j));

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->cut.block = p->block;
	j->cut.rsyncable = o->rsyncable;
	j->options = o;
	j->size = codec_number(o, "size");
	j->fixed = o->block != 0 || o->adapt != NULL || o->rsyncable;
	j->window_log = WINDOW_LEAST_LOG;
	while (j->window_log < zstd_level(o->level)->window_log &&
	    (size_t)1 << j->window_log < p->block)
		j->window_log++;
	j->hash = XXH64_createState();
	if (j->hash == NULL) {
		zstd_jobs_close(j);
		return -ENOMEM;
	}
	XXH64_reset(j->hash, 0);
	*job = j;
	return 0;
}

static int
zstd_jobs_fill(void *job, struct input *in, struct slot *s)
{
	struct zstd_jobs *j = job;
	size_t len = longest_job(j->options);
	/* allocate everything at once, because growing would fragment memory */
	int rc = s->seq > 0 ? buf_reserve(&s->in, len) : 0;

	if (rc != 0)
		return rc;
	if (!j->fixed) {
		j->cut.block = s->seq < SHORT_JOBS && len <= 2 * SHORT_JOB ?
		    SHORT_JOB : len;
	}
	return cutter_fill(&j->cut, in, s);
}

static int
zstd_jobs_worker_open(void *job, void **ctx)
{
	(void)job;
	*ctx = ZSTD_createCCtx();
	return *ctx == NULL ? -ENOMEM : 0;
}

static void
zstd_jobs_worker_close(void *ctx)
{
	ZSTD_freeCCtx(ctx);
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

static size_t
block_most(const struct zstd_jobs *j)
{
	size_t window = (size_t)1 << j->window_log;

	return window < ZSTD_BLOCK_MAX ? window : ZSTD_BLOCK_MAX;
}

static int
set_up(const struct zstd_jobs *j, ZSTD_CCtx *c, const struct slot *s)
{
	bool alone = is_alone(s);
	const struct codec_options *o = j->options;
	int level = o->adapt != NULL ? adapt_take(o->adapt) : o->level;
	int rc = zstd_set(c, ZSTD_c_compressionLevel, level);

	if (rc == 0)
		rc = zstd_set(c, ZSTD_c_windowLog, j->window_log);
	if (rc == 0)
		rc = zstd_set(c, ZSTD_c_checksumFlag, alone);
	return rc != 0 ? rc : zstd_set(c, ZSTD_c_contentSizeFlag,
	    alone && (j->size != 0 || s->in.len == 0));
}

/* Stores the blocks uncompressed, which is always possible. */
static void
store_blocks(struct slot *s, size_t most)
{
	uint8_t *to = s->out.data + ZSTD_JOB_HEAD;

	for (size_t at = 0, n; at < s->in.len; at += n) {
		uint32_t head;

		n = s->in.len - at < most ? s->in.len - at : most;
		head = (uint32_t)n << 3 | ZSTD_RAW << 1 |
		    (at + n == s->in.len);
		for (int i = 0; i < ZSTD_BLOCK_HEAD; i++)
			*to++ = (uint8_t)(head >> 8 * i);
		memcpy(to, s->in.data + at, n);
		to += n;
	}
	s->out.len = (size_t)(to - s->out.data);
}

/* Turns the frame in s->out into a job: marks replace its header. */
static int
make_job(const struct zstd_jobs *j, struct slot *s)
{
	struct zstd_header h;
	size_t most = block_most(j), marks;
	uint8_t *last;
	int rc = zstd_header_parse(&h, s->out.data, s->out.len) == 1 &&
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
	marks = ZSTD_BLOCK_HEAD * zstd_job_marks(s->in.len);
	memset(s->out.data + s->out.len, 0, marks);
	s->out.len += marks;
	return 0;
}

static int
zstd_jobs_work(void *job, void *ctx, struct slot *s)
{
	const struct zstd_jobs *j = job;
	size_t n, raw, len;
	int rc;

	/* the end of an input that consists of whole jobs */
	if (s->in.len == 0 && s->seq > 0)
		return 0;
	rc = set_up(j, ctx, s);
	len = is_alone(s) ? s->in.len : longest_job(j->options);
	raw = len + ZSTD_BLOCK_HEAD * (len / block_most(j) + 1);
	n = ZSTD_compressBound(len);
	if (rc == 0)
		rc = buf_reserve(&s->out, (n < raw ? raw : n) + ROOM);
	if (rc != 0)
		return rc;
	n = ZSTD_compress2(ctx, s->out.data, s->out.cap, s->in.data,
	    s->in.len);
	if (ZSTD_isError(n))
		return zstd_error(n);
	s->out.len = n;
	return is_alone(s) ? 0 : make_job(j, s);
}

static int
put_frame_header(const struct zstd_jobs *j, struct sink *out)
{
	bool wide = j->size > UINT32_MAX;
	uint8_t head[ZSTD_HEADER_MAX];
	size_t len = ZSTD_JOB_HEAD;

	zstd_job_head(head,
	    (uint8_t)((j->window_log - WINDOW_LEAST_LOG) << 3));
	head[4] |= ZSTD_HAS_CHECKSUM;
	if (j->size != 0) {
		head[4] |= (uint8_t)((wide ? 3 : 2) << ZSTD_SIZE_SHIFT);
		store_le64(head + len, j->size);
		len += wide ? 8 : 4;
	}
	return sink_write(out, head, len);
}

/* Writes the checksum, preceded by a last block if there has been none. */
static int
put_frame_end(const struct zstd_jobs *j, bool ended, struct sink *out)
{
	static const uint8_t empty[ZSTD_BLOCK_HEAD] = { 1, 0, 0 };
	uint8_t check[CHECKSUM];
	int rc = ended ? 0 : sink_write(out, empty, sizeof(empty));

	store_le32(check, (uint32_t)XXH64_digest(j->hash));
	return rc != 0 ? rc : sink_write(out, check, sizeof(check));
}

static int
zstd_jobs_join(void *job, struct slot *s, struct sink *out)
{
	struct zstd_jobs *j = job;
	bool last = s->last, alone = is_alone(s), any = s->in.len > 0;
	int rc = s->seq == 0 && !alone ? put_frame_header(j, out) : 0;

	j->total += s->in.len;
	if (last && j->size != 0 && j->total != j->size)
		return -ESTALE;
	if (!alone)
		XXH64_update(j->hash, s->in.data, s->in.len);
	if (rc == 0)
		rc = sink_slot(out, s);
	return rc == 0 && last && !alone ? put_frame_end(j, any, out) : rc;
}

const struct coder zstd_encoder = {
	.plan = zstd_jobs_plan, .open = zstd_jobs_open,
	    .close = zstd_jobs_close,
	.ops = { .fill = zstd_jobs_fill, .work = zstd_jobs_work,
	    .join = zstd_jobs_join, .worker_open = zstd_jobs_worker_open,
	    .worker_close = zstd_jobs_worker_close },
};
