/*
 * sq_codec.c - squashfs's compressors, one block at a time
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs.h"

#include "base/sys.h"

#include <errno.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lzma.h>
#ifdef COLDPRESS_LZO
#include <lzo/lzo1x.h>
#endif
#include <zstd.h>

enum { LZMA_MEMORY = 32 << 20 };	/* for dictionaries of the block size */

typedef int64_t unpack_fn(struct sq_codec *c, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

struct sq_codec {
	unpack_fn *unpack;
	struct libdeflate_decompressor *deflate;
	ZSTD_DCtx *zstd;
	lzma_stream lzma;
};

static int64_t
unpack_gzip(struct sq_codec *c, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	size_t made;

	return libdeflate_zlib_decompress(c->deflate, in, len, out, cap,
	    &made) == LIBDEFLATE_SUCCESS ? (int64_t)made : -EBADMSG;
}

static int64_t
unpack_zstd(struct sq_codec *c, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	size_t made = ZSTD_decompressDCtx(c->zstd, out, cap, in, len);

	return ZSTD_isError(made) ? -EBADMSG : (int64_t)made;
}

static int64_t
unpack_lz4(struct sq_codec *c, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	int made = LZ4_decompress_safe((const char *)in, (char *)out, (int)len,
	    (int)cap);

	(void)c;
	return made < 0 ? -EBADMSG : made;
}

/* Starting a new decoder in the old stream reuses its memory. */
static int64_t
run_lzma(struct sq_codec *c, lzma_ret begun, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap)
{
	lzma_ret rc = begun;

	if (rc == LZMA_OK) {
		c->lzma.next_in = in;
		c->lzma.avail_in = len;
		c->lzma.next_out = out;
		c->lzma.avail_out = cap;
		rc = lzma_code(&c->lzma, LZMA_FINISH);
	}
	if (rc == LZMA_MEM_ERROR)
		return -ENOMEM;
	return rc == LZMA_STREAM_END ? (int64_t)(cap - c->lzma.avail_out) :
	    -EBADMSG;
}

static int64_t
unpack_xz(struct sq_codec *c, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	return run_lzma(c, lzma_stream_decoder(&c->lzma, LZMA_MEMORY, 0), in,
	    len, out, cap);
}

static int64_t
unpack_lzma(struct sq_codec *c, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	return run_lzma(c, lzma_alone_decoder(&c->lzma, LZMA_MEMORY), in, len,
	    out, cap);
}

#ifdef COLDPRESS_LZO
static int64_t
unpack_lzo(struct sq_codec *c, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	lzo_uint made = cap;

	(void)c;
	return lzo1x_decompress_safe(in, len, out, &made, NULL) == LZO_E_OK ?
	    (int64_t)made : -EBADMSG;
}
#endif

static unpack_fn *
unpacker(int compressor)
{
	switch (compressor) {
	case SQUASHFS_GZIP:
		return unpack_gzip;
	case SQUASHFS_LZMA:
		return unpack_lzma;
#ifdef COLDPRESS_LZO
	case SQUASHFS_LZO:
		return unpack_lzo;
#endif
	case SQUASHFS_XZ:
		return unpack_xz;
	case SQUASHFS_LZ4:
		return unpack_lz4;
	case SQUASHFS_ZSTD:
		return unpack_zstd;
	default:
		return NULL;
	}
}

int
sq_codec_open(struct sq_codec **out, int compressor)
{
	struct sq_codec *c;

	if (unpacker(compressor) == NULL)
		return -ENOTSUP;
	c = sys_calloc(1, sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	c->unpack = unpacker(compressor);
	c->lzma = (lzma_stream)LZMA_STREAM_INIT;
	if (compressor == SQUASHFS_GZIP)
		c->deflate = libdeflate_alloc_decompressor();
	if (compressor == SQUASHFS_ZSTD)
		c->zstd = ZSTD_createDCtx();
	if ((compressor == SQUASHFS_GZIP && c->deflate == NULL) ||
	    (compressor == SQUASHFS_ZSTD && c->zstd == NULL)) {
		sys_free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void
sq_codec_close(struct sq_codec *c)
{
	if (c == NULL)
		return;
	if (c->deflate != NULL)
		libdeflate_free_decompressor(c->deflate);
	ZSTD_freeDCtx(c->zstd);
	lzma_end(&c->lzma);
	sys_free(c);
}

int64_t
sq_codec_unpack(struct sq_codec *c, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap)
{
	return c->unpack(c, in, len, out, cap);
}
