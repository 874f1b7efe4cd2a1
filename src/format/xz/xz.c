/*
 * xz.c - xz and lzma, by liblzma
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * liblzma's own threads compress and decompress the blocks of an xz file; a
 * pipeline around them would only keep more in memory.  So all is done in
 * join, between the reading and the writing thread.  Blocks are three times
 * the dictionary whatever the number of threads: the output does not depend
 * on it.
 *
 * Source: the .xz file format, 1.1.0.
 */
#include "format/formats.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "format/serial.h"
#include "xz_index.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>

struct job {
	lzma_stream strm;
	struct codec_notes *notes;
	bool ended;
};

int
xz_error(lzma_ret r)
{
	switch (r) {
	case LZMA_OK:
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	case LZMA_OPTIONS_ERROR:
		return -ENOTSUP;
	case LZMA_BUF_ERROR:
		return -ENODATA;
	default:
		return -EBADMSG;
	}
}

static int
new_job(struct job **out, struct codec_notes *notes)
{
	struct job *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->notes = notes;
	*out = j;
	return 0;
}

static void
close_job(void *job)
{
	struct job *j = job;

	if (j != NULL)
		lzma_end(&j->strm);
	sys_free(j);
}

/* A job with a coder, or nothing. */
static int
started(void **job, struct job *j, lzma_ret r)
{
	if (r != LZMA_OK) {
		close_job(j);
		return xz_error(r);
	}
	*job = j;
	return 0;
}

/* One call of the coder with room for output. */
static int
step(struct job *j, lzma_action action, struct sink *out)
{
	size_t room;
	lzma_ret r;
	int rc;

	j->strm.next_out = sink_space(out, &room, &rc);
	if (j->strm.next_out == NULL)
		return rc;
	j->strm.avail_out = room;
	r = lzma_code(&j->strm, action);
	sink_advance(out, room - j->strm.avail_out);
	if (r == LZMA_UNSUPPORTED_CHECK) {
		j->notes->unchecked = true;
		return 0;
	}
	j->ended = r == LZMA_STREAM_END;
	return xz_error(r);
}

static int
join(void *job, struct slot *s, struct sink *out)
{
	struct job *j = job;
	lzma_action action = s->last ? LZMA_FINISH : LZMA_RUN;
	int rc = 0;

	j->strm.next_in = s->in.data;
	j->strm.avail_in = s->in.len;
	while (rc == 0 && !j->ended &&
	    (j->strm.avail_in > 0 || action == LZMA_FINISH))
		rc = step(j, action, out);
	/* whatever follows an .lzma stream is no part of it */
	return rc == 0 && j->ended && j->strm.avail_in > 0 ? -EBADMSG : rc;
}

#define SERIAL_OPS { .fill = serial_fill, .join = join }

/* Encoding */

static uint32_t
preset_of(const struct codec_options *o)
{
	return (uint32_t)o->level | (o->extreme ? LZMA_PRESET_EXTREME : 0);
}

static void
mt_options(lzma_mt *mt, const struct codec_options *o, lzma_options_lzma *lz,
    lzma_filter *filters)
{
	lzma_lzma_preset(lz, preset_of(o));
	filters[0] = (lzma_filter){ LZMA_FILTER_LZMA2, lz };
	filters[1] = (lzma_filter){ LZMA_VLI_UNKNOWN, NULL };
	*mt = (lzma_mt){ .threads = o->threads, .block_size = o->block,
	    .filters = filters, .check = LZMA_CHECK_CRC64 };
}

static int
plan_xz(const struct codec_options *o, struct plan *p, const char **why)
{
	lzma_options_lzma lz;
	lzma_filter filters[2];
	lzma_mt mt;

	if (o->rsyncable || o->flush_ms > 0) {
		*why = "xz and lzma cannot be cut (rsyncable, flush-ms)";
		return -ENOTSUP;
	}
	mt_options(&mt, o, &lz, filters);
	*p = (struct plan){ .slots = 4, .slot_B = SERIAL_PIECE,
	    .fixed_B = 1 << 20 };
	p->worker_B = lzma_stream_encoder_mt_memusage(&mt) / mt.threads;
	return 0;
}

static int
open_xz(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	lzma_options_lzma lz;
	lzma_filter filters[2];
	lzma_mt mt;
	struct job *j;
	int rc = new_job(&j, notes);

	(void)p;
	if (rc != 0)
		return rc;
	mt_options(&mt, o, &lz, filters);
	return started(job, j, lzma_stream_encoder_mt(&j->strm, &mt));
}

