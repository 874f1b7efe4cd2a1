/*
 * xz.c - the xz and lzma codecs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * xz_blocks.c compresses, unless the options want what only liblzma can do: a
 * chain of filters, given blocks, one block, an extreme search.  Then liblzma's
 * own threads do the work, in join, between the reading and writing threads;
 * workers of our own would only use more memory.  Compressed blocks are three
 * times the size of the dictionary, so the output does not depend on the number
 * of threads.
 *
 * With --independent, each block is a stream of its own, which a worker makes.
 *
 * Decoding is xz_reader.c's, in join, and xz_parallel.c's with several threads.
 *
 * xz_look.c lists files and reads ranges.
 *
 * Source: the .xz file format, 1.1.0.
 */
#include "format/xz.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/cutter.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "format/serial.h"
#include "xz_impl.h"
#include "xz_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct xz_job {
	lzma_stream strm;
	struct codec_notes *notes;
	const uint8_t *piece;	/* the piece that contains next_in */
	uint64_t beside;	/* memory used outside liblzma, when decoding */
	bool ended, rest_ignored;
	bool flushes;
	const char *lengths;	/* of the blocks to come, or NULL */
	uint64_t block;		/* of all, if there is no list; 0: no limit */
	uint64_t block_left;	/* of the current one; 0: all */
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

/* Creates a job without a coder. */
static int
xz_job_new(struct xz_job **out, struct codec_notes *notes)
{
	struct xz_job *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->notes = notes;
	*out = j;
	return 0;
}

static void
xz_job_close(void *job)
{
	struct xz_job *j = job;

	if (j != NULL)
		lzma_end(&j->strm);
	sys_free(j);
}

/*
 * Handles liblzma's result from opening j's coder.  Sets *job and returns 0, or
 * closes j and returns -errno.
 */
static int
xz_job_started(void **job, struct xz_job *j, lzma_ret r)
{
	if (r != LZMA_OK) {
		xz_job_close(j);
		return xz_error(r);
	}
	*job = j;
	return 0;
}

/*
 * Returns the memory needed for decoding, including our own, after liblzma has
 * reached its limit; 0 if unknown.  liblzma's threaded decoder does not report
 * how much memory it needs, but it stops after the header of a block.  The
 * header has a checksum, so it can be found from its end.
 */
static uint64_t
refused_need(const struct xz_job *j)
{
	size_t have = (size_t)(j->strm.next_in - j->piece);
	uint64_t need = 0;

	for (uint32_t size = LZMA_BLOCK_HEADER_SIZE_MIN; need == 0 &&
	    size <= LZMA_BLOCK_HEADER_SIZE_MAX && size <= have; size += 4) {
		const uint8_t *p = j->strm.next_in - size;
		lzma_filter filters[LZMA_FILTERS_MAX + 1];
		lzma_block block = { .version = 1, .header_size = size,
		    .check = LZMA_CHECK_NONE, .filters = filters };

		if (lzma_block_header_size_decode(p[0]) != size ||
		    lzma_block_header_decode(&block, NULL, p) != LZMA_OK)
			continue;
		need = lzma_raw_decoder_memusage(filters);
		lzma_filters_free(filters, NULL);
		if (need == UINT64_MAX)
			need = 0;
	}
	if (need == 0)
		need = lzma_memusage(&j->strm);
	return need <= lzma_memlimit_get(&j->strm) ? 0 : need + j->beside;
}

/*
 * Passes liblzma n bytes, and its output to out, until it has taken them and,
 * unless action is LZMA_RUN, has done it.  Returns 0 or -errno.
 */
static int
xz_pass(struct xz_job *j, const uint8_t *p, size_t n, lzma_action action,
    struct sink *out)
{
	j->strm.next_in = p;
	j->strm.avail_in = n;
	while (!j->ended && (j->strm.avail_in > 0 || action != LZMA_RUN)) {
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
			continue;
		}
		if (r == LZMA_MEMLIMIT_ERROR)
			j->notes->need = refused_need(j);
		rc = xz_error(r);
		if (rc != 0)
			return rc;
		if (r == LZMA_STREAM_END && action != LZMA_RUN &&
		    action != LZMA_FINISH)
			break;
		j->ended = r == LZMA_STREAM_END;
	}
	return 0;
}

