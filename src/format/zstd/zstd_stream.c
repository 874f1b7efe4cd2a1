/*
 * zstd_stream.c - frames that libzstd makes or decodes as a stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * With a long window, a dictionary, or parameters of the user's, the input
 * cannot be cut into jobs.  libzstd's own threads compress it.
 */
#define ZSTD_STATIC_LINKING_ONLY

#include "zstd_codec.h"

#include "base/args.h"
#include "base/sys.h"
#include "format/cutter.h"
#include "format/serial.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { STREAM_PIECE = 4 << 20 };

struct zstd_stream {
	struct cutter cut;		/* first, for cutter_fill() */
	const struct codec_options *options;
	ZSTD_CCtx *packer;
	ZSTD_DCtx *unpacker;
	bool within;			/* a frame has begun but not ended */
	struct codec_notes *notes;
};

int
zstd_level(const struct codec_options *o)
{
	uint64_t fast = codec_number(o, "fast");

	return fast != 0 ? -(int)fast : o->level;
}

/* The names of zstd --zstd=, long and short. */
static const struct zstd_parameter {
	const char *name, *short_name;
	ZSTD_cParameter id;
} zstd_parameters[] = {
	{ "windowLog", "wlog", ZSTD_c_windowLog },
	{ "chainLog", "clog", ZSTD_c_chainLog },
	{ "hashLog", "hlog", ZSTD_c_hashLog },
	{ "searchLog", "slog", ZSTD_c_searchLog },
	{ "minMatch", "mml", ZSTD_c_minMatch },
	{ "targetLength", "tlen", ZSTD_c_targetLength },
	{ "strategy", "strat", ZSTD_c_strategy },
	{ "overlapLog", "ovlog", ZSTD_c_overlapLog },
	{ "ldmHashLog", "lhlog", ZSTD_c_ldmHashLog },
	{ "ldmMinMatch", "lmml", ZSTD_c_ldmMinMatch },
	{ "ldmBucketSizeLog", "lblog", ZSTD_c_ldmBucketSizeLog },
	{ "ldmHashRateLog", "lhrlog", ZSTD_c_ldmHashRateLog },
	{ "dictID", "dictID", ZSTD_c_dictIDFlag },
	{ NULL, NULL, 0 }
};

/*
 * Sets what "wlog=23,strat=3" says; c may be NULL, to check it only.  Returns
 * false for an unknown name or a value that is out of bounds.
 */
static bool
set_parameters(ZSTD_CCtx *c, const char *s)
{
	while (s != NULL && *s != '\0') {
		const struct zstd_parameter *q = zstd_parameters;
		size_t name = strcspn(s, "=,"), len = strcspn(s, ",");
		char value[16] = "";
		ZSTD_bounds b;
		int64_t n;

		if (s[name] != '=' || len - name - 1 >= sizeof(value))
			return false;
		memcpy(value, s + name + 1, len - name - 1);
		for (; q->name != NULL; q++)
			if ((strlen(q->name) == name &&
			    memcmp(q->name, s, name) == 0) ||
			    (strlen(q->short_name) == name &&
			    memcmp(q->short_name, s, name) == 0))
				break;
		if (q->name == NULL)
			return false;
		b = ZSTD_cParam_getBounds(q->id);
		if (args_int(value, 0, b.upperBound, &n) != 0 ||
		    (n != 0 && n < b.lowerBound) || (c != NULL &&
		    ZSTD_isError(ZSTD_CCtx_setParameter(c, q->id, (int)n))))
			return false;
		s += len;
		if (*s == ',' && *++s == '\0')
			return false;
	}
	return true;
}

/* Returns log2 of the window that a patch needs to reach all of its data. */
static int
patch_log(const struct codec_options *o)
{
	uint64_t n = codec_number(o, "patch-from") + codec_number(o, "size");
	int log = 20;

	while (log < CODEC_WINDOW_LOG_MAX && (uint64_t)1 << log < n)
		log++;
	return log;
}

