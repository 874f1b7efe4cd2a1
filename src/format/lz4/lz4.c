/*
 * lz4.c - the LZ4 codec
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * lz4_encode.c compresses, lz4_decode.c and lz4_scan.c decompress.
 */
#include "lz4_frame.h"

#include "base/bytes.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "format/skippable.h"

#include <lz4.h>

/* zstd also has skippable frames; the data after them decides, if available. */
static bool
lz4_magic(const uint8_t *p, size_t len)
{
	return skippable_pass(&p, &len) || (len >= 4 &&
	    (load_le32(p) == FRAME_MAGIC || load_le32(p) == LEGACY_MAGIC));
}

static const char *
lz4_versions(void)
{
	return "liblz4 " LZ4_VERSION_STRING;
}

const struct codec codec_lz4 = {
	.name = "lz4",
	.suffixes = (const struct codec_suffix[]){ { ".lz4", "" },
	    { ".tlz4", ".tar" }, { NULL, NULL } },
	.level_min = 1, .level_max = 12, .level_default = 1,
	.adapt_max = 9,
	.settings = (const char *const[]){
	    "block-check",	/* also add a checksum to each block */
	    "legacy",		/* the frame that lz4 -l writes */
	    NULL },
	.list = lz4_list, .seek = &lz4_seek,
	.magic = lz4_magic, .dictionary = lz4_dictionary, .encode = &lz4_encoder,
	.decode = &lz4_decoder, .versions = lz4_versions,
};
