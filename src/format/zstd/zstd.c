/*
 * zstd.c - the Zstandard codec, and code shared by its coders
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 8878.
 */
#include "zstd_codec.h"

#include "base/bytes.h"
#include "format/codec.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "zstd_scan.h"

#include <errno.h>
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
 * The windows are those that libzstd 1.5 chooses for input of unknown size, so
 * any program that reads its files can read these.  The context sizes are from
 * ZSTD_estimateCCtxSize() and depend on the parser's parameters: level 12 needs
 * more memory than level 13.
 */
const struct zstd_level *
zstd_level(int level)
{
	static const struct zstd_level levels[] = {
		{ 19, 16, 1 }, { 20, 16, 1 }, { 21, 16, 2 }, { 21, 16, 3 },
		{ 21, 16, 4 }, { 21, 16, 4 }, { 21, 16, 7 }, { 21, 16, 7 },
		{ 22, 24, 13 }, { 22, 24, 25 }, { 22, 24, 25 },
		{ 22, 24, 49 }, { 22, 24, 33 }, { 22, 24, 49 },
		{ 22, 32, 65 }, { 22, 32, 33 }, { 23, 48, 50 },
		{ 23, 48, 50 }, { 23, 48, 82 }, { 25, 128, 162 },
		{ 26, 256, 322 }, { 27, 512, 650 },
	};

	return &levels[level - 1];
}

int
zstd_set(ZSTD_CCtx *c, ZSTD_cParameter parameter, int value)
{
	return ZSTD_isError(ZSTD_CCtx_setParameter(c, parameter, value)) ?
	    -ENOMEM : 0;
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
	while (len >= 8 && (load_le32(p) & ~15U) == ZSTD_SKIP_MAGIC) {
		size_t n = load_le32(p + 4);

		if (n >= len - 8 || len - 8 - n < 4)
			return true;
		p += 8 + n;
		len -= 8 + n;
	}
	return load_le32(p) == ZSTD_FRAME_MAGIC ||
	    (load_le32(p) & ~15U) == ZSTD_SKIP_MAGIC;
}

static uint32_t
zstd_dictionary(const uint8_t *p, size_t len)
{
	struct zstd_header h;

	return zstd_header_parse(&h, p, len) == 1 ? h.dictionary_id : 0;
}

static const char *
zstd_versions(void)
{
	return ZSTD_versionString();
}

static const struct coder *
encoder_for(const struct codec_options *o)
{
	if (codec_number(o, "window-log") != 0)
		return &zstd_long_encoder;
	return codec_number(o, "seekable") || o->independent ?
	    &zstd_frames_encoder : &zstd_encoder;
}

const struct codec codec_zstd = {
	.name = "zstd", .short_name = "zst",
	.suffixes = (const struct codec_suffix[]){ { ".zst", "" },
	    { ".tzst", ".tar" }, { NULL, NULL } },
	.level_min = 1, .level_max = 22, .level_default = 3,
	.adapt_max = 15,
	.settings = (const char *const[]){
	    "seekable",		/* write separate frames and a seek table */
	    "size",		/* to record in the header; 0: none */
	    "window-log",	/* --long; 0: the level's default */
	    NULL },
	.list = zstd_list, .seek = &zstd_seek,
	.magic = zstd_magic, .dictionary = zstd_dictionary,
	.encode = &zstd_encoder, .decode = &zstd_decoder,
	.encoder_for = encoder_for,
	.versions = zstd_versions,
};