static int
stream_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	uint64_t log = codec_number(o, "window-log");

	if (o->rsyncable && log != 0) {
		*why = "--long cannot be combined with --rsyncable";
		return -ENOTSUP;
	}
	if (!set_parameters(NULL, codec_text(o, "parameters"))) {
		*why = "--zstd=: unknown parameter, or value out of bounds";
		return -ENOTSUP;
	}
	if (codec_number(o, "patch-from") != 0)
		log = (uint64_t)patch_log(o);
	*p = (struct memory_plan){ .block = STREAM_PIECE, .slots = 4,
	    .slot_B = STREAM_PIECE,
	    .worker_B = zstd_context_size(o->level) + ((uint64_t)8 << log),
	    .fixed_B = ((uint64_t)2 << log) + codec_number(o, "dictionary") };
	return 0;
}

static void
stream_end(void *job)
{
	struct zstd_stream *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	ZSTD_freeCCtx(j->packer);
	ZSTD_freeDCtx(j->unpacker);
	sys_free(j);
}

static struct zstd_stream *
stream_new(const struct codec_options *o, struct codec_notes *notes)
{
	struct zstd_stream *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->cut.block = STREAM_PIECE;
	j->options = o;
	j->notes = notes;
	return j;
}

static int
stream_pack_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct zstd_stream *j = stream_new(o, notes);
	uint64_t log = codec_number(o, "window-log");
	uint64_t size = codec_number(o, "size");
	uint64_t hint = codec_number(o, "size-hint");
	uint64_t dict = codec_number(o, "dictionary");
	uint64_t patch = codec_number(o, "patch-from");
	ZSTD_bounds target = ZSTD_cParam_getBounds(ZSTD_c_targetCBlockSize);
	int block = codec_number(o, "target-block") < (uint64_t)
	    target.upperBound ? (int)codec_number(o, "target-block") :
	    target.upperBound;
	const struct {
		bool set;
		ZSTD_cParameter id;
		int value;
	} all[] = {
		{ true, ZSTD_c_compressionLevel, zstd_level(o) },
		{ true, ZSTD_c_checksumFlag, !codec_number(o, "no-check") },
		{ log != 0 || patch != 0, ZSTD_c_enableLongDistanceMatching,
		    1 },
		{ patch != 0, ZSTD_c_windowLog, patch_log(o) },
		/* it only matters if the size is not known */
		{ size == 0 && hint != 0, ZSTD_c_srcSizeHint,
		    hint < INT32_MAX ? (int)hint : INT32_MAX },
		{ block != 0, ZSTD_c_targetCBlockSize, block },
		{ log != 0, ZSTD_c_windowLog, (int)log },
	};

	(void)p;
	if (j == NULL)
		return -ENOMEM;
	j->packer = ZSTD_createCCtx();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (j->packer == NULL || (all[i].set && ZSTD_isError(
		    ZSTD_CCtx_setParameter(j->packer, all[i].id,
		    all[i].value))))
			goto fail;
	/* fails if libzstd was built without threads, which is harmless */
	ZSTD_CCtx_setParameter(j->packer, ZSTD_c_nbWorkers, (int)o->threads);
	if (!set_parameters(j->packer, codec_text(o, "parameters")) ||
	    (dict != 0 && ZSTD_isError(ZSTD_CCtx_loadDictionary(j->packer,
	    codec_text(o, "dictionary"), (size_t)dict))) ||
	    (patch != 0 && ZSTD_isError(ZSTD_CCtx_refPrefix(j->packer,
	    codec_text(o, "patch-from"), (size_t)patch))) ||
	    (size != 0 && ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(j->packer,
	    size))))
		goto fail;
	*job = j;
	return 0;
fail:
	stream_end(j);
	return -ENOMEM;
}

