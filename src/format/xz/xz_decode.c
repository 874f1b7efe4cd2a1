/*
 * xz_decode.c - decompressing xz and lzma, within a memory limit
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "xz_coder.h"

#include <errno.h>

/*
 * Returns the memory needed to decode a block whose header is the `size` bytes
 * at p, or 0.
 */
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
 * liblzma's threaded decoder does not report how much memory it needs, but it
 * stops after the header of a block.  The header has a checksum, so it can be
 * found from its end.
 */
uint64_t
xz_refused_need(const struct xz_job *j)
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
 * Creates a job; *limit is set to the most memory that liblzma may use for it.
 */
static int
new_decoder(struct xz_job **out, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes, uint64_t *limit)
{
	int rc = xz_job_new(out, notes);

	if (rc != 0)
		return rc;
	(*out)->beside = p->slots * p->slot_B + p->fixed_B;
	*limit = o->window_max + CODEC_BEYOND_WINDOW;
	if (o->memory != 0 && o->memory - (*out)->beside < *limit)
		*limit = o->memory - (*out)->beside;
	/* avoid 0, which would mean no limit, or the smallest one */
	*limit += *limit == 0;
	return 0;
}

/*
 * Uses threads as long as each needs at most 128 MiB and all of them fit in the
 * memory limit; otherwise, liblzma decodes with one thread, up to the limit set
 * by the largest accepted window or by the memory limit.
 */
static int
unopen_xz(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	lzma_mt mt = { .flags = LZMA_CONCATENATED |
	    LZMA_TELL_UNSUPPORTED_CHECK, .threads = o->threads,
	    .memlimit_threading = (uint64_t)o->threads << 27 };
	struct xz_job *j;
	int rc = new_decoder(&j, o, p, notes, &mt.memlimit_stop);

	if (rc != 0)
		return rc;
	if (o->memory != 0 && o->memory - j->beside < mt.memlimit_threading)
		mt.memlimit_threading = o->memory - j->beside;
	if (mt.threads == 1)
		return xz_job_started(job, j, lzma_stream_decoder(&j->strm,
		    mt.memlimit_stop, mt.flags));
	return xz_job_started(job, j, lzma_stream_decoder_mt(&j->strm, &mt));
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
	return xz_job_started(job, j, lzma_alone_decoder(&j->strm, limit));
}

const struct coder xz_decoder = { .plan = plan_decode,
    .open = unopen_xz, .close = xz_job_close, .ops = XZ_OPS };
const struct coder lzma_decoder = { .plan = plan_decode,
    .open = unopen_lzma, .close = xz_job_close, .ops = XZ_OPS };
