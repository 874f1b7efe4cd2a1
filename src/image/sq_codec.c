/*
 * sq_codec.c - the compressors of squashfs, one block at a time
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A block is a zlib stream (RFC 1950), an .lzma file, an .xz file with one
 * filter of branches at most, a zstd frame (RFC 8878), or a bare lz4 or LZO1X
 * block.  Each is small and its room is known, so all but the two of LZMA are
 * unpacked in one call without a window of their own.
 */
#include "sq.h"

#include "sys.h"

#include <errno.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lzma.h>
#include <string.h>
#include <zstd.h>
#ifdef COLDPRESS_LZO
#include <lzo/lzo1x.h>
#endif

/* A dictionary is no larger than a block where the writer is sane. */
enum { LZMA_MEM = 32 << 20 };

static int
open_nothing(void **ctx)
{
	*ctx = NULL;
	return 0;
}

static void
close_nothing(void *ctx)
{
	(void)ctx;
}

static int
gzip_open(void **ctx)
{
	*ctx = libdeflate_alloc_decompressor();
	return *ctx == NULL ? -ENOMEM : 0;
}

static ssize_t
gzip_unpack(void *ctx, const uint8_t *src, size_t len, uint8_t *dst,
    size_t cap)
{
	size_t n;

	if (libdeflate_zlib_decompress(ctx, src, len, dst, cap, &n) !=
	    LIBDEFLATE_SUCCESS)
		return -EBADMSG;
	return (ssize_t)n;
}

static void
gzip_close(void *ctx)
{
	libdeflate_free_decompressor(ctx);
}

static int
zstd_open(void **ctx)
{
	*ctx = ZSTD_createDCtx();
	return *ctx == NULL ? -ENOMEM : 0;
}

static ssize_t
zstd_unpack(void *ctx, const uint8_t *src, size_t len, uint8_t *dst,
    size_t cap)
{
	size_t n = ZSTD_decompressDCtx(ctx, dst, cap, src, len);

	return ZSTD_isError(n) ? -EBADMSG : (ssize_t)n;
}

static void
zstd_close(void *ctx)
{
	ZSTD_freeDCtx(ctx);
}

static ssize_t
lz4_unpack(void *ctx, const uint8_t *src, size_t len, uint8_t *dst,
    size_t cap)
{
	int n = LZ4_decompress_safe((const char *)src, (char *)dst, (int)len,
	    (int)cap);

	(void)ctx;
	return n < 0 ? -EBADMSG : n;
}

static int
lzma_open(void **ctx)
{
	lzma_stream *s = sys_calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	*s = (lzma_stream)LZMA_STREAM_INIT;
	*ctx = s;
	return 0;
}

/* The decoder's memory stays with the stream from block to block. */
static ssize_t
lzma_run(lzma_stream *s, lzma_ret rc, const uint8_t *src, size_t len,
    uint8_t *dst, size_t cap)
{
	if (rc == LZMA_OK) {
		s->next_in = src;
		s->avail_in = len;
		s->next_out = dst;
		s->avail_out = cap;
		rc = lzma_code(s, LZMA_FINISH);
	}
	if (rc == LZMA_MEM_ERROR)
		return -ENOMEM;
	return rc == LZMA_STREAM_END ? (ssize_t)(cap - s->avail_out) :
	    -EBADMSG;
}

static ssize_t
xz_unpack(void *ctx, const uint8_t *src, size_t len, uint8_t *dst, size_t cap)
{
	return lzma_run(ctx, lzma_stream_decoder(ctx, LZMA_MEM, 0), src, len,
	    dst, cap);
}

static ssize_t
alone_unpack(void *ctx, const uint8_t *src, size_t len, uint8_t *dst,
    size_t cap)
{
	return lzma_run(ctx, lzma_alone_decoder(ctx, LZMA_MEM), src, len, dst,
	    cap);
}

static void
lzma_close(void *ctx)
{
	lzma_end(ctx);
	sys_free(ctx);
}

#ifdef COLDPRESS_LZO
static ssize_t
lzo_unpack(void *ctx, const uint8_t *src, size_t len, uint8_t *dst,
    size_t cap)
{
	lzo_uint n = cap;

	(void)ctx;
	if (lzo1x_decompress_safe(src, len, dst, &n, NULL) != LZO_E_OK)
		return -EBADMSG;
	return (ssize_t)n;
}
#endif

/* By the superblock's number. */
static const struct sq_codec codecs[] = {
	[1] = { "gzip", gzip_open, gzip_unpack, gzip_close },
	[2] = { "lzma", lzma_open, alone_unpack, lzma_close },
#ifdef COLDPRESS_LZO
	[3] = { "lzo", open_nothing, lzo_unpack, close_nothing },
#endif
	[4] = { "xz", lzma_open, xz_unpack, lzma_close },
	[5] = { "lz4", open_nothing, lz4_unpack, close_nothing },
	[6] = { "zstd", zstd_open, zstd_unpack, zstd_close },
};

const struct sq_codec *
sq_codec_find(unsigned number, const char **why)
{
	if (number < sizeof(codecs) / sizeof(codecs[0]) &&
	    codecs[number].name != NULL)
		return &codecs[number];
	*why = number == 3 ? "its compressor is lzo, which is not in this build"
	    : "its compressor is not known";
	return NULL;
}
