/*
 * zstd_codec.h - declarations shared by the parts of the zstd codec
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_ZSTD_CODEC_H
#define COLDPRESS_ZSTD_CODEC_H

#include "format/codec.h"

#include <zstd.h>

/*
 * These coders write one frame of jobs; frames of known size, with or without a
 * seek table; and one frame with a long window, using libzstd's own threads.
 */
extern const struct coder zstd_encoder, zstd_frames_encoder,
    zstd_long_encoder, zstd_decoder;

/* Returns the -errno for a libzstd error code. */
int zstd_error(size_t code);

/* A level's parameters. */
struct zstd_level {
	uint8_t window_log;	/* the same as libzstd's for an unknown size */
	uint16_t job_mib;	/* MiB of input in a job */
	uint16_t mib;		/* context size in MiB, rounded up */
};

/* Returns the parameters of a level, 1 to 22. */
const struct zstd_level *zstd_level(int level);

/* Returns 0, or -ENOMEM. */
int zstd_set(ZSTD_CCtx *c, ZSTD_cParameter parameter, int value);

#endif
