/*
 * zstd_long.c - compressing to one Zstandard frame with a long window
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This uses libzstd's own threads, because cutting the input into jobs would
 * limit the window.
 */
#include "zstd_codec.h"

#include "base/sys.h"
#include "format/cutter.h"

#include <errno.h>
#include <zstd_errors.h>

enum { PIECE = 4 << 20 };

struct zstd_long {
	struct cutter cut;
	ZSTD_CCtx *stream;
};

static void
zstd_long_close(void *job)
{
	struct zstd_long *j = job;

	if (j == NULL)
		return;
	ZSTD_freeCCtx(j->stream);
	cutter_close(&j->cut);
	sys_free(j);
}

static int
zstd_long_fill(void *job, struct input *in, struct slot *s)
{
	struct zstd_long *j = job;

	return cutter_fill(&j->cut, in, s);
}

static int
set_up(ZSTD_CCtx *c, const struct codec_options *o)
{
	int rc = zstd_set(c, ZSTD_c_compressionLevel, o->level);

	if (rc == 0)
		rc = zstd_set(c, ZSTD_c_checksumFlag, 1);
	if (rc == 0)
		rc = zstd_set(c, ZSTD_c_enableLongDistanceMatching, 1);
	if (rc == 0)
		rc = zstd_set(c, ZSTD_c_windowLog,
		    (int)codec_number(o, "window-log"));
	/* fails if libzstd was built without threads, which is harmless */
	ZSTD_CCtx_setParameter(c, ZSTD_c_nbWorkers, (int)o->threads);
	return rc;
}

static int
zstd_long_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	uint64_t log = codec_number(o, "window-log");

	if (o->rsyncable) {
		*why = "--long cannot be combined with --rsyncable";
		return -ENOTSUP;
	}
	*p = (struct memory_plan){ .block = PIECE, .slots = 4,
	    .slot_B = PIECE,
	    .worker_B = ((uint64_t)zstd_level(o->level)->mib << 20) +
	    ((uint64_t)8 << log),
	    .fixed_B = (uint64_t)2 << log };
	return 0;
}

static int
zstd_long_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct zstd_long *j = sys_calloc(1, sizeof(*j));
	uint64_t size = codec_number(o, "size");
	int rc;

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->cut.block = p->block;
	j->stream = ZSTD_createCCtx();
	rc = j->stream == NULL ? -ENOMEM : set_up(j->stream, o);
	if (rc == 0 && size != 0 && ZSTD_isError(
	    ZSTD_CCtx_setPledgedSrcSize(j->stream, size)))
		rc = -ENOMEM;
	if (rc != 0)
		zstd_long_close(j);
	else
		*job = j;
	return rc;
}

/*
 * The library must see the start of the input before its end; otherwise, it
 * compresses short input differently.
 */
static int
zstd_long_join(void *job, struct slot *s, struct sink *out)
{
	struct zstd_long *j = job;
	ZSTD_inBuffer in = { s->in.data, s->in.len, 0 };
	size_t left = 1, room;
	int rc = 0;

	while (in.pos < in.size || (s->last && left != 0)) {
		ZSTD_outBuffer o = { sink_space(out, &room, &rc), 0, 0 };
		bool end = s->last && in.pos == in.size;

		if (o.dst == NULL)
			return rc;
		o.size = room;
		left = ZSTD_compressStream2(j->stream, &o, &in,
		    end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_getErrorCode(left) == ZSTD_error_srcSize_wrong)
			return -ESTALE;
		if (ZSTD_isError(left))
			return zstd_error(left);
		sink_advance(out, o.pos);
		/* nothing is left to write so far, but the end is */
		if (!end)
			left = 1;
	}
	return 0;
}

const struct coder zstd_long_encoder = {
	.plan = zstd_long_plan, .open = zstd_long_open,
	    .close = zstd_long_close,
	.ops = { .fill = zstd_long_fill, .join = zstd_long_join },
};

