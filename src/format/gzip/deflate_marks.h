/*
 * deflate_marks.h - telling where the members and blocks of a stream begin
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which blocks are told of depends only on the file.  A worker does not know
 * how much data is before its piece, so it notes every place, and the joiner
 * chooses once it has accepted the piece.  Where the joiner decodes, it has the
 * inflater stop where a block is due.
 */
#ifndef COLDPRESS_DEFLATE_MARKS_H
#define COLDPRESS_DEFLATE_MARKS_H

#include "deflate_scan.h"
#include "format/codec.h"

struct deflate_marks {
	const struct codec_marks *to;	/* NULL: no one is told */
	uint64_t due;			/* bytes of data before the next block
					 * that is told of */
};

enum deflate_place { PLACE_BLOCK, PLACE_BEGIN, PLACE_END };

/*
 * Notes a place in s: a bit of s->in, and how many bytes of the output are
 * before it.  Of blocks that have the same, only the first is noted, and none
 * before the output.  The places follow the piece in s->in.  Called by the
 * worker.  Returns 0 or -ENOMEM.
 */
int deflate_marks_note(struct slot *s, enum deflate_place place, uint64_t bit,
    size_t out);

/*
 * Returns whether there are too many places in s: the worker must end before
 * the next block.  This bounds the memory that tiny blocks take.
 */
bool deflate_marks_full(struct slot *s);

/*
 * Tells of the places noted in s, whose input begins at byte `at` of the file,
 * and whose output has `plain` bytes before it.  Called by the joiner, as are
 * the functions below.  Each returns 0 or -errno.
 */
int deflate_marks_noted(struct deflate_marks *m, struct slot *s, uint64_t at,
    uint64_t plain);

int deflate_marks_begin(struct deflate_marks *m, uint64_t at, uint64_t plain);
int deflate_marks_block(struct deflate_marks *m, uint64_t bit,
    uint64_t plain);
int deflate_marks_end(struct deflate_marks *m, uint64_t at, uint64_t plain);

/*
 * Returns after how many more bytes than `plain` a block is due, for
 * inflater_stop_after().
 */
size_t deflate_marks_left(const struct deflate_marks *m, uint64_t plain);

#endif
