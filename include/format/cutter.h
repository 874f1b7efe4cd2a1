/*
 * cutter.h - cutting the input into pieces
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The readers of all decoders hold back input until the cut point is known: a
 * piece grows with each read until its end is found, and excess data begins the
 * next piece.
 *
 * The readers of compressors cut blocks.  These have a fixed size, or end at
 * boundaries chosen by content (rsyncable), in which case a change in the input
 * moves only nearby boundaries, so that rsync(1) finds the rest of the output
 * unchanged.
 */
#ifndef COLDPRESS_CUTTER_H
#define COLDPRESS_CUTTER_H

#include "pipeline/pipeline.h"

enum { CARRY_SPARE = 16 };	/* spare bytes after the data in s->in */

struct carry {
	struct buf rest;
};

/* Starts a piece with the carried data.  Returns 0 or -ENOMEM. */
int carry_begin(struct carry *c, struct slot *s);

/*
 * Reads up to len more bytes.  Returns the number read, 0 at the end, or
 * -errno.
 */
ssize_t carry_more(struct input *in, struct slot *s, size_t len);

/*
 * Ends the piece at len.  The next piece begins at offset `from`, which is len,
 * or less if the two pieces share a byte.  Returns 0 or -ENOMEM.
 */
int carry_cut(struct carry *c, struct slot *s, size_t len, size_t from);

void carry_close(struct carry *c);

struct cutter {
	size_t block;		/* maximum bytes in a block */
	bool rsyncable;
	struct carry carry;
};

/*
 * Reads the next block into s->in.  s->last is set for the last block, which
 * may be empty.  Only the last block may be short, unless rsyncable is set or
 * the input has a flush time.  job is a struct cutter, or begins with one:
 * this implements pipeline_ops.fill.  Returns 0 or -errno.
 */
int cutter_fill(void *job, struct input *in, struct slot *s);
void cutter_close(struct cutter *c);

/*
 * Skips the next block if all of it is in a hole of the input; not if
 * boundaries are chosen by content.  s->in then has a length but no data.
 * Returns 1 if it did, 0, or -errno.
 */
int cutter_hole(struct cutter *c, struct input *in, struct slot *s);

/*
 * What a worker makes of such a block, to be made only once.  Zeroed at first;
 * cutter_zeros_free() frees it.
 */
struct cutter_zeros {
	struct buf packed;
	size_t len;		/* bytes in the block */
	int level;
	uint32_t check;		/* the format's */
};

/*
 * Copies to s->out what was made of a block of this length at this level;
 * otherwise puts the block's data into s->in.  Returns 1, 0 or -ENOMEM.
 */
int cutter_zeros_get(const struct cutter_zeros *z, struct slot *s, int level);

/* Keeps what is in s->out.  Returns 0 or -ENOMEM. */
int cutter_zeros_keep(struct cutter_zeros *z, const struct slot *s, int level);
void cutter_zeros_free(struct cutter_zeros *z);

/* Zeros to compute the checksum of a hole with. */
enum { CUTTER_ZERO = 64 << 10 };
extern const uint8_t cutter_zero[CUTTER_ZERO];

#endif
