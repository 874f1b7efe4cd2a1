/*
 * deflate_codec.h - the coders of gzip, zlib and zip, and their checksums
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_DEFLATE_CODEC_H
#define COLDPRESS_DEFLATE_CODEC_H

#include "format/codec.h"

#include <sys/types.h>

/* The checks used by gzip and zip, and by zlib. */
extern const struct sink_check check_crc32, check_adler32;

/*
 * Returns the first size in the ZIP64 field of an entry with these len bytes of
 * extra fields, or UINT32_MAX, which stands for it in a field of 32 bits.
 */
uint64_t zip_size64(const uint8_t *extra, size_t len);

extern const struct coder gzip_encoder, zlib_encoder, zip_encoder;
extern const struct coder gzip_decoder, gzip_part_decoder, zlib_decoder,
    zip_decoder;

#endif
