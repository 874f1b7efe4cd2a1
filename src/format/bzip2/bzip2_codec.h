/*
 * bzip2_codec.h - declarations shared by the files of the bzip2 codec
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Positions are in bits from the beginning of the input.
 */
#ifndef COLDPRESS_BZIP2_CODEC_H
#define COLDPRESS_BZIP2_CODEC_H

#include "engine/bzip2/bz2_block.h"
#include "format/codec.h"
#include "format/cutter.h"

enum {
	/* longer than any compressed block: 900,000 20-bit codes */
	BZIP2_PIECE_MAX = 5 << 19,
	BZIP2_READ = 128 << 10		/* bytes read at a time */
};

/* Decompressing bzip2; bits are counted from the beginning of the input. */
struct bunzip2_notes {
	int level;		/* fill: the stream's presumed level */
	uint64_t begin;		/* fill: the first bit of the piece, */
	uint64_t end;		/* and the bit after the last */
	bool ok;		/* work: `out` contains the block's content */
	uint32_t crc;		/* work: CRC of that content */
};
SLOT_NOTES(bunzip2_notes)

struct bzip2_reader {
	struct bz2_scan scan;
	struct carry carry;
	uint64_t carry_at;	/* position of the first bit of carry */
	uint64_t next;		/* start of the next piece */
	int guess;		/* level */
};

/*
 * Reads the next piece into s, presumed to be one block.  Returns 0 or -errno.
 */
int bzip2_scan(struct bzip2_reader *r, struct input *in, struct slot *s);

extern const struct coder bzip2_decoder;

#endif