/* Implements pipeline_ops.join for the decoders. */
static int
xz_join(void *job, struct slot *s, struct sink *out)
{
	struct xz_job *j = job;
	int rc;

	j->piece = s->in.data;
	j->strm.avail_in = 0;
	rc = xz_pass(j, s->in.data, s->in.len,
	    s->last ? LZMA_FINISH : LZMA_RUN, out);
	if (rc != 0 || !j->ended || j->rest_ignored)
		return rc;
	/* data after an .lzma stream is not part of it */
	return j->strm.avail_in > 0 ? -EBADMSG : 0;
}

/* Compressing */

/* A chain of filters: given as text, or that of a preset. */
struct xz_chain {
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_options_lzma preset;
	bool parsed;		/* the options are liblzma's */
};

static void
chain_free(struct xz_chain *c)
{
	if (c->parsed)
		lzma_filters_free(c->filters, NULL);
}

/*
 * Returns NULL, or what is wrong with the text.  id: the preset's own filter;
 * contained: in an xz file, which cannot have lzma1.
 */
static const char *
chain_open(struct xz_chain *c, const struct codec_options *o, lzma_vli id,
    bool contained)
{
	const char *text = codec_text(o, "filters"), *why;
	uint32_t preset = (uint32_t)o->level |
	    (codec_number(o, "extreme") ? LZMA_PRESET_EXTREME : 0);

	c->parsed = text != NULL;
	if (text != NULL) {
		why = lzma_str_to_filters(text, NULL, c->filters,
		    contained ? 0 : LZMA_STR_ALL_FILTERS, NULL);
		c->parsed = why == NULL;
		return why;
	}
	lzma_lzma_preset(&c->preset, preset);
	c->filters[0] = (lzma_filter){ id, &c->preset };
	c->filters[1] = (lzma_filter){ LZMA_VLI_UNKNOWN, NULL };
	return NULL;
}

/* Fills in mt but for the filters.  Returns false for an unknown check. */
static bool
mt_options(lzma_mt *mt, const struct codec_options *o)
{
	*mt = (lzma_mt){ .threads = o->threads, .block_size = o->block };
	return xz_check_asked(o, &mt->check);
}

static int
plan_xz(const struct codec_options *o, struct memory_plan *p, const char **why)
{
	struct xz_chain chain;
	lzma_mt mt;

	if (o->rsyncable) {
		*why = "xz and lzma do not support --rsyncable";
		return -ENOTSUP;
	}
	if (!mt_options(&mt, o)) {
		*why = "xz supports the checks none, crc32, crc64 and sha256";
		return -ENOTSUP;
	}
	*why = chain_open(&chain, o, LZMA_FILTER_LZMA2, true);
	if (*why != NULL)
		return -ENOTSUP;
	*p = (struct memory_plan){ .slots = 4, .slot_B = SERIAL_PIECE,
	    .fixed_B = 1 << 20 };
	mt.filters = chain.filters;
	if (codec_number(o, "single-thread"))
		p->fixed_B += lzma_raw_encoder_memusage(chain.filters);
	else
		p->worker_B = lzma_stream_encoder_mt_memusage(&mt) /
		    mt.threads;
	chain_free(&chain);
	return 0;
}

static int
open_xz(void **job, const struct codec_options *o, const struct memory_plan *p,
    struct codec_notes *notes)
{
	struct xz_chain chain;
	struct xz_job *j;
	lzma_mt mt;
	int rc = xz_job_new(&j, notes);

	(void)p;
	if (rc != 0)
		return rc;
	j->flushes = o->flush_ms > 0;
	j->lengths = codec_text(o, "block-list");
	if (!mt_options(&mt, o) ||
	    chain_open(&chain, o, LZMA_FILTER_LZMA2, true) != NULL) {
		xz_job_close(j);
		return -EINVAL;
	}
	mt.filters = chain.filters;
	if (codec_number(o, "single-thread")) {
		j->block = o->block;
		rc = xz_job_started(job, j, lzma_stream_encoder(&j->strm,
		    chain.filters, mt.check));
	} else {
		rc = xz_job_started(job, j, lzma_stream_encoder_mt(&j->strm,
		    &mt));
	}
	chain_free(&chain);
	return rc;
}

