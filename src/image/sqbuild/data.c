/*
 * data.c - the data of a squashfs image: blocks and fragment blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pipeline whose reader is the feed.  In a slot, bits is the number of the
 * unit, kind says whether it is a fragment block, and check becomes its size
 * word; ok: it is stored as it was.
 */
#include "image/sqbuild/data.h"

#include "base/sys.h"
#include "feed.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

/* Less than one part of so many saved by a quick look: it is not worth it. */
enum { PROBE_SHARE = 128, PROBE_LEVEL = 1 };

struct job {
	const struct sqb_data_options *o;
	struct sqb_data *d;
	struct feed feed;
	bool probe;
	bool ended;			/* the feed has */
};

struct worker {
	struct sqb_codec *codec;
	ZSTD_CCtx *probe;
};

static int
fill(void *arg, struct input *in, struct slot *s)
{
	struct job *j = arg;
	struct feed_unit u;
	int rc = buf_reserve(&s->in, feed_room(j->o));

	if (rc != 0)
		return rc;
	u.data = s->in.data;
	rc = feed_next(&j->feed, &u);
	s->in.data = u.data;
	if (rc < 0)
		return rc;
	if (rc == 0) {
		s->last = true;
		return 0;
	}
	s->in.len = u.len;
	s->bits = u.number;
	s->kind = u.is_fragment;
	in->bytes = j->d->in_B;
	return 0;
}

static int
worker_open(void *arg, void **ctx)
{
	struct job *j = arg;
	struct worker *w = sys_calloc(1, sizeof(*w));
	int rc = w == NULL ? -ENOMEM : sqb_codec_open(&w->codec, j->o->method,
	    j->o->level, j->o->block);

	*ctx = w;
	if (rc == 0 && j->probe) {
		w->probe = ZSTD_createCCtx();
		rc = w->probe == NULL ? -ENOMEM : 0;
	}
	return rc;
}

static void
worker_close(void *ctx)
{
	struct worker *w = ctx;

	if (w == NULL)
		return;
	sqb_codec_close(w->codec);
	ZSTD_freeCCtx(w->probe);
	sys_free(w);
}

static bool
is_zero(const uint8_t *p, size_t len)
{
	return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

/* Whether it is hardly worth to be compressed; uses s->out. */
static bool
is_dense(const struct worker *w, struct slot *s)
{
	size_t n;

	if (w->probe == NULL)
		return false;
	n = ZSTD_compressCCtx(w->probe, s->out.data, s->out.cap, s->in.data,
	    s->in.len, PROBE_LEVEL);
	return !ZSTD_isError(n) && n > s->in.len - s->in.len / PROBE_SHARE;
}

static int
work(void *arg, void *ctx, struct slot *s)
{
	const struct job *j = arg;
	struct worker *w = ctx;
	bool raw = s->kind ? j->o->raw_fragments : j->o->raw_data;
	size_t n = 0;

	if (s->in.len == 0 || (!s->kind && is_zero(s->in.data, s->in.len)))
		return 0;
	if (buf_reserve(&s->out, feed_room(j->o)) != 0)
		return -ENOMEM;
	if (!raw && !is_dense(w, s))
		n = sqb_codec_pack(w->codec, s->in.data, s->in.len,
		    s->out.data, s->out.cap);
	s->out.len = n;
	s->check = (uint32_t)n;
	if (n == 0) {
		struct buf swap = s->out;

		s->out = s->in;
		s->in = swap;
		s->check = (uint32_t)s->out.len | SQUASHFS_BLOCK_RAW;
	}
	return 0;
}

/* Room for the sizes and starts of unit and all before it. */
static int
reserve(struct sqb_data *d, size_t unit)
{
	size_t cap = d->cap == 0 ? 1024 : d->cap;
	uint32_t *sizes;
	uint64_t *starts;

	if (unit < d->cap)
		return 0;
	while (cap <= unit)
		cap *= 2;
	sizes = sys_realloc(d->sizes, cap * sizeof(*sizes));
	if (sizes == NULL)
		return -ENOMEM;
	d->sizes = sizes;
	starts = sys_realloc(d->starts, cap * sizeof(*starts));
	if (starts == NULL)
		return -ENOMEM;
	d->starts = starts;
	d->cap = cap;
	return 0;
}

static int
join(void *arg, struct slot *s, struct sink *out)
{
	struct job *j = arg;
	struct sqb_data *d = j->d;
	int rc;

	if (s->last)
		return 0;
	rc = reserve(d, s->bits);
	if (rc != 0)
		return rc;
	d->sizes[s->bits] = s->check;
	d->starts[s->bits] = d->end;
	d->end += s->out.len;
	d->blocks++;
	if ((s->check & SQUASHFS_BLOCK_RAW) != 0)
		d->raw_B += s->out.len;
	return s->out.len == 0 ? 0 : sink_slot(out, s);
}

static const struct pipeline_ops ops = {
	.fill = fill, .worker_open = worker_open,
	.worker_close = worker_close, .work = work, .join = join,
};

/* A level that costs more than the look at the data. */
static bool
is_slow(const struct sqb_data_options *o)
{
	switch (o->method->compressor) {
	case SQUASHFS_ZSTD:
	case SQUASHFS_GZIP:
		return o->level >= 5;
	case SQUASHFS_LZ4:
		return strcmp(o->method->name, "lz4hc") == 0;
	default:
		return o->method->compressor != 0;
	}
}

/* The feed reads; the pipeline's own input has nothing. */
static ssize_t
nothing(void *arg, void *buf, size_t len)
{
	(void)arg;
	(void)buf;
	(void)len;
	return 0;
}

static int
run(struct job *j, int fd, struct progress *progress)
{
	struct pipeline_params p = { .threads = j->o->threads,
		.slots = pipeline_slots(j->o->threads), .out_fd = fd,
		.progress = progress };
	struct input in;
	int rc = input_open_from(&in, nothing, NULL);

	if (rc == 0)
		rc = pipeline_run(&ops, j, &in, &p, &j->d->stats);
	input_close(&in);
	return rc;
}

int
sqb_data_write(struct sqb_data *d, const struct sqb_source *source,
    const struct sqb_data_options *o, int fd, uint64_t at,
    struct progress *progress)
{
	struct job *j = sys_calloc(1, sizeof(*j));
	int rc;

	if (j == NULL)
		return -ENOMEM;
	j->o = o;
	j->d = d;
	j->probe = !o->no_probe && is_slow(o);
	d->end = at;
	rc = feed_open(&j->feed, source, o, d);
	if (rc == 0)
		rc = run(j, fd, progress);
	feed_close(&j->feed);
	sys_free(j);
	return rc;
}

void
sqb_data_free(struct sqb_data *d)
{
	sys_free(d->sizes);
	sys_free(d->starts);
	sys_free(d->fragment);
	sys_free(d->of);
}
