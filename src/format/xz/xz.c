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
	const uint8_t *piece;	/* that next_in is in */
	uint64_t beside;	/* memory that is not liblzma's, decoding */
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

/* What decoding a block takes whose header is the size bytes at p, or 0. */
static uint64_t
header_need(const uint8_t *p, uint32_t size)
{
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_block block = { .version = 1, .header_size = size,
	    .check = LZMA_CHECK_NONE, .filters = filters };
	uint64_t need;

	if (lzma_block_header_size_decode(p[0]) != size ||
	    lzma_block_header_decode(&block, NULL, p) != LZMA_OK)
		return 0;
	need = lzma_raw_decoder_memusage(filters);
	lzma_filters_free(filters, NULL);
	return need == UINT64_MAX ? 0 : need;
}

/*
 * What decoding takes that liblzma has refused for its memory, or 0.  Its
 * threaded decoder does not tell; but it stops behind the header of the
 * block, which has a checksum and so can be found from its end.
 */
static uint64_t
refused_need(const struct job *j)
{
	size_t have = (size_t)(j->strm.next_in - j->piece);
	uint64_t need = 0;

	for (uint32_t size = LZMA_BLOCK_HEADER_SIZE_MIN; need == 0 &&
	    size <= LZMA_BLOCK_HEADER_SIZE_MAX && size <= have; size += 4)
		need = header_need(j->strm.next_in - size, size);
	if (need == 0)
		need = lzma_memusage(&j->strm);
	return need <= lzma_memlimit_get(&j->strm) ? 0 : need + j->beside;
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
	if (r == LZMA_MEMLIMIT_ERROR)
		j->notes->need = refused_need(j);
	j->ended = r == LZMA_STREAM_END;
	return xz_error(r);
}

static int
join(void *job, struct slot *s, struct sink *out)
{
	struct job *j = job;
	lzma_action action = s->last ? LZMA_FINISH : LZMA_RUN;
	int rc = 0;

	j->strm.next_in = j->piece = s->in.data;
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

/* The check that o asks for; false: the format has none of that name. */
static bool
find_check(const struct codec_options *o, lzma_check *check)
{
	static const struct {
		const char *name;
		lzma_check check;
	} names[] = {
		{ "none", LZMA_CHECK_NONE }, { "crc32", LZMA_CHECK_CRC32 },
		{ "crc64", LZMA_CHECK_CRC64 },
		{ "sha256", LZMA_CHECK_SHA256 },
	};

	*check = LZMA_CHECK_CRC64;
	if (o->check == NULL)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(o->check, names[i].name) == 0) {
			*check = names[i].check;
			return true;
		}
	return false;
}

/* false: there is no such check. */
static bool
mt_options(lzma_mt *mt, const struct codec_options *o, lzma_options_lzma *lz,
    lzma_filter *filters)
{
	lzma_lzma_preset(lz, preset_of(o));
	filters[0] = (lzma_filter){ LZMA_FILTER_LZMA2, lz };
	filters[1] = (lzma_filter){ LZMA_VLI_UNKNOWN, NULL };
	*mt = (lzma_mt){ .threads = o->threads, .block_size = o->block,
	    .filters = filters };
	return find_check(o, &mt->check);
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
	if (!mt_options(&mt, o, &lz, filters)) {
		*why = "the checks of xz are none, crc32, crc64 and sha256";
		return -ENOTSUP;
	}
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
	if (!mt_options(&mt, o, &lz, filters)) {
		close_job(j);
		return -EINVAL;
	}
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

/*
 * Room for the pieces and what is to be written; what liblzma takes beside
 * depends on the stream, and is limited in open().
 */
static int
plan_decode(const struct codec_options *o, struct plan *p, const char **why)
{
	(void)o;
	(void)why;
	*p = (struct plan){ .slots = 4, .slot_B = SERIAL_PIECE,
	    .fixed_B = 2 << 20 };
	return 0;
}

/* A new job, and the most memory that liblzma may take for it. */
static int
new_decoder(struct job **out, const struct codec_options *o,
    const struct plan *p, struct codec_notes *notes, uint64_t *limit)
{
	int rc = new_job(out, notes);

	if (rc != 0)
		return rc;
	(*out)->beside = p->slots * p->slot_B + p->fixed_B;
	*limit = o->window_max + CODEC_BEYOND_WINDOW;
	if (o->memory != 0 && o->memory - (*out)->beside < *limit)
		*limit = o->memory - (*out)->beside;
	/* 0 would be taken for no limit, or for the least there is */
	*limit += *limit == 0;
	return 0;
}

/*
 * Threads as long as they keep to 128 MiB each, and all of them to a limit of
 * memory; beyond, liblzma decodes with one, down to the limit that is set by
 * the largest accepted window or by that of memory.
 */
static int
unopen_xz(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	lzma_mt mt = { .flags = LZMA_CONCATENATED |
	    LZMA_TELL_UNSUPPORTED_CHECK, .threads = o->threads,
	    .memlimit_threading = (uint64_t)o->threads << 27 };
	struct job *j;
	int rc = new_decoder(&j, o, p, notes, &mt.memlimit_stop);

	if (rc != 0)
		return rc;
	if (o->memory != 0 && o->memory - j->beside < mt.memlimit_threading)
		mt.memlimit_threading = o->memory - j->beside;
	if (mt.threads == 1)
		return started(job, j, lzma_stream_decoder(&j->strm,
		    mt.memlimit_stop, mt.flags));
	return started(job, j, lzma_stream_decoder_mt(&j->strm, &mt));
}

static int
unopen_lzma(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	uint64_t limit;
	struct job *j;
	int rc = new_decoder(&j, o, p, notes, &limit);

	if (rc != 0)
		return rc;
	return started(job, j, lzma_alone_decoder(&j->strm, limit));
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