/*
 * Returns the length of the next block from a list of numbers separated by
 * commas, of which the last is repeated; 0: without a limit.
 */
static uint64_t
next_length(struct xz_job *j)
{
	char *end = NULL;
	uint64_t n;

	if (j->lengths == NULL)
		return j->block;
	n = strtoull(j->lengths, &end, 10);
	if (*end == ',')
		j->lengths = end + 1;
	return n;
}

/*
 * Ends blocks where the list says so and, with --flush-ms, at the end of a
 * piece that is short because no input came in time.
 */
static int
xz_pack_join(void *job, struct slot *s, struct sink *out)
{
	struct xz_job *j = job;
	const uint8_t *p = s->in.data;
	size_t left = s->in.len, n;
	int rc = 0;

	while (rc == 0 && left > 0) {
		bool ends;

		if (j->block_left == 0)
			j->block_left = next_length(j);
		ends = j->block_left > 0 && j->block_left <= left;
		n = ends ? (size_t)j->block_left : left;
		if (j->block_left > 0)
			j->block_left -= n;
		rc = xz_pass(j, p, n, ends ? LZMA_FULL_BARRIER : LZMA_RUN,
		    out);
		p += n;
		left -= n;
	}
	if (rc != 0)
		return rc;
	if (s->last)
		return xz_pass(j, p, 0, LZMA_FINISH, out);
	return j->flushes && s->in.len < SERIAL_PIECE ?
	    xz_pass(j, p, 0, LZMA_FULL_FLUSH, out) : 0;
}

/* Plans for lzma and raw streams, whose preset is a chain of this filter. */
static int
plan_alone(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	struct xz_chain chain;

	if (o->rsyncable || o->flush_ms > 0) {
		*why = "xz and lzma do not support --rsyncable or --flush-ms";
		return -ENOTSUP;
	}
	*why = chain_open(&chain, o, LZMA_FILTER_LZMA1, false);
	if (*why != NULL)
		return -ENOTSUP;
	*p = (struct memory_plan){ .slots = 4, .slot_B = SERIAL_PIECE,
	    .fixed_B = (1 << 20) + lzma_raw_encoder_memusage(chain.filters) };
	chain_free(&chain);
	return 0;
}

static int
plan_lzma(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	struct xz_chain chain;
	int rc = plan_alone(o, p, why);

	if (rc != 0 || chain_open(&chain, o, LZMA_FILTER_LZMA1, false) != NULL)
		return rc;
	if (chain.filters[0].id != LZMA_FILTER_LZMA1 ||
	    chain.filters[1].id != LZMA_VLI_UNKNOWN) {
		*why = "the lzma format has only the filter lzma1";
		rc = -ENOTSUP;
	}
	chain_free(&chain);
	return rc;
}

/* Starts an encoder or a decoder of one stream with a chain, or an lzma one. */
static int
open_chain(void **job, const struct codec_options *o, struct codec_notes *notes,
    lzma_vli id, lzma_ret (*start)(lzma_stream *s, const lzma_filter *f))
{
	struct xz_chain chain;
	struct xz_job *j;
	int rc = xz_job_new(&j, notes);

	if (rc != 0)
		return rc;
	if (chain_open(&chain, o, id, false) != NULL) {
		xz_job_close(j);
		return -EINVAL;
	}
	rc = xz_job_started(job, j, start(&j->strm, chain.filters));
	chain_free(&chain);
	return rc;
}

static lzma_ret
alone_encoder(lzma_stream *s, const lzma_filter *f)
{
	return lzma_alone_encoder(s, f[0].options);
}

static int
open_lzma(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	(void)p;
	return open_chain(job, o, notes, LZMA_FILTER_LZMA1, alone_encoder);
}

static int
open_raw(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	(void)p;
	return open_chain(job, o, notes, LZMA_FILTER_LZMA2, lzma_raw_encoder);
}

