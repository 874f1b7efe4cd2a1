/*
 * formats.h - the rows of the codec table
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_FORMATS_H
#define COLDPRESS_FORMATS_H

#include "format/codec.h"

extern const struct codec codec_gzip, codec_zlib, codec_zip, codec_zstd,
    codec_lz4, codec_xz, codec_lzma, codec_bzip2, codec_compress;

#endif
