/*
 * skippable.h - the skippable frames of zstd and lz4
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A skippable frame consists of one of 16 magic numbers, the content's length
 * (le32), and the content.  zstd and lz4 can be distinguished only by the data
 * after such frames.  Source: RFC 8878, section 3.1.2.
 */
#ifndef COLDPRESS_SKIPPABLE_H
#define COLDPRESS_SKIPPABLE_H

#include "pipeline/input.h"

/* Whether a frame that begins with this le32 is skippable. */
static inline bool
skippable_magic(uint32_t word)
{
	return (word & ~15U) == 0x184d2a50;
}

/*
 * Advances past the skippable frames at the start of the *len bytes at *p.
 * Returns whether nothing follows them there: the last one is incomplete, or
 * ends with the data.
 */
bool skippable_pass(const uint8_t **p, size_t *len);

/*
 * Reads the skippable frames at the start of the stream and replaces them with
 * an empty one, so that codec_by_magic() sees the data after them.  If the
 * input ends inside a frame, its header is kept, with the number of missing
 * bytes as its length.  Frames that codec_by_magic() itself can skip are kept.
 * Returns 0 or -errno.
 */
int skippable_shorten(struct input *in);

/*
 * Returns the offset after the skippable frames that begin at `at` in the file
 * fd, or `at` itself if there are too many.
 */
uint64_t skippable_end(int fd, uint64_t at);

#endif