static int
plan_lzma(const struct codec_options *o, struct plan *p, const char **why)
{
	int rc = plan_xz(o, p, why);

	p->worker_B = 0;
	p->fixed_B += lzma_easy_encoder_memusage(preset_of(o));
	return rc;
}

static int
open_lzma(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	lzma_options_lzma lz;
	struct job *j;
	int rc = new_job(&j, notes);

	(void)p;
	if (rc != 0)
		return rc;
	lzma_lzma_preset(&lz, preset_of(o));
	return started(job, j, lzma_alone_encoder(&j->strm, &lz));
}

/* Decoding */

enum { BEYOND_WINDOW = 32 << 20 };

static int
plan_decode(const struct codec_options *o, struct plan *p, const char **why)
{
	(void)o;
	(void)why;
	*p = (struct plan){ .slots = 4, .slot_B = SERIAL_PIECE,
	    .fixed_B = 2 << 20 };
	return 0;
}

/*
 * Threads as long as they keep to 128 MiB each; beyond, liblzma decodes with
 * one, down to the limit that the largest accepted window sets.
 */
static int
unopen_xz(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	lzma_mt mt = { .flags = LZMA_CONCATENATED |
	    LZMA_TELL_UNSUPPORTED_CHECK, .threads = o->threads,
	    .memlimit_threading = (uint64_t)o->threads << 27,
	    .memlimit_stop = o->window_max + BEYOND_WINDOW };
	struct job *j;
	int rc = new_job(&j, notes);

	(void)p;
	if (rc != 0)
		return rc;
	if (mt.threads == 1)
		return started(job, j, lzma_stream_decoder(&j->strm,
		    mt.memlimit_stop, mt.flags));
	return started(job, j, lzma_stream_decoder_mt(&j->strm, &mt));
}

static int
unopen_lzma(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	struct job *j;
	int rc = new_job(&j, notes);

	(void)p;
	if (rc != 0)
		return rc;
	return started(job, j, lzma_alone_decoder(&j->strm,
	    o->window_max + BEYOND_WINDOW));
}

static const char *
versions(void)
{
	return "liblzma " LZMA_VERSION_STRING;
}

static bool
magic_xz(const uint8_t *p, size_t len)
{
	return len >= 6 && memcmp(p, "\3757zXZ", 6) == 0;
}

/*
 * No magic number: properties byte, dictionary size 2^n or 2^n + 2^(n-1), and
 * an uncompressed size that is unknown or below 256 GiB, as xz(1) tells it.
 */
static bool
magic_lzma(const uint8_t *p, size_t len)
{
	uint32_t dict;
	uint64_t size;

	if (len < 13 || p[0] >= 9 * 5 * 5)
		return false;
	dict = load_le32(p + 1);
	size = load_le64(p + 5);
	if (dict != UINT32_MAX) {
		uint32_t d = dict - 1;

		d |= d >> 2;
		d |= d >> 3;
		d |= d >> 4;
		d |= d >> 8;
		d |= d >> 16;
		if (dict == 0 || d + 1 != dict)
			return false;
	}
	return size == UINT64_MAX || size < (uint64_t)1 << 38;
}

static const struct coder xz_encoder = { .plan = plan_xz, .open = open_xz,
    .close = close_job, .ops = SERIAL_OPS };
static const struct coder xz_decoder = { .plan = plan_decode,
    .open = unopen_xz, .close = close_job, .ops = SERIAL_OPS };
static const struct coder lzma_encoder = { .plan = plan_lzma,
    .open = open_lzma, .close = close_job, .ops = SERIAL_OPS };
static const struct coder lzma_decoder = { .plan = plan_decode,
    .open = unopen_lzma, .close = close_job, .ops = SERIAL_OPS };

const struct codec codec_xz = {
	.name = "xz",
	.suffixes = (const struct codec_suffix[]){ { ".xz", "" },
	    { ".txz", ".tar" }, { NULL, NULL } },
	.level_min = 0, .level_max = 9, .level_default = 6,
	.list = xz_list, .seek = &xz_seek,
	.magic = magic_xz, .encode = &xz_encoder, .decode = &xz_decoder,
	.versions = versions,
};

const struct codec codec_lzma = {
	.name = "lzma",
	.suffixes = (const struct codec_suffix[]){ { ".lzma", "" },
	    { ".tlz", ".tar" }, { NULL, NULL } },
	.level_min = 0, .level_max = 9, .level_default = 6,
	.list = lzma_list, .check = "none",
	.magic = magic_lzma, .encode = &lzma_encoder,
	.decode = &lzma_decoder, .versions = versions,
};
