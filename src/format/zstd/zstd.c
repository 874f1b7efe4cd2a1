/*
 * zstd.c - the Zstandard codec, and code shared by its coders
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 8878.
 */
#include "zstd_codec.h"

#include "base/bytes.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "format/skippable.h"
#include "zstd_scan.h"

#include <errno.h>
#include <zstd.h>
#include <zstd_errors.h>

int
zstd_error(size_t code)
{
	switch (ZSTD_getErrorCode(code)) {
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	case ZSTD_error_frameParameter_windowTooLarge:
		return -EFBIG;
	case ZSTD_error_dictionary_wrong:
	case ZSTD_error_version_unsupported:
		return -ENOTSUP;
	case ZSTD_error_dstSize_tooSmall:
		return -ENOBUFS;
	default:
		return -EBADMSG;
	}
}

/*
 * lz4 also has skippable frames; a stream that contains nothing else is treated
 * as zstd.
 */
static bool
zstd_magic(const uint8_t *p, size_t len)
{
	struct zstd_header h;

	if (len < 4 || zstd_header_parse(&h, p, len) < 0)
		return false;
	return skippable_pass(&p, &len) || len < 4 ||
	    load_le32(p) == ZSTD_FRAME_MAGIC;
}

static uint32_t
zstd_dictionary(const uint8_t *p, size_t len)
{
	struct zstd_header h;

	return zstd_header_parse(&h, p, len) == 1 ? h.dictionary_id : 0;
}

static const struct coder *
encoder_for(const struct codec_options *o)
{
	static const char *const whole[] = {
		"window-log", "no-check", "dictionary", "patch-from",
		"size-hint", "target-block"
	};

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (codec_number(o, whole[i]) != 0)
			return &zstd_stream_encoder;
	if (codec_text(o, "parameters") != NULL)
		return &zstd_stream_encoder;
	return codec_number(o, "seekable") || o->independent ?
	    &zstd_frames_encoder : &zstd_encoder;
}

static const struct coder *
decoder_for(const struct codec_options *o)
{
	return codec_number(o, "dictionary") != 0 ||
	    codec_number(o, "patch-from") != 0 ||
	    codec_number(o, "no-check") != 0 ? &zstd_stream_decoder :
	    &zstd_decoder;
}

const struct codec codec_zstd = {
	.name = "zstd", .short_name = "zst",
	.suffixes = (const struct codec_suffix[]){ { ".zst", "" },
	    { ".tzst", ".tar" }, { NULL, NULL } },
	.level_min = 1, .level_max = 22, .level_default = 3,
	.adapt_max = 15,
	.settings = (const char *const[]){
	    "dictionary",	/* its size; the text is its bytes */
	    "fast",		/* a level below 0, without its sign */
	    "no-check",		/* no checksum of the content; decoding:
				 * it is not verified */
	    "parameters",	/* as in zstd --zstd=, "wlog=23,strat=3" */
	    "patch-from",	/* like dictionary: data to refer to */
	    "seekable",		/* write separate frames and a seek table */
	    "size",		/* to record in the header; 0: none */
	    "size-hint",	/* what the size may be, if it is not known */
	    "target-block",	/* bytes in a compressed block, about */
	    "window-log",	/* --long; 0: the level's default */
	    NULL },
	.list = zstd_list, .seek = &zstd_seek,
	.magic = zstd_magic, .dictionary = zstd_dictionary,
	.encode = &zstd_encoder, .decode = &zstd_decoder,
	.encoder_for = encoder_for, .decoder_for = decoder_for,
	.versions = ZSTD_versionString,
};
