/*
 * packer_zfs.c - the compressors of ZFS
 * SPDX-License-Identifier: BSD-2-Clause
 */
#define ZSTD_STATIC_LINKING_ONLY	/* frames without a magic number */

#include "packer.h"

#include "lz4_zfs.h"
#include "lzjb.h"
#include "packer_kinds.h"
#include "sys.h"
#include "zle.h"

#include <zstd.h>

/* zstd: a frame without magic number, size and checksum */

static void *
zstd_open(int level, size_t most)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();

	(void)most;
	if (c == NULL ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_format,
	    ZSTD_f_zstd1_magicless)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel,
	    level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 0)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag,
	    0))) {
		ZSTD_freeCCtx(c);
		return NULL;
	}
	return c;
}

static void
zstd_close(void *state)
{
	ZSTD_freeCCtx(state);
}

static size_t
zstd_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	size_t n = ZSTD_compress2(state, out, cap, in, len);

	return ZSTD_isError(n) ? 0 : n;
}

/* lzjb, zle and lz4, our own */

static void *
lzjb_open(int level, size_t most)
{
	(void)level;
	(void)most;
	return sys_malloc(LZJB_TABLE * sizeof(uint16_t));
}

static size_t
lzjb_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	return lzjb_compress(in, len, out, cap, state);
}

static void *
zle_open(int level, size_t most)
{
	(void)level;
	(void)most;
	return sys_malloc(1);
}

static size_t
zle_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	(void)state;
	return zle_compress(in, len, out, cap);
}

static void *
lz4_open(int level, size_t most)
{
	(void)level;
	(void)most;
	return sys_malloc(LZ4_ZFS_TABLE * sizeof(uint32_t));
}

static size_t
lz4_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	return lz4_zfs_compress(in, len, out, cap, state);
}

const struct packer_kind packers_zfs[] = {
	{ "lzjb", 0, 0, 0, lzjb_open, sys_free, lzjb_pack },
	{ "zle", 0, 0, 0, zle_open, sys_free, zle_pack },
	{ "lz4", 0, 0, 0, lz4_open, sys_free, lz4_pack },
	{ "gzip", 1, 9, 6, packer_zlib_open, packer_zlib_close,
	    packer_zlib_pack },
	{ "zstd-fast", -1000, -1, -1, zstd_open, zstd_close, zstd_pack },
	{ "zstd", 1, 19, 3, zstd_open, zstd_close, zstd_pack },
	{ .name = NULL }
};

const struct packer_kind packers_zfs_fuse[] = {
	{ "lzjb", 0, 0, 0, lzjb_open, sys_free, lzjb_pack },
	{ "zle", 0, 0, 0, zle_open, sys_free, zle_pack },
	{ "gzip", 1, 9, 6, packer_zlib_open, packer_zlib_close,
	    packer_zlib_pack },
	{ .name = NULL }
};
