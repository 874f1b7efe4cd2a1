/*
 * packer_zfs.c - ZFS's compressors
 * SPDX-License-Identifier: BSD-2-Clause
 */
#define ZSTD_STATIC_LINKING_ONLY	/* frames without a magic number */

#include "engine/packer/packer.h"

#include "base/sys.h"
#include "engine/other/lz4_zfs.h"
#include "engine/other/lzjb.h"
#include "engine/other/zle.h"
#include "engine/packer/packer_kinds.h"

#include <stdbool.h>
#include <zstd.h>

/*
 * zstd: a frame without magic number, size or checksum.  ZFS still uses version
 * 1.4.5, so later features are disabled: row-based search, block splitting and,
 * in the dfast strategy, lookahead, which the current library does not use
 * after a prefix.
 */
struct zstd {
	ZSTD_CCtx *c;
	int level;
};

static bool
set_level(ZSTD_CCtx *c, ZSTD_cParameter what, int value)
{
	return !ZSTD_isError(ZSTD_CCtx_setParameter(c, what, value));
}

static void
zstd_close(void *state)
{
	struct zstd *z = state;

	ZSTD_freeCCtx(z->c);
	sys_free(z);
}

static void *
zstd_open(int level, size_t most)
{
	struct zstd *z = sys_malloc(sizeof(*z));

	(void)most;
	if (z == NULL)
		return NULL;
	*z = (struct zstd){ ZSTD_createCCtx(), level };
	if (z->c == NULL ||
	    !set_level(z->c, ZSTD_c_format, ZSTD_f_zstd1_magicless) ||
	    !set_level(z->c, ZSTD_c_compressionLevel, level) ||
	    !set_level(z->c, ZSTD_c_checksumFlag, 0) ||
	    !set_level(z->c, ZSTD_c_contentSizeFlag, 0)) {
		zstd_close(z);
		return NULL;
	}
#ifdef ZSTD_c_useRowMatchFinder
	set_level(z->c, ZSTD_c_useRowMatchFinder, ZSTD_ps_disable);
#endif
#ifdef ZSTD_c_useBlockSplitter
	set_level(z->c, ZSTD_c_useBlockSplitter, ZSTD_ps_disable);
#endif
	return z;
}

/*
 * Sets the parameters of a dfast level explicitly, because the library would
 * otherwise include the size of the prefix, which matches no data, when
 * choosing them.
 */
static bool
use_prefix(ZSTD_CCtx *c, const ZSTD_compressionParameters *p)
{
	static const uint8_t prefix[] = { 0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a,
	    0x7c, 0x15 };

	return set_level(c, ZSTD_c_windowLog, (int)p->windowLog) &&
	    set_level(c, ZSTD_c_chainLog, (int)p->chainLog) &&
	    set_level(c, ZSTD_c_hashLog, (int)p->hashLog) &&
	    set_level(c, ZSTD_c_searchLog, (int)p->searchLog) &&
	    set_level(c, ZSTD_c_minMatch, (int)p->minMatch) &&
	    set_level(c, ZSTD_c_targetLength, (int)p->targetLength) &&
	    set_level(c, ZSTD_c_strategy, (int)p->strategy) &&
	    !ZSTD_isError(ZSTD_CCtx_refPrefix(c, prefix, sizeof(prefix)));
}

/* Restores the level's parameters. */
static bool
use_level(ZSTD_CCtx *c)
{
	static const ZSTD_cParameter all[] = { ZSTD_c_windowLog,
	    ZSTD_c_chainLog, ZSTD_c_hashLog, ZSTD_c_searchLog,
	    ZSTD_c_minMatch, ZSTD_c_targetLength, ZSTD_c_strategy };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!set_level(c, all[i], 0))
			return false;
	return true;
}

static size_t
zstd_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	const struct zstd *z = state;
	ZSTD_compressionParameters p = ZSTD_getCParams(z->level, len, 0);
	size_t n;

	/*
	 * A record that did not fit leaves its frame open, and neither
	 * parameters nor a prefix can be set until that frame is abandoned.
	 */
	if (ZSTD_isError(ZSTD_CCtx_reset(z->c, ZSTD_reset_session_only)) ||
	    !(p.strategy == ZSTD_dfast ? use_prefix(z->c, &p) :
	    use_level(z->c)))
		return 0;
	n = ZSTD_compress2(z->c, out, cap, in, len);
	return ZSTD_isError(n) ? 0 : n;
}

/* lzjb, zle and lz4: our own */

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
