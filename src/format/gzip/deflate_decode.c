/*
 * deflate_decode.c - decompressing gzip, zlib and zip
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "deflate_decode.h"
#include "format/gzip/gzip.h"

#include "base/sys.h"
#include "format/codec.h"

#include <errno.h>

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