static int
unopen_raw(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	(void)p;
	return open_chain(job, o, notes, LZMA_FILTER_LZMA2, lzma_raw_decoder);
}

#define XZ_CODER(plan_fn, open_fn, join_fn) { .plan = (plan_fn), \
    .open = (open_fn), .close = xz_job_close, \
    .ops = { .fill = serial_fill, .join = (join_fn) } }

static const struct coder xz_encoder = XZ_CODER(plan_xz, open_xz,
    xz_pack_join);
static const struct coder lzma_encoder = XZ_CODER(plan_lzma, open_lzma,
    xz_pack_join);
static const struct coder raw_encoder = XZ_CODER(plan_alone, open_raw,
    xz_pack_join);

/* Streams of their own */

struct xz_streams {
	struct cutter cut;	/* first, for cutter_fill() */
	struct xz_chain chain;
	lzma_check check;
};

/* The size of a block, as liblzma's threads choose it. */
static size_t
block_size(const struct codec_options *o, const lzma_filter *f)
{
	uint64_t n = 0;

	if (o->block != 0)
		return o->block;
	for (; f->id != LZMA_VLI_UNKNOWN; f++)
		if (f->id == LZMA_FILTER_LZMA2)
			n = 3 * (uint64_t)
			    ((const lzma_options_lzma *)f->options)->dict_size;
	return n < 1 << 20 ? 1 << 20 : (size_t)n;
}

static int
streams_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	int rc = plan_xz(o, p, why);
	struct xz_chain chain;

	if (rc != 0 || chain_open(&chain, o, LZMA_FILTER_LZMA2, true) != NULL)
		return rc;
	p->block = block_size(o, chain.filters);
	p->slots = o->threads + 2;
	p->slot_B = p->block + lzma_stream_buffer_bound(p->block);
	p->worker_B = lzma_raw_encoder_memusage(chain.filters);
	chain_free(&chain);
	return 0;
}

static void
streams_close(void *job)
{
	struct xz_streams *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	chain_free(&j->chain);
	sys_free(j);
}

static int
streams_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct xz_streams *j = sys_calloc(1, sizeof(*j));
	lzma_mt mt;

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->cut.block = p->block;
	if (!mt_options(&mt, o) ||
	    chain_open(&j->chain, o, LZMA_FILTER_LZMA2, true) != NULL) {
		streams_close(j);
		return -EINVAL;
	}
	j->check = mt.check;
	*job = j;
	return 0;
}

static int
streams_work(void *job, void *ctx, struct slot *s)
{
	struct xz_streams *j = job;
	int rc;

	(void)ctx;
	/* the end of an input that consists of whole blocks */
	if (s->in.len == 0 && s->seq > 0)
		return 0;
	rc = buf_reserve(&s->out, lzma_stream_buffer_bound(s->in.len));
	return rc != 0 ? rc : xz_error(lzma_stream_buffer_encode(
	    j->chain.filters, j->check, NULL, s->in.data, s->in.len,
	    s->out.data, &s->out.len, s->out.cap));
}

static const struct coder xz_streams_encoder = {
	.plan = streams_plan, .open = streams_open, .close = streams_close,
	.ops = { .fill = cutter_fill, .work = streams_work,
	    .join = sink_join },
};

static const struct coder *
xz_encoder_for(const struct codec_options *o)
{
	return xz_blocks_can(o) ? &xz_blocks_encoder :
	    o->independent ? &xz_streams_encoder : &xz_encoder;
}

/* Decompressing */

/*
 * Plans memory for the pieces and the pending output.  The memory needed by
 * liblzma depends on the stream, and is limited in open().
 */
static int
plan_decode(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	(void)o;
	(void)why;
	*p = (struct memory_plan){ .slots = 4, .slot_B = SERIAL_PIECE,
	    .fixed_B = 2 << 20 };
	return 0;
}

/*
 * The same, for pieces between the blocks.  Those are large: little more than one
 * is read while each worker has one.
 */
static int
plan_parallel(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	uint64_t all;

	plan_decode(o, p, why);
	all = p->slots * p->slot_B;
	p->slots = o->threads + 1 + o->threads / 4;
	p->block = (size_t)(all / p->slots);
	if (p->block < 4096)
		p->block = 4096;
	p->slot_B = p->block;
	p->worker_B = 32 << 10;
	return 0;
}

