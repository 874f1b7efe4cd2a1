/*
 * zstd_codec.h - what the halves of the zstd codec share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_ZSTD_CODEC_H
#define COLDPRESS_ZSTD_CODEC_H

#include "format/codec.h"

extern const struct coder zstd_encoder, zstd_long_encoder, zstd_decoder;

/* The -errno for an error code of libzstd. */
int zstd_error(size_t code);

#endif
