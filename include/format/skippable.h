/*
 * skippable.h - the skippable frames that zstd and lz4 share
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A skippable frame consists of one of 16 magic numbers, the content's length
 * (le32), and the content.  Only the data after such frames distinguishes zstd
 * from lz4.  Source: RFC 8878, section 3.1.2.
 */
#ifndef COLDPRESS_SKIPPABLE_H
#define COLDPRESS_SKIPPABLE_H

#include "pipeline/input.h"

/*
 * Reads the skippable frames at the beginning of the stream and leaves an empty
 * one in their place, so that codec_by_magic() sees what follows.  If the input
 * ends inside a frame, its header is kept, with the number of missing bytes as
 * its length.  Frames that codec_by_magic() itself can skip remain.  Returns 0
 * or -errno.
 */
int skippable_shorten(struct input *in);

/*
 * Returns the offset at which the skippable frames that begin at `at` in the
 * file fd end, or `at` itself if there are too many.
 */
uint64_t skippable_end(int fd, uint64_t at);

#endif
