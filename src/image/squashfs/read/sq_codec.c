/*
 * sq_codec.c - squashfs's compressors, one block at a time
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs.h"

#include "base/sys.h"
#include "format/xz.h"

#include <errno.h>
#include <libdeflate.h>
#include <lz4.h>
#ifdef COLDPRESS_LZO
#include <lzo/lzo1x.h>
#endif
#include <zstd.h>

/* for dictionaries of the block size, and a decoder's other memory */
enum { LZMA_MEMORY = 32 << 20, DICTIONARY_MAX = LZMA_MEMORY - (1 << 20) };

struct sq_codec {
	int compressor;
	struct libdeflate_decompressor *deflate;
	ZSTD_DCtx *zstd;
	struct unlzma *unlzma;
	lzma_stream lzma;	/* for what unlzma does not decode */
};

int
sq_codec_open(struct sq_codec **out, int compressor)
{
	struct sq_codec *c;

	switch (compressor) {
	case SQUASHFS_GZIP:
	case SQUASHFS_LZMA:
#ifdef COLDPRESS_LZO
	case SQUASHFS_LZO:
#endif
	case SQUASHFS_XZ:
	case SQUASHFS_LZ4:
	case SQUASHFS_ZSTD:
		break;
	default:
		return -ENOTSUP;
	}
	c = sys_calloc(1, sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	c->compressor = compressor;
	c->lzma = (lzma_stream)LZMA_STREAM_INIT;
	if (compressor == SQUASHFS_GZIP)
		c->deflate = libdeflate_alloc_decompressor();
	if (compressor == SQUASHFS_ZSTD)
		c->zstd = ZSTD_createDCtx();
	if ((compressor == SQUASHFS_XZ && unlzma_open(&c->unlzma) != 0) ||
	    (compressor == SQUASHFS_GZIP && c->deflate == NULL) ||
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
	unlzma_close(c->unlzma);
	lzma_end(&c->lzma);
	sys_free(c);
}

int64_t
sq_codec_unpack(struct sq_codec *c, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap)
{
	lzma_ret rc;
	int64_t small;
	size_t made;
	int n;
#ifdef COLDPRESS_LZO
	lzo_uint lzo_made = cap;
#endif

	switch (c->compressor) {
	case SQUASHFS_GZIP:
		return libdeflate_zlib_decompress(c->deflate, in, len, out, cap,
		    &made) == LIBDEFLATE_SUCCESS ? (int64_t)made : -EBADMSG;
	case SQUASHFS_ZSTD:
		made = ZSTD_decompressDCtx(c->zstd, out, cap, in, len);
		return ZSTD_isError(made) ? -EBADMSG : (int64_t)made;
	case SQUASHFS_LZ4:
		n = LZ4_decompress_safe((const char *)in, (char *)out, (int)len,
		    (int)cap);
		return n < 0 ? -EBADMSG : n;
#ifdef COLDPRESS_LZO
	case SQUASHFS_LZO:
		return lzo1x_decompress_safe(in, len, out, &lzo_made, NULL) ==
		    LZO_E_OK ? (int64_t)lzo_made : -EBADMSG;
#endif
	case SQUASHFS_XZ:
		small = xz_decode_small(c->unlzma, in, len, out, cap,
		    DICTIONARY_MAX);
		if (small != -EAGAIN)
			return small;
		break;
	default:
		break;
	}
	/* starting a new decoder in the old stream reuses its memory */
	rc = c->compressor == SQUASHFS_XZ ?
	    lzma_stream_decoder(&c->lzma, LZMA_MEMORY, 0) :
	    lzma_alone_decoder(&c->lzma, LZMA_MEMORY);
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
