/*
 * packer_linux.c - the block compressors of btrfs and mksquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Both include LZO, so a program with one of these tables is linked with it.
 *
 * Each of btrfs's compressors gives up as in btrfs: zlib and zstd if the
 * complete output is not smaller than the input, lzo from its third page onward
 * as soon as the output is larger.
 */
#include "engine/packer/packer.h"

#include "base/sys.h"
#include "engine/packer/packer_kinds.h"

#include <lz4.h>
#include <lz4hc.h>
#include <lzma.h>
#include <stdbool.h>
#define ZLIB_CONST
#include <zlib.h>

enum {
	PAGE = 4096,			/* btrfs's */
	LZMA_DICT_LEAST = 4096
};

static bool
deflate_page(z_stream *z, const uint8_t *in, size_t len, int flush)
{
	z->next_in = in;
	z->avail_in = (uInt)len;
	return deflate(z, flush) == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) &&
	    z->avail_in == 0;
}

/*
 * btrfs: the kernel passes one page at a time and flushes after each, so these
 * streams are longer than usual.  Like zstd below, it gives up if the complete
 * output is not smaller than the input.
 */
static size_t
zlib_pack_pages(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	z_stream *z = state;

	deflateReset(z);
	z->next_out = out;
	z->avail_out = (uInt)cap;
	for (size_t at = 0; at < len; at += PAGE) {
		size_t n = len - at < PAGE ? len - at : PAGE;

		if (!deflate_page(z, in + at, n, Z_SYNC_FLUSH))
			return 0;
	}
	return deflate_page(z, NULL, 0, Z_FINISH) && z->total_out < len ?
	    z->total_out : 0;
}

static size_t
zstd_pack_smaller(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	return packer_zstd_pack(state, in, len, out, cap < len ? cap : len - 1);
}

/* squashfs: lz4 is a block without a frame; lz4hc is -Xhc */

static size_t
lz4_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	int n = LZ4_compress_fast_extState(state, (const char *)in,
	    (char *)out, (int)len, (int)cap, 1);

	return n > 0 ? (size_t)n : 0;
}

static size_t
lz4hc_pack(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	int n = LZ4_compress_HC_extStateHC(state, (const char *)in,
	    (char *)out, (int)len, (int)cap, LZ4HC_CLEVEL_MAX);

	return n > 0 ? (size_t)n : 0;
}

/*
 * squashfs: a stream with one block, a CRC-32, and a dictionary as large as the
 * block
 */

static void *
xz_open(const struct packer_name *name, size_t most)
{
	lzma_options_lzma *z = sys_calloc(1, sizeof(*z));

	(void)name;
	if (z == NULL)
		return NULL;
	if (lzma_lzma_preset(z, LZMA_PRESET_DEFAULT)) {
		sys_free(z);
		return NULL;
	}
	z->dict_size = most < LZMA_DICT_LEAST ? LZMA_DICT_LEAST :
	    (uint32_t)most;
	return z;
}

static size_t
xz_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, state },
	    { LZMA_VLI_UNKNOWN, NULL } };
	size_t n = 0;

	return lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, in,
	    len, out, &n, cap) == LZMA_OK ? n : 0;
}

const struct packer_kind packers_btrfs[] = {
	{ "zlib", 1, 9, 3, packer_zlib_open, packer_zlib_close,
	    zlib_pack_pages },
#ifdef COLDPRESS_LZO
	{ "lzo", 0, 0, 0, packer_lzo_open, sys_free, packer_lzo_pack },
#endif
	{ "zstd", 1, 15, 3, packer_zstd_open, packer_zstd_close,
	    zstd_pack_smaller },
	{ .name = NULL }
};

const struct packer_kind packers_squashfs[] = {
	{ "gzip", 1, 9, 9, packer_zlib_open, packer_zlib_close,
	    packer_zlib_pack },
	{ "lz4", 0, 0, 0, packer_table_open, sys_free, lz4_pack },
	{ "lz4hc", 0, 0, 0, packer_table_open, sys_free, lz4hc_pack },
#ifdef COLDPRESS_LZO
	{ "lzo", 1, 9, 8, packer_lzo999_open, sys_free, packer_lzo999_pack },
#endif
	{ "xz", 0, 0, 0, xz_open, sys_free, xz_pack },
	{ "zstd", 1, 22, 15, packer_zstd_open, packer_zstd_close,
	    packer_zstd_pack },
	{ .name = NULL }
};

const struct packer_kind packers_gensquashfs[] = {
#ifdef COLDPRESS_LZO
	{ "lzo", 1, 9, 8, packer_lzo999_open, sys_free,
	    packer_lzo999_pack_plain },
#endif
	{ .name = NULL }
};
