/*
 * deflate_decode.c - decompressing gzip, zlib and zip: the job and its workers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker decodes a piece as the type that the reader presumed.  If that
 * fails, the joiner decodes it; only a lack of memory is an error.
 */
#include "deflate_decode.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/gzip/gzip.h"
#include "format/codec.h"

#include <errno.h>
#include <libdeflate.h>

enum {
	SINK = 3 << 19,		/* the pipeline's output buffers */
	HELD = 1 << 20		/* maximum size of a header */
};

static void
inflate_close(void *job)
{
	struct inflate_job *j = job;

	if (j == NULL)
		return;
	inflater_close(j->inflater);
	carry_close(&j->reader.carry);
	sys_free(j->held.data);
	sys_free(j);
}

static int
inflate_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, const struct deflate_unwrap *wrap,
    struct codec_notes *notes)
{
	struct inflate_job *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->wrap = wrap;
	j->copy_rest = wrap->members && codec_number(o, "copy-rest");
	j->notes = notes;
	j->reader.debt = &j->debt;
	j->reader.block_max = p->block;
	j->reader.member_max = o->memory != 0 ? MEMBER_LEAST : MEMBER_MAX;
	if (inflater_open(&j->inflater) != 0) {
		inflate_close(j);
		return -ENOMEM;
	}
	*job = j;
	return 0;
}

static int
inflate_fill(void *job, struct input *in, struct slot *s)
{
	struct inflate_job *j = job;

	return deflate_scan(&j->reader, in, s);
}

/* Workers */

static void
inflate_worker_close(void *ctx)
{
	inflater_close(ctx);
}

static int
inflate_worker_open(void *job, void **ctx)
{
	struct inflater *f;
	int rc = inflater_open(&f);

	(void)job;
	if (rc == 0)
		*ctx = f;
	return rc;
}

size_t
inflate_most(const struct inflate_job *j, int kind)
{
	if (kind == PIECE_MEMBERS)
		return j->reader.member_max < MEMBER_MAX ? MEMBERS_OUT :
		    MEMBERS_OUT + MEMBER_MAX;
	return j->reader.block != 0 ? j->reader.block : UNMARKED_OUT;
}

static int
work_sync(struct inflate_job *j, struct inflater *f, struct slot *s)
{
	struct inflate_notes *note = inflate_notes(s);
	size_t cap = inflate_most(j, PIECE_SYNC);
	struct inflated r;

	if (buf_reserve(&s->out, cap + INFLATER_SPARE) != 0)
		return -ENOMEM;
	if (inflater_piece(f, s->in.data + note->skip,
	    s->in.len - note->skip, s->out.data, cap, &r) != 0)
		return 0;
	note->ok = true;
	note->used = r.used;
	note->final = r.final;
	note->check = j->wrap->check->add(j->wrap->check->start,
	    s->out.data, r.made);
	s->out.len = r.made;
	return 0;
}

/*
 * Decodes the member at p.  Returns its length if it is complete and valid,
 * otherwise 0.
 */
static size_t
work_member(struct inflater *f, const uint8_t *p, size_t len, size_t cap,
    struct slot *s)
{
	uint8_t *out = s->out.data + s->out.len;
	struct gzip_header h;
	struct inflated r;

	if (gzip_header_parse(&h, p, len) != 1 ||
	    inflater_piece(f, p + h.len, len - h.len, out,
	    cap - s->out.len, &r) != 0 || !r.final)
		return 0;
	r.used += h.len;
	if (len - r.used < GZIP_TRAILER ||
	    load_le32(p + r.used) != libdeflate_crc32(0, out, r.made) ||
	    load_le32(p + r.used + 4) != (uint32_t)r.made)
		return 0;
	s->out.len += r.made;
	return r.used + GZIP_TRAILER;
}

/*
 * Decodes members, which must make up the whole piece and match their trailers.
 */
static int
work_members(const struct inflate_job *j, struct inflater *f, struct slot *s)
{
	struct inflate_notes *note = inflate_notes(s);
	size_t pos = 0;

	if (note->most > inflate_most(j, PIECE_MEMBERS))
		return 0;
	if (buf_reserve(&s->out, note->most + INFLATER_SPARE) != 0)
		return -ENOMEM;
	while (pos < note->used) {
		size_t n = work_member(f, s->in.data + pos, note->used - pos,
		    note->most, s);

		if (n == 0)
			return 0;
		pos += n;
	}
	note->ok = note->used > 0;
	note->final = true;
	return 0;
}

static int
inflate_work(void *job, void *ctx, struct slot *s)
{
	struct inflate_job *j = job;
	int rc = 0;

	if (inflate_notes(s)->kind == PIECE_SYNC)
		rc = work_sync(j, ctx, s);
	else if (inflate_notes(s)->kind == PIECE_MEMBERS)
		rc = work_members(j, ctx, s);
	if (!inflate_notes(s)->ok)
		s->out.len = 0;
	return rc;
}

/* The coders */

/*
 * Under a memory limit, plans for units as large as the first one.  Larger
 * units are decoded serially; if not even one fits, all of them are.
 */
static int
inflate_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	struct gzip_header h, none = { .len = 0 };

	(void)why;
	*p = (struct memory_plan){ .block = GZIP_BLOCK_MAX,
	    .slots = pipeline_slots(o->threads),
	    .slot_B = deflate_slot_bytes(&none), .worker_B = 128 << 10,
	    .fixed_B = SINK + 2 * HELD };
	if (o->memory == 0)
		return 0;
	p->block = UNMARKED_OUT;
	if (o->head == NULL || gzip_header_parse(&h, o->head,
	    o->head_len) != 1 || h.block_max > GZIP_BLOCK_MAX ||
	    deflate_slot_bytes(&h) + p->worker_B + p->fixed_B > o->memory)
		return 0;
	if (h.block_max != 0)
		p->block = h.block_max;
	p->slot_B = deflate_slot_bytes(&h);
	return 0;
}

static int
open_gzip(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	return inflate_open(job, o, p, &unwrap_gzip, notes);
}

static int
open_gzip_part(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	return inflate_open(job, o, p, &unwrap_gzip_part, notes);
}

static int
open_zlib(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	return inflate_open(job, o, p, &unwrap_zlib, notes);
}

static int
open_zip(void **job, const struct codec_options *o, const struct memory_plan *p,
    struct codec_notes *notes)
{
	return inflate_open(job, o, p, &unwrap_zip, notes);
}

#define DECODER(open_it) {						\
	.plan = inflate_plan, .open = open_it, .close = inflate_close,	\
	.ops = { .fill = inflate_fill, .work = inflate_work,		\
	    .join = inflate_join, .worker_open = inflate_worker_open,	\
	    .worker_close = inflate_worker_close } }

const struct coder gzip_decoder = DECODER(open_gzip);
const struct coder gzip_part_decoder = DECODER(open_gzip_part);
const struct coder zlib_decoder = DECODER(open_zlib);
const struct coder zip_decoder = DECODER(open_zip);
