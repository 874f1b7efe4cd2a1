/*
 * bzip2_codec.h - what the files of the bzip2 codec share
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Positions are in bits from the beginning of the input.
 */
#ifndef COLDPRESS_BZIP2_CODEC_H
#define COLDPRESS_BZIP2_CODEC_H

#include "engine/bzip2/bz2_block.h"
#include "format/carry.h"
#include "format/codec.h"

enum {
	/* no block is as long, compressed: 900,000 codes of 20 bits */
	BZIP2_PIECE_MAX = 5 << 19,
	BZIP2_READ = 128 << 10		/* at a time */
};

struct bzip2_reader {
	struct bz2_scan scan;
	struct carry carry;
	uint64_t carry_at;	/* the bit that carry's first byte begins at */
	uint64_t next;		/* where the next piece begins */
	int guess;		/* level */
};

/* The next piece into s, guessed to be one block.  0 or -errno. */
int bzip2_scan(struct bzip2_reader *r, struct input *in, struct slot *s);

extern const struct coder bzip2_decoder;

#endif
