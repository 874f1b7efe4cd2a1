/*
 * skippable.h - the skippable frames that zstd and lz4 share
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A magic number of 16, the length of the content (le32), the content.  What
 * stands behind them tells zstd from lz4.  Source: RFC 8878, section 3.1.2.
 */
#ifndef COLDPRESS_SKIPPABLE_H
#define COLDPRESS_SKIPPABLE_H

#include "pipeline/input.h"

/*
 * Reads the skippable frames that the stream begins with and leaves an empty
 * one in their place, so that codec_by_magic() sees what follows.  One that
 * the input ends in keeps its header, with the length that is missing.
 * Frames that codec_by_magic() can see past stay as they are.  0 or -errno.
 */
int skippable_shorten(struct input *in);

/*
 * The place in the file fd, from at on, behind skippable frames; that of the
 * first where there are too many.
 */
uint64_t skippable_end(int fd, uint64_t at);

#endif
