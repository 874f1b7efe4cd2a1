/*
 * bzip2.c - bzip2, by libbz2
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every block of input becomes a stream of its own, as with pbzip2.
 */
#include "formats.h"

#include "cutter.h"
#include "serial.h"
#include "sys.h"

#include <bzlib.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

struct job {
	struct cutter cut;
	const struct codec_options *options;
	struct serial serial;
};

static int
plan(const struct codec_options *o, struct plan *p, const char **why)
{
	(void)why;
	*p = (struct plan){ .slots = pipeline_slots(o->threads) };
	p->block = o->block != 0 ? o->block :
	    (size_t)o->level * 100000;
	p->slot_B = 2 * p->block + p->block / 100 + 600;
	p->worker_B = 400000 + 8 * (uint64_t)o->level * 100000;
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
	serial_close(&j->serial);
	cutter_close(&j->cut);
	sys_free(j);
}

static int
fill(void *job, struct input *in, struct slot *s)
{
	struct job *j = job;

	return cutter_fill(&j->cut, in, s);
}

static int
work(void *job, void *ctx, struct slot *s)
{
	struct job *j = job;
	unsigned n;
	int rc;

	(void)ctx;
	if (s->in.len == 0 && s->seq > 0)
		return 0;
	rc = buf_reserve(&s->out, s->in.len + s->in.len / 100 + 600);
	if (rc != 0)
		return rc;
	n = (unsigned)s->out.cap;
	if (BZ2_bzBuffToBuffCompress((char *)s->out.data, &n,
	    (char *)s->in.data, (unsigned)s->in.len, j->options->level, 0,
	    0) != BZ_OK)
		return -ENOMEM;
	s->out.len = n;
	return 0;
}

static int
join(void *job, struct slot *s, struct sink *out)
{
	(void)job;
	return sink_slot(out, s);
}

/* Decoding */

struct stream {
	bz_stream bz;
	bool open;
};

static int
stream_open(void **ctx, uint64_t memlimit)
{
	(void)memlimit;
	*ctx = sys_calloc(1, sizeof(struct stream));
	return *ctx == NULL ? -ENOMEM : 0;
}

static int
stream_run(void *ctx, struct stream_io *io)
{
	struct stream *b = ctx;
	unsigned len = io->in_len < UINT_MAX ? (unsigned)io->in_len : UINT_MAX;
	unsigned cap = io->out_len < UINT_MAX ? (unsigned)io->out_len :
	    UINT_MAX;
	int rc;

	if (!b->open && BZ2_bzDecompressInit(&b->bz, 0, 0) != BZ_OK)
		return -ENOMEM;
	b->open = true;
	b->bz.next_in = (char *)(uintptr_t)io->in;
	b->bz.avail_in = len;
	b->bz.next_out = (char *)io->out;
	b->bz.avail_out = cap;
	rc = BZ2_bzDecompress(&b->bz);
	if (rc == BZ_MEM_ERROR)
		return -ENOMEM;
	if (rc != BZ_OK && rc != BZ_STREAM_END)
		return -EBADMSG;
	io->in += len - b->bz.avail_in;
	io->in_len -= len - b->bz.avail_in;
	io->out += cap - b->bz.avail_out;
	io->out_len -= cap - b->bz.avail_out;
	if (rc == BZ_STREAM_END) {
		BZ2_bzDecompressEnd(&b->bz);
		memset(b, 0, sizeof(*b));
		return STREAM_END;
	}
	return io->eof && io->in_len == 0 && io->out_len > 0 ? -ENODATA :
	    STREAM_MORE;
}

static void
stream_close(void *ctx)
{
	struct stream *b = ctx;

	if (b != NULL && b->open)
		BZ2_bzDecompressEnd(&b->bz);
	sys_free(b);
}

static const struct stream_ops bzip2_stream = {
	.open = stream_open, .run = stream_run, .close = stream_close,
};

static int
plan_decode(const struct codec_options *o, struct plan *p, const char **why)
{
	(void)o;
	(void)why;
	*p = (struct plan){ .slots = 4, .slot_B = SERIAL_PIECE,
	    .fixed_B = 5 << 20 };
	return 0;
}

static int
open_decode(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	int rc = open_job(job, o, p, notes);

	if (rc == 0)
		rc = serial_open(&((struct job *)*job)->serial, &bzip2_stream,
		    0);
	return rc;
}

static int
join_decode(void *job, struct slot *s, struct sink *out)
{
	struct job *j = job;

	if (s->last && s->in.len == 0 && j->serial.streams == 0)
		return -ENODATA;
	return serial_feed(&j->serial, s->in.data, s->in.len, s->last, out);
}

static bool
magic(const uint8_t *p, size_t len)
{
	return len >= 4 && memcmp(p, "BZh", 3) == 0 && p[3] >= '1' &&
	    p[3] <= '9';
}

static const char *
versions(void)
{
	return BZ2_bzlibVersion();
}

static const struct coder encoder = {
	.plan = plan, .open = open_job, .close = close_job,
	.ops = { .fill = fill, .work = work, .join = join },
};

static const struct coder decoder = {
	.plan = plan_decode, .open = open_decode, .close = close_job,
	.ops = { .fill = serial_fill, .join = join_decode },
};

const struct codec codec_bzip2 = {
	.name = "bzip2",
	.suffixes = (const struct codec_suffix[]){ { ".bz2", "" },
	    { ".tbz2", ".tar" }, { ".tbz", ".tar" }, { ".bz", "" },
	    { NULL, NULL } },
	.level_min = 1, .level_max = 9, .level_default = 9,
	.magic = magic, .encode = &encoder, .decode = &decoder,
	.versions = versions,
};
