/*
 * zstd_codec.h - declarations shared by the parts of the zstd codec
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_ZSTD_CODEC_H
#define COLDPRESS_ZSTD_CODEC_H

#include "format/codec.h"

#include <stddef.h>

/*
 * These coders write one frame of jobs; frames of known size, with or without a
 * seek table; and one frame with a long window, using libzstd's own threads.
 */
extern const struct coder zstd_encoder, zstd_frames_encoder,
    zstd_long_encoder, zstd_decoder;

/* Returns the -errno for a libzstd error code. */
int zstd_error(size_t code);

#endif