/* Returns the most memory that a decoder may use for a stream. */
static uint64_t
decoder_limit(const struct codec_options *o, const struct memory_plan *p)
{
	uint64_t beside = p->slots * p->slot_B + p->fixed_B;
	uint64_t limit = o->window_max + CODEC_BEYOND_WINDOW;

	if (o->memory != 0 && o->memory - beside < limit)
		limit = o->memory - beside;
	/* avoid 0, which would mean no limit, or the smallest one */
	return limit + (limit == 0);
}

/* Creates a job; *limit is set to the most memory that it may use. */
static int
new_decoder(struct xz_job **out, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes, uint64_t *limit)
{
	int rc = xz_job_new(out, notes);

	if (rc != 0)
		return rc;
	(*out)->beside = p->slots * p->slot_B + p->fixed_B;
	*limit = decoder_limit(o, p);
	return 0;
}

static uint32_t
decoder_flags(const struct codec_options *o)
{
	return LZMA_TELL_UNSUPPORTED_CHECK |
	    (codec_number(o, "single-stream") ? 0 : LZMA_CONCATENATED) |
	    (codec_number(o, "ignore-check") ? LZMA_IGNORE_CHECK : 0);
}

static int
unopen_xz(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct xz_reader *r;
	int rc = xz_reader_open(&r, decoder_limit(o, p), decoder_flags(o),
	    notes, p->slots * p->slot_B + p->fixed_B);

	*job = rc == 0 ? r : NULL;
	return rc;
}

/*
 * With a memory limit: liblzma uses threads as long as they fit in it, and else
 * one.
 */
static int
unopen_limited(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	lzma_mt mt = { .flags = decoder_flags(o), .threads = o->threads,
	    .memlimit_threading = (uint64_t)o->threads << 27 };
	struct xz_job *j;
	int rc = new_decoder(&j, o, p, notes, &mt.memlimit_stop);

	if (rc != 0)
		return rc;
	j->rest_ignored = codec_number(o, "single-stream") != 0;
	if (o->memory - j->beside < mt.memlimit_threading)
		mt.memlimit_threading = o->memory - j->beside;
	return xz_job_started(job, j, lzma_stream_decoder_mt(&j->strm, &mt));
}

/*
 * Decodes blocks in parallel as long as all in memory, with their output and the
 * decoder of what is not cut into blocks, need no more than there is for them.
 */
static int
unopen_parallel(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	return xz_parallel_open(job, o, p, notes, decoder_limit(o, p),
	    decoder_flags(o));
}

static int
unopen_lzma(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	uint64_t limit;
	struct xz_job *j;
	int rc = new_decoder(&j, o, p, notes, &limit);

	if (rc != 0)
		return rc;
	j->rest_ignored = codec_number(o, "single-stream") != 0;
	return xz_job_started(job, j, lzma_alone_decoder(&j->strm, limit));
}

static int
unopen_lzip(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	uint64_t limit;
	struct xz_job *j;
	int rc = new_decoder(&j, o, p, notes, &limit);

	if (rc != 0)
		return rc;
	/* what follows the last member may be anything */
	j->rest_ignored = true;
	return xz_job_started(job, j, lzma_lzip_decoder(&j->strm, limit,
	    decoder_flags(o)));
}

static const struct coder xz_decoder = {
	.plan = plan_decode, .open = unopen_xz, .close = xz_reader_close,
	.ops = { .fill = serial_fill, .join = xz_reader_join },
};
static const struct coder xz_limited_decoder = XZ_CODER(plan_decode,
    unopen_limited, xz_join);
static const struct coder xz_parallel_decoder = {
	.plan = plan_parallel, .open = unopen_parallel,
	.close = xz_parallel_close,
	.ops = { .fill = xz_parallel_fill,
	    .worker_open = xz_parallel_worker_open,
	    .worker_close = xz_parallel_worker_close,
	    .work = xz_parallel_work, .join = xz_parallel_join },
};
static const struct coder lzma_decoder = XZ_CODER(plan_decode, unopen_lzma,
    xz_join);
