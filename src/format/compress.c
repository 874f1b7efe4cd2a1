/*
 * compress.c - reading the .Z files of compress(1)
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/codec.h"

#include "base/sys.h"
#include "engine/other/lzw.h"
#include "format/serial.h"

#include <errno.h>

static bool
unlzw_magic(const uint8_t *p, size_t len)
{
	return len >= 2 && p[0] == 0x1f && p[1] == 0x9d;
}

static int
unlzw_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	(void)o;
	(void)why;
	*p = (struct memory_plan){ .slots = 3, .slot_B = SERIAL_PIECE,
	    .fixed_B = 2 << 20 };
	return 0;
}

static int
unlzw_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct serial *serial = sys_calloc(1, sizeof(*serial));
	int rc = serial == NULL ? -ENOMEM :
	    serial_open(serial, &lzw_stream, UINT64_MAX);

	(void)o;
	(void)p;
	(void)notes;
	if (rc != 0)
		sys_free(serial);
	else
		*job = serial;
	return rc;
}

static void
unlzw_close(void *job)
{
	if (job != NULL)
		serial_close(job);
	sys_free(job);
}

static int
unlzw_join(void *job, struct slot *s, struct sink *out)
{
	return serial_feed(job, s->in.data, s->in.len, s->last, out);
}

static const char *
unlzw_versions(void)
{
	return "reads only";
}

static const struct coder decoder = {
	.plan = unlzw_plan, .open = unlzw_open, .close = unlzw_close,
	.ops = { .fill = serial_fill, .join = unlzw_join },
};

const struct codec codec_compress = {
	.name = "compress",
	.suffixes = (const struct codec_suffix[]){ { ".Z", "" },
	    { NULL, NULL } },
	.check = "none",
	.magic = unlzw_magic, .decode = &decoder, .versions = unlzw_versions,
};