/*
 * The library must see the start of the input before its end; otherwise, it
 * compresses short input differently.
 */
static int
stream_pack_join(void *job, struct slot *s, struct sink *out)
{
	struct zstd_stream *j = job;
	ZSTD_inBuffer in = { s->in.data, s->in.len, 0 };
	size_t left = 1, room;
	int rc = 0;

	while (in.pos < in.size || (s->last && left != 0)) {
		ZSTD_outBuffer o = { sink_space(out, &room, &rc), 0, 0 };
		bool end = s->last && in.pos == in.size;

		if (o.dst == NULL)
			return rc;
		o.size = room;
		left = ZSTD_compressStream2(j->packer, &o, &in,
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

const struct coder zstd_stream_encoder = {
	.plan = stream_plan, .open = stream_pack_open, .close = stream_end,
	.ops = { .fill = cutter_fill, .join = stream_pack_join },
};

/* Decoding */

static int
stream_unpack_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	(void)why;
	*p = (struct memory_plan){ .slots = 4, .slot_B = SERIAL_PIECE,
	    .fixed_B = (4 << 20) + codec_number(o, "dictionary") };
	return 0;
}

static int
stream_unpack_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct zstd_stream *j = stream_new(o, notes);
	uint64_t dict = codec_number(o, "dictionary");
	int log = 10, most = CODEC_WINDOW_LOG_MAX;

	(void)p;
	if (j == NULL)
		return -ENOMEM;
	while (log < most && (uint64_t)1 << log < o->window_max)
		log++;
	/* a patch refers to all of its data */
	if (codec_number(o, "patch-from") != 0 && patch_log(o) > log)
		log = patch_log(o);
	j->unpacker = ZSTD_createDCtx();
	if (j->unpacker == NULL || (codec_number(o, "no-check") != 0 &&
	    ZSTD_isError(ZSTD_DCtx_setParameter(j->unpacker,
	    ZSTD_d_forceIgnoreChecksum, ZSTD_d_ignoreChecksum))) ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(
	    j->unpacker, ZSTD_d_windowLogMax, log)) || (dict != 0 &&
	    ZSTD_isError(ZSTD_DCtx_loadDictionary(j->unpacker,
	    codec_text(o, "dictionary"), (size_t)dict)))) {
		stream_end(j);
		return -ENOMEM;
	}
	*job = j;
	return 0;
}

static int
stream_unpack_join(void *job, struct slot *s, struct sink *out)
{
	struct zstd_stream *j = job;
	ZSTD_inBuffer in = { s->in.data, s->in.len, 0 };
	uint64_t patch = codec_number(j->options, "patch-from");
	bool full = true;
	size_t left, room;
	int rc = 0;

	/* output may be left over when the buffer was filled */
	while (in.pos < in.size || (j->within && full)) {
		ZSTD_outBuffer o = { sink_space(out, &room, &rc), 0, 0 };

		if (o.dst == NULL)
			return rc;
		o.size = room;
		/* it applies to one frame only */
		if (!j->within && patch != 0 &&
		    ZSTD_isError(ZSTD_DCtx_refPrefix(j->unpacker,
		    codec_text(j->options, "patch-from"), (size_t)patch)))
			return -ENOMEM;
		left = ZSTD_decompressStream(j->unpacker, &o, &in);
		if (ZSTD_getErrorCode(left) == ZSTD_error_dictionary_wrong) {
			j->notes->why = "it needs another dictionary";
			return -ENOTSUP;
		}
		if (ZSTD_isError(left))
			return zstd_error(left);
		sink_advance(out, o.pos);
		full = o.pos == room;
		j->within = left != 0;
	}
	return s->last && j->within ? -ENODATA : 0;
}

const struct coder zstd_stream_decoder = {
	.plan = stream_unpack_plan, .open = stream_unpack_open,
	.close = stream_end,
	.ops = { .fill = serial_fill, .join = stream_unpack_join },
};