static const struct coder lzip_decoder = XZ_CODER(plan_decode, unopen_lzip,
    xz_join);
static const struct coder raw_decoder = XZ_CODER(plan_decode, unopen_raw,
    xz_join);

static const struct coder *
xz_decoder_for(const struct codec_options *o)
{
	if (o->threads == 1)
		return &xz_decoder;
	return o->memory != 0 ? &xz_limited_decoder : &xz_parallel_decoder;
}

/* The codecs */

static const char *
xz_versions(void)
{
	return "liblzma " LZMA_VERSION_STRING;
}

static bool
magic_xz(const uint8_t *p, size_t len)
{
	return len >= 6 && memcmp(p, "\3757zXZ", 6) == 0;
}

/*
 * There is no magic number.  As in xz(1), the format is recognized by a valid
 * properties byte, a dictionary size of 2^n or 2^n + 2^(n-1), and an
 * uncompressed size that is unknown or below 256 GiB.  Encoders write no
 * dictionary below 4 KiB; an archive whose first entry is named a0 or a@ would
 * have one of 48 or 64 bytes.
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
		if (dict < LZMA_DICT_SIZE_MIN || d + 1 != dict)
			return false;
	}
	return size == UINT64_MAX || size < (uint64_t)1 << 38;
}

const struct codec codec_xz = {
	.name = "xz",
	.suffixes = (const struct codec_suffix[]){ { ".xz", "" },
	    { ".txz", ".tar" }, { NULL, NULL } },
	.level_min = 0, .level_max = 9, .level_default = 6,
	.settings = (const char *const[]){
	    "block-list",	/* lengths of the blocks, in bytes */
	    "check",		/* its name */
	    "encoder",		/* "liblzma": not the one of our own */
	    "extreme",		/* the variant -e of the level */
	    "filters",		/* a chain, as in lzma_str_to_filters() */
	    "ignore-check",	/* decoding: do not verify it */
	    "single-stream",	/* decoding: ignore what follows */
	    "single-thread",	/* one block, unless lengths are given */
	    "threads-memory",	/* decoding: bytes for blocks in parallel */
	    NULL },
	.list = xz_list, .seek = &xz_seek,
	.magic = magic_xz, .encode = &xz_encoder,
	.encoder_for = xz_encoder_for, .decode = &xz_decoder,
	.decoder_for = xz_decoder_for,
	.versions = xz_versions,
};

const struct codec codec_lzma = {
	.name = "lzma",
	.suffixes = (const struct codec_suffix[]){ { ".lzma", "" },
	    { ".tlz", ".tar" }, { NULL, NULL } },
	.level_min = 0, .level_max = 9, .level_default = 6,
	.settings = (const char *const[]){ "extreme", "filters",
	    "single-stream", NULL },
	.list = lzma_list, .check = "none",
	.magic = magic_lzma, .magic_is_guess = true, .encode = &lzma_encoder,
	.decode = &lzma_decoder, .versions = xz_versions,
};

static bool
magic_lzip(const uint8_t *p, size_t len)
{
	return len >= 6 && memcmp(p, "LZIP", 4) == 0;
}

const struct codec codec_lzip = {
	.name = "lzip", .short_name = "lz",
	.suffixes = (const struct codec_suffix[]){ { ".lz", "" },
	    { NULL, NULL } },
	.settings = (const char *const[]){ "ignore-check", "single-stream",
	    NULL },
	.check = "CRC-32",
	.magic = magic_lzip, .decode = &lzip_decoder, .versions = xz_versions,
};

static bool
magic_raw(const uint8_t *p, size_t len)
{
	(void)p;
	(void)len;
	return true;
}

const struct codec codec_xz_raw = {
	.name = "raw",
	.suffixes = (const struct codec_suffix[]){ { "", "" },
	    { NULL, NULL } },
	.level_min = 0, .level_max = 9, .level_default = 6,
	.settings = (const char *const[]){ "extreme", "filters", NULL },
	.check = "none",
	.magic = magic_raw, .encode = &raw_encoder, .decode = &raw_decoder,
	.versions = xz_versions,
};
