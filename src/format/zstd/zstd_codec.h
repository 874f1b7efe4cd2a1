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
 * seek table; and one frame of which libzstd makes everything, with its own
 * threads.  The second decoder is for dictionaries.
 */
extern const struct coder zstd_encoder, zstd_frames_encoder,
    zstd_stream_encoder, zstd_decoder, zstd_stream_decoder;

/* Returns libzstd's level, which "fast" makes negative. */
int zstd_level(const struct codec_options *o);

/* Returns the size of libzstd's context for a level of at least 1. */
uint64_t zstd_context_size(int level);

/* Returns the -errno for a libzstd error code. */
int zstd_error(size_t code);

#endif
