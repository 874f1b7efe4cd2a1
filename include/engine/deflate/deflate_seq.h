/*
 * deflate_seq.h - the output of a match finder
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_DEFLATE_SEQ_H
#define COLDPRESS_DEFLATE_SEQ_H

#include <stdint.h>

/*
 * `literals` bytes copied from the input, then a match of `length` bytes,
 * `distance` bytes back.  A length of 0 means no match, and occurs only at the
 * end of a segment.  Lengths are 3 to 258, distances 1 to 32,768.
 */
struct deflate_seq {
	uint32_t literals;
	uint16_t length;
	uint16_t distance;
};

#endif
