/*
 * deflate_encode.c - compressing to gzip, zlib and zip
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The three formats differ in the header and trailer around the deflate stream,
 * and in the checksum: struct wrap.  The layout of the stream is described in
 * gzip.h.
 */
#include "deflate_wrap.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "pipeline/adapt.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>

enum { HEADER_ROOM = 64 };

/* Compressing to gzip, zlib and zip. */
struct deflate_notes {
	uint32_t check;		/* work: CRC-32 or Adler-32 of `in` */
};
SLOT_NOTES(deflate_notes)

int
deflate_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	if (o->block > (size_t)1 << 30) {
		*why = "this format limits blocks to 1 GiB";
		return -ENOTSUP;
	}
	p->block = o->block != 0 ? o->block :
	    (size_t)(o->level >= 9 ? 1408 : o->level >= 6 ? 1024 : 512) << 10;
	p->slots = pipeline_slots(o->threads);
	p->slot_B = p->block + deflate_engine_bound(p->block) + HEADER_ROOM;
	p->worker_B = deflate_engine_memory(o);
	p->fixed_B = (uint64_t)768 << 10;
	return 0;
}

int
deflate_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, const struct deflate_wrap *wrap)
{
	struct deflate_job *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->cut.block = p->block;
	j->cut.rsyncable = o->rsyncable;
	j->options = o;
	j->wrap = wrap;
	j->check = wrap->check->start;
	*job = j;
	return 0;
}

void
deflate_close(void *job)
{
	struct deflate_job *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	sys_free(j);
}

int
deflate_fill(void *job, struct input *in, struct slot *s)
{
	struct deflate_job *j = job;

	return cutter_fill(&j->cut, in, s);
}

/* A worker's state: an engine, and its level. */
struct deflate_worker {
	struct deflate_engine *engine;
	int level;
};

int
deflate_worker_open(void *job, void **ctx)
{
	struct deflate_job *j = job;
	struct deflate_worker *w = sys_calloc(1, sizeof(*w));
	int rc = w == NULL ? -ENOMEM :
	    deflate_engine_open(&w->engine, j->options);

	if (rc != 0) {
		sys_free(w);
		return rc;
	}
	w->level = j->options->level;
	*ctx = w;
	return 0;
}

void
deflate_worker_close(void *ctx)
{
	struct deflate_worker *w = ctx;

	if (w->engine != NULL)
		deflate_engine_close(w->engine);
	sys_free(w);
}

/* Deflates a block at the job's level or, with --adapt, the current one. */
static ssize_t
run_engine(struct deflate_job *j, struct deflate_worker *w, struct slot *s,
    bool last, uint8_t *out, size_t cap)
{
	struct codec_options o = *j->options;
	int rc = 0;

	if (o.adapt != NULL)
		o.level = adapt_take(o.adapt);
	if (o.level != w->level || w->engine == NULL) {
		if (w->engine != NULL)
			deflate_engine_close(w->engine);
		w->engine = NULL;
		rc = deflate_engine_open(&w->engine, &o);
		w->level = o.level;
	}
	return rc != 0 ? rc : deflate_engine_run(w->engine, s->in.data,
	    s->in.len, last, out, cap);
}

int
deflate_work(void *job, void *ctx, struct slot *s)
{
	struct deflate_job *j = job;
	ssize_t n;
	int rc = buf_reserve(&s->out, deflate_engine_bound(s->in.len));

	if (rc != 0)
		return rc;
	deflate_notes(s)->check = j->wrap->check->add(j->wrap->check->start,
	    s->in.data, s->in.len);
	n = run_engine(j, ctx, s, s->last, s->out.data, s->out.cap);
	if (n < 0)
		return (int)n;
	s->out.len = (size_t)n;
	return 0;
}

/*
 * Writes the header, the blocks and the trailer; the header is written with the
 * first block.
 */
int
deflate_join(void *job, struct slot *s, struct sink *out)
{
	struct deflate_job *j = job;
	bool last = s->last;
	int rc = 0;

	if (!j->begun) {
		j->begun = true;
		rc = j->wrap->head(j, last, out);
		j->body_at = sink_bytes(out);
	}
	j->check = j->wrap->check->combine(j->check,
	    deflate_notes(s)->check, (off_t)s->in.len);
	j->total += s->in.len;
	if (rc == 0)
		rc = sink_slot(out, s);
	return rc == 0 && last ? j->wrap->tail(j, out) : rc;
}

/* gzip */

static struct gzip_fields
gzip_fields_of(const struct codec_options *o)
{
	return (struct gzip_fields){ .mtime = o->mtime, .name = o->name,
	    .comment = codec_text(o, "comment"), .fastest = o->level <= 1,
	    .slowest = o->level >= 9 };
}

