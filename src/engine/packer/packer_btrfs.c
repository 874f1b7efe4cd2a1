/*
 * packer_btrfs.c - btrfs's compressors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each compressor gives up as in btrfs: zlib and zstd if the complete output is
 * not smaller than the input, lzo from its third page onward as soon as the
 * output is larger.
 */
#include "engine/packer/packer.h"

#include "base/sys.h"
#include "engine/packer/packer_kinds.h"

#include <stdbool.h>
#define ZLIB_CONST
#include <zlib.h>

enum { PAGE = 4096 };

/*
 * zlib: the kernel passes one page at a time and flushes after each, so these
 * streams are longer than usual
 */

static bool
feed_page(z_stream *z, const uint8_t *in, size_t len, int flush)
{
	z->next_in = in;
	z->avail_in = (uInt)len;
	return deflate(z, flush) == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) &&
	    z->avail_in == 0;
}

static size_t
zlib_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	z_stream *z = state;

	deflateReset(z);
	z->next_out = out;
	z->avail_out = (uInt)cap;
	for (size_t at = 0; at < len; at += PAGE) {
		size_t n = len - at < PAGE ? len - at : PAGE;

		if (!feed_page(z, in + at, n, Z_SYNC_FLUSH))
			return 0;
	}
	return feed_page(z, NULL, 0, Z_FINISH) && z->total_out < len ?
	    z->total_out : 0;
}

static size_t
zstd_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	return packer_zstd_pack(state, in, len, out, cap < len ? cap : len - 1);
}

const struct packer_kind packers_btrfs[] = {
	{ "zlib", 1, 9, 3, packer_zlib_open, packer_zlib_close, zlib_pack },
#ifdef COLDPRESS_LZO
	{ "lzo", 0, 0, 0, packer_lzo_open, sys_free, packer_lzo_pack },
#endif
	{ "zstd", 1, 15, 3, packer_zstd_open, packer_zstd_close,
	    zstd_pack },
	{ .name = NULL }
};
