/*
 * xz_encode.c - compressing to xz and lzma
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks are three times the size of the dictionary, so the output does not
 * depend on the number of threads.
 */
#include "xz_coder.h"

#include <errno.h>
#include <string.h>

static uint32_t
preset_of(const struct codec_options *o)
{
	return (uint32_t)o->level |
	    (codec_number(o, "extreme") ? LZMA_PRESET_EXTREME : 0);
}

/*
 * Finds the check that o requests.  Returns false if the format has no check
 * with that name.
 */
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

	const char *asked = codec_text(o, "check");

	*check = LZMA_CHECK_CRC64;
	if (asked == NULL)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(asked, names[i].name) == 0) {
			*check = names[i].check;
			return true;
		}
	return false;
}

/* Fills in mt.  Returns false if there is no such check. */
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
plan_xz(const struct codec_options *o, struct memory_plan *p, const char **why)
{
	lzma_options_lzma lz;
	lzma_filter filters[2];
	lzma_mt mt;

	if (o->rsyncable || o->flush_ms > 0) {
		*why = "xz and lzma do not support --rsyncable or --flush-ms";
		return -ENOTSUP;
	}
	if (!mt_options(&mt, o, &lz, filters)) {
		*why = "xz supports the checks none, crc32, crc64 and sha256";
		return -ENOTSUP;
	}
	*p = (struct memory_plan){ .slots = 4, .slot_B = SERIAL_PIECE,
	    .fixed_B = 1 << 20 };
	p->worker_B = lzma_stream_encoder_mt_memusage(&mt) / mt.threads;
	return 0;
}

static int
open_xz(void **job, const struct codec_options *o, const struct memory_plan *p,
    struct codec_notes *notes)
{
	lzma_options_lzma lz;
	lzma_filter filters[2];
	lzma_mt mt;
	struct xz_job *j;
	int rc = xz_job_new(&j, notes);

	(void)p;
	if (rc != 0)
		return rc;
	if (!mt_options(&mt, o, &lz, filters)) {
		xz_job_close(j);
		return -EINVAL;
	}
	return xz_job_started(job, j, lzma_stream_encoder_mt(&j->strm, &mt));
}

static int
plan_lzma(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	int rc = plan_xz(o, p, why);

	p->worker_B = 0;
	p->fixed_B += lzma_easy_encoder_memusage(preset_of(o));
	return rc;
}

static int
open_lzma(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	lzma_options_lzma lz;
	struct xz_job *j;
	int rc = xz_job_new(&j, notes);

	(void)p;
	if (rc != 0)
		return rc;
	lzma_lzma_preset(&lz, preset_of(o));
	return xz_job_started(job, j, lzma_alone_encoder(&j->strm, &lz));
}

const struct coder xz_encoder = { .plan = plan_xz, .open = open_xz,
    .close = xz_job_close, .ops = XZ_OPS };
const struct coder lzma_encoder = { .plan = plan_lzma,
    .open = open_lzma, .close = xz_job_close, .ops = XZ_OPS };