static enum gzip_sizes
gzip_sizes_of(const struct deflate_job *j)
{
	return j->options->flush_ms > 0 ? GZIP_ANY :
	    j->cut.rsyncable ? GZIP_QUARTER : GZIP_EQUAL;
}

static int
gzip_head(struct deflate_job *j, bool only_block, struct sink *out)
{
	struct gzip_fields f = gzip_fields_of(j->options);
	uint8_t mark[GZIP_MARK_MAX], *p;
	int rc;

	p = sys_malloc(gzip_header_size(&f));
	if (p == NULL)
		return -ENOMEM;
	rc = sink_write(out, p, gzip_header_write(&f, p));
	sys_free(p);
	/* a single block, as any gzip would write it, needs no mark */
	if (rc == 0 && !only_block)
		rc = sink_write(out, mark, gzip_mark_write(gzip_sizes_of(j),
		    j->cut.block, mark));
	return rc;
}

static int
gzip_tail(struct deflate_job *j, struct sink *out)
{
	uint8_t t[GZIP_TRAILER];

	store_le32(t, j->check);
	store_le32(t + 4, (uint32_t)j->total);
	return sink_write(out, t, sizeof(t));
}

static const struct deflate_wrap gzip_wrap = {
	.check = &check_crc32, .head = gzip_head, .tail = gzip_tail,
};

static int
gzip_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	(void)notes;
	return deflate_open(job, o, p, &gzip_wrap);
}

/*
 * Writes a block as a separate member, with its length in the header.  The
 * first member contains the name.  The last member is omitted if it is empty
 * because the input ends with a full block.
 */
static int
member_work(struct deflate_job *j, void *ctx, struct slot *s)
{
	struct gzip_fields f = gzip_fields_of(j->options);
	size_t head;
	ssize_t n;
	int rc;

	f.member = 1;
	if (s->seq > 0)
		f.name = f.comment = NULL;
	head = gzip_header_size(&f);
	rc = buf_reserve(&s->out, head + deflate_engine_bound(s->in.len) +
	    GZIP_TRAILER);
	if (rc != 0)
		return rc;
	n = run_engine(j, ctx, s, true, s->out.data + head,
	    s->out.cap - head - GZIP_TRAILER);
	if (n < 0)
		return (int)n;
	s->out.len = head + (size_t)n + GZIP_TRAILER;
	if (s->out.len > UINT32_MAX)
		return -EFBIG;
	f.member = (uint32_t)s->out.len;
	gzip_header_write(&f, s->out.data);
	store_le32(s->out.data + head + n,
	    libdeflate_crc32(0, s->in.data, s->in.len));
	store_le32(s->out.data + head + n + 4, (uint32_t)s->in.len);
	return 0;
}

static int
gzip_work(void *job, void *ctx, struct slot *s)
{
	struct deflate_job *j = job;

	return j->options->independent ? member_work(j, ctx, s) :
	    deflate_work(j, ctx, s);
}

static int
gzip_join(void *job, struct slot *s, struct sink *out)
{
	struct deflate_job *j = job;

	if (!j->options->independent)
		return deflate_join(j, s, out);
	return s->seq > 0 && s->in.len == 0 ? 0 : sink_slot(out, s);
}

const struct coder gzip_encoder = DEFLATE_ENCODER(gzip_open, gzip_work,
    gzip_join);

/* zlib (RFC 1950) */

/*
 * Writes CMF for a 32 KiB window, FLEVEL, and FCHECK, which makes the two bytes
 * a multiple of 31.
 */
static int
zlib_head(struct deflate_job *j, bool only_block, struct sink *out)
{
	int level = j->options->level;
	unsigned v = 0x7800 | (level >= 7 ? 3U : level >= 6 ? 2U :
	    level >= 2 ? 1U : 0U) << 6;
	uint8_t h[2];

	(void)only_block;
	store_be16(h, (uint16_t)(v + 31 - v % 31));
	return sink_write(out, h, sizeof(h));
}

static int
zlib_tail(struct deflate_job *j, struct sink *out)
{
	uint8_t t[4];

	store_be32(t, j->check);
	return sink_write(out, t, sizeof(t));
}

static const struct deflate_wrap zlib_wrap = {
	.check = &check_adler32, .head = zlib_head, .tail = zlib_tail,
};

static int
zlib_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	(void)notes;
	return deflate_open(job, o, p, &zlib_wrap);
}

const struct coder zlib_encoder = DEFLATE_ENCODER(zlib_open, deflate_work,
    deflate_join);
