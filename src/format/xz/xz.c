/*
 * xz.c - the xz and lzma codecs, using liblzma, and code shared by their coders
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * liblzma's own threads compress and decompress the blocks of an xz file;
 * workers of our own would only use more memory.  Therefore everything is done
 * in join, between the reading and writing threads.
 *
 * Source: the .xz file format, 1.1.0.
 */
#include "format/codec.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "xz_coder.h"
#include "xz_index.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>

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

int
xz_job_new(struct xz_job **out, struct codec_notes *notes)
{
	struct xz_job *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->notes = notes;
	*out = j;
	return 0;
}

void
xz_job_close(void *job)
{
	struct xz_job *j = job;

	if (j != NULL)
		lzma_end(&j->strm);
	sys_free(j);
}

int
xz_job_started(void **job, struct xz_job *j, lzma_ret r)
{
	if (r != LZMA_OK) {
		xz_job_close(j);
		return xz_error(r);
	}
	*job = j;
	return 0;
}

/* Calls the coder once with room for output. */
static int
code_once(struct xz_job *j, lzma_action action, struct sink *out)
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
		j->notes->need = xz_refused_need(j);
	j->ended = r == LZMA_STREAM_END;
	return xz_error(r);
}

int
xz_join(void *job, struct slot *s, struct sink *out)
{
	struct xz_job *j = job;
	lzma_action action = s->last ? LZMA_FINISH : LZMA_RUN;
	int rc = 0;

	j->strm.next_in = j->piece = s->in.data;
	j->strm.avail_in = s->in.len;
	while (rc == 0 && !j->ended &&
	    (j->strm.avail_in > 0 || action == LZMA_FINISH))
		rc = code_once(j, action, out);
	/* data after an .lzma stream is not part of it */
	return rc == 0 && j->ended && j->strm.avail_in > 0 ? -EBADMSG : rc;
}

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
	    "check",		/* its name */
	    "extreme",		/* the variant -e of the level */
	    NULL },
	.list = xz_list, .seek = &xz_seek,
	.magic = magic_xz, .encode = &xz_encoder, .decode = &xz_decoder,
	.versions = xz_versions,
};

const struct codec codec_lzma = {
	.name = "lzma",
	.suffixes = (const struct codec_suffix[]){ { ".lzma", "" },
	    { ".tlz", ".tar" }, { NULL, NULL } },
	.level_min = 0, .level_max = 9, .level_default = 6,
	.settings = (const char *const[]){ "extreme", NULL },
	.list = lzma_list, .check = "none",
	.magic = magic_lzma, .magic_is_guess = true, .encode = &lzma_encoder,
	.decode = &lzma_decoder, .versions = xz_versions,
};
