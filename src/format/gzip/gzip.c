/*
 * gzip.c - gzip, zlib and zip as rows of the codec table; their checksums
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "deflate_codec.h"

#include "base/bytes.h"
#include "format/gzip/deflate_engine.h"
#include "format/gzip/gzip.h"
#include "format/list.h"
#include "format/seek_formats.h"

#include <libdeflate.h>
#include <string.h>
#include <zlib.h>

const struct sink_check check_crc32 = {
	.start = 0, .add = libdeflate_crc32, .combine = crc32_combine,
};

const struct sink_check check_adler32 = {
	.start = 1, .add = libdeflate_adler32, .combine = adler32_combine,
};

static bool
gzip_magic(const uint8_t *p, size_t len)
{
	return len >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

static void
gzip_stored(const uint8_t *p, size_t len, struct codec_stored *to)
{
	struct gzip_header h;
	const char *slash;

	if (gzip_header_parse(&h, p, len) != 1)
		return;
	to->mtime = h.mtime;
	to->head_B = h.len;
	if (h.name == NULL)
		return;
	/* drop directories, because the name is untrusted */
	slash = strrchr(h.name, '/');
	h.name = slash == NULL ? h.name : slash + 1;
	if (strlen(h.name) < sizeof(to->name))
		strcpy(to->name, h.name);
}

const struct codec codec_gzip = {
	.name = "gzip", .short_name = "gz",
	.suffixes = (const struct codec_suffix[]){ { ".gz", "" },
	    { ".tgz", ".tar" }, { ".taz", ".tar" }, { "-gz", "" },
	    { ".z", "" }, { "-z", "" }, { "_z", "" }, { NULL, NULL } },
	.level_min = 0, .level_max = 12, .level_default = 6,
	.adapt_max = 9,
	.settings = (const char *const[]){
	    "comment",		/* to store in the header */
	    "huffman", "rle",	/* zlib's strategies */
	    "copy-rest",	/* decoding: copy trailing data */
	    "piece",		/* decoding what another program wrote: bytes
				 * in a piece, at least 1024 */
	    NULL },
	.list = gzip_list, .seek = &gzip_seek, .check = "CRC-32",
	.magic = gzip_magic, .encode = &gzip_encoder, .decode = &gzip_decoder,
	.stored = gzip_stored, .versions = deflate_engine_versions,
};

static bool
zlib_magic(const uint8_t *p, size_t len)
{
	return len >= 2 && (p[0] & 15) == 8 && p[0] >> 4 <= 7 &&
	    load_be16(p) % 31 == 0;
}

static const char *
zlib_versions(void)
{
	return "as gzip";
}

const struct codec codec_zlib = {
	.name = "zlib",
	.suffixes = (const struct codec_suffix[]){ { ".zz", "" },
	    { "-zz", "" }, { NULL, NULL } },
	.level_min = 0, .level_max = 12, .level_default = 6,
	.adapt_max = 9,
	.settings = (const char *const[]){ "huffman", "rle", NULL },
	.list = zlib_list, .check = "Adler-32",
	.magic = zlib_magic, .encode = &zlib_encoder, .decode = &zlib_decoder,
	.versions = zlib_versions,
};

static bool
zip_magic(const uint8_t *p, size_t len)
{
	return len >= 4 && load_le32(p) == 0x04034b50;
}

const struct codec codec_zip = {
	.name = "zip",
	.suffixes = (const struct codec_suffix[]){ { ".zip", "" },
	    { NULL, NULL } },
	.level_min = 0, .level_max = 12, .level_default = 6,
	.adapt_max = 9,
	.settings = (const char *const[]){ "huffman", "rle", NULL },
	.list = zip_list, .check = "CRC-32",
	.magic = zip_magic, .encode = &zip_encoder, .decode = &zip_decoder,
	.versions = zlib_versions,
};
