/*
 * bzip2_codec.h - what the halves of the bzip2 codec share
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Private to src/codec.
 */
#ifndef COLDPRESS_BZIP2_CODEC_H
#define COLDPRESS_BZIP2_CODEC_H

#include "codec.h"

extern const struct coder bzip2_decoder;

#endif
