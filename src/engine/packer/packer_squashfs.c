/*
 * packer_squashfs.c - mksquashfs's compressors
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/packer/packer.h"

#include "base/sys.h"
#include "engine/packer/packer_kinds.h"

#include <lz4.h>
#include <lz4hc.h>
#include <lzma.h>

enum { LZMA_DICT_LEAST = 4096 };

/* lz4: a block without a frame; -Xhc */

static void *
lz4_open(int level, size_t most)
{
	(void)level;
	(void)most;
	return sys_malloc((size_t)LZ4_sizeofState());
}

static size_t
lz4_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	int n = LZ4_compress_fast_extState(state, (const char *)in,
	    (char *)out, (int)len, (int)cap, 1);

	return n > 0 ? (size_t)n : 0;
}

static void *
lz4hc_open(int level, size_t most)
{
	(void)level;
	(void)most;
	return sys_malloc((size_t)LZ4_sizeofStateHC());
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
 * xz: a stream with one block, a CRC-32, and a dictionary as large as the
 * squashfs block
 */

struct xz {
	lzma_options_lzma options;
};

static void *
xz_open(int level, size_t most)
{
	struct xz *z = sys_calloc(1, sizeof(*z));

	(void)level;
	if (z != NULL && lzma_lzma_preset(&z->options, LZMA_PRESET_DEFAULT)) {
		sys_free(z);
		return NULL;
	}
	if (z != NULL)
		z->options.dict_size = most < LZMA_DICT_LEAST ?
		    LZMA_DICT_LEAST : (uint32_t)most;
	return z;
}

static size_t
xz_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	struct xz *z = state;
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &z->options },
	    { LZMA_VLI_UNKNOWN, NULL } };
	size_t n = 0;

	return lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, in,
	    len, out, &n, cap) == LZMA_OK ? n : 0;
}

const struct packer_kind packers_squashfs[] = {
	{ "gzip", 1, 9, 9, packer_zlib_open, packer_zlib_close,
	    packer_zlib_pack },
	{ "lz4", 0, 0, 0, lz4_open, sys_free, lz4_pack },
	{ "lz4hc", 0, 0, 0, lz4hc_open, sys_free, lz4hc_pack },
#ifdef COLDPRESS_LZO
	{ "lzo", 1, 9, 8, packer_lzo999_open, sys_free, packer_lzo999_pack },
#endif
	{ "xz", 0, 0, 0, xz_open, sys_free, xz_pack },
	{ "zstd", 1, 22, 15, packer_zstd_open, packer_zstd_close,
	    packer_zstd_pack },
	{ .name = NULL }
};
