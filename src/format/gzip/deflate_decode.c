/*
 * deflate_decode.c - decompressing gzip, zlib and zip
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "deflate_decode.h"

#include "base/sys.h"
#include "format/formats.h"

#include <errno.h>

static void
close_job(void *job)
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
open_job(void **job, const struct deflate_unwrap *wrap,
    const struct codec_options *o, struct codec_notes *notes)
{
	struct inflate_job *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->wrap = wrap;
	j->copy_rest = wrap->members && o->copy_rest;
	j->notes = notes;
	j->reader.debt = &j->debt;
	if (inflater_open(&j->inflater) != 0) {
		close_job(j);
		return -ENOMEM;
	}
	*job = j;
	return 0;
}

static int
fill(void *job, struct input *in, struct slot *s)
{
	struct inflate_job *j = job;

	return deflate_scan(&j->reader, in, s);
}

static int
plan(const struct codec_options *o, struct plan *p, const char **why)
{
	(void)why;
	*p = (struct plan){ .slots = pipeline_slots(o->threads),
	    .slot_B = UNMARKED_OUT + PLAIN_LEN, .worker_B = 128 << 10,
	    .fixed_B = 1 << 20 };
	return 0;
}

static int
open_gzip(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	(void)p;
	return open_job(job, &unwrap_gzip, o, notes);
}

static int
open_gzip_part(void **job, const struct codec_options *o,
    const struct plan *p, struct codec_notes *notes)
{
	(void)p;
	return open_job(job, &unwrap_gzip_part, o, notes);
}

static int
open_zlib(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	(void)p;
	return open_job(job, &unwrap_zlib, o, notes);
}

static int
open_zip(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	(void)p;
	return open_job(job, &unwrap_zip, o, notes);
}

#define DECODER(open_it) {						\
	.plan = plan, .open = open_it, .close = close_job,		\
	.ops = { .fill = fill, .work = inflate_work,			\
	    .join = inflate_join, .worker_open = inflate_worker_open,	\
	    .worker_close = inflate_worker_close } }

const struct coder gzip_decoder = DECODER(open_gzip);
const struct coder gzip_part_decoder = DECODER(open_gzip_part);
const struct coder zlib_decoder = DECODER(open_zlib);
const struct coder zip_decoder = DECODER(open_zip);
