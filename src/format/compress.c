/*
 * compress.c - reading the .Z files of compress(1)
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/codec.h"

#include "base/sys.h"
#include "engine/other/lzw.h"
#include "format/serial.h"

#include <errno.h>

struct job {
	struct serial serial;
};

static bool
magic(const uint8_t *p, size_t len)
{
	return len >= 2 && p[0] == 0x1f && p[1] == 0x9d;
}

static int
plan(const struct codec_options *o, struct memory_plan *p, const char **why)
{
	(void)o;
	(void)why;
	*p = (struct memory_plan){ .slots = 3, .slot_B = SERIAL_PIECE,
	    .fixed_B = 2 << 20 };
	return 0;
}

static int
open_job(void **job, const struct codec_options *o, const struct memory_plan *p,
    struct codec_notes *notes)
{
	struct job *j = sys_calloc(1, sizeof(*j));
	int rc;

	(void)o;
	(void)p;
	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	rc = serial_open(&j->serial, &lzw_stream, UINT64_MAX);
	if (rc != 0)
		sys_free(j);
	else
		*job = j;
	return rc;
}

static void
close_job(void *job)
{
	struct job *j = job;

	if (j != NULL)
		serial_close(&j->serial);
	sys_free(j);
}

static int
join(void *job, struct slot *s, struct sink *out)
{
	struct job *j = job;

	return serial_feed(&j->serial, s->in.data, s->in.len, s->last, out);
}

static const char *
versions(void)
{
	return "reads only";
}

static const struct coder decoder = {
	.plan = plan, .open = open_job, .close = close_job,
	.ops = { .fill = serial_fill, .join = join },
};

const struct codec codec_compress = {
	.name = "compress",
	.suffixes = (const struct codec_suffix[]){ { ".Z", "" },
	    { NULL, NULL } },
	.check = "none",
	.magic = magic, .decode = &decoder, .versions = versions,
};
