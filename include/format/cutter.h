/*
 * cutter.h - cutting a compressor's input into blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks have a fixed size, or end at boundaries chosen by content (rsyncable),
 * in which case a change in the input moves only nearby boundaries, so that
 * rsync(1) finds the rest of the output unchanged.
 */
#ifndef COLDPRESS_CUTTER_H
#define COLDPRESS_CUTTER_H

#include "format/carry.h"

struct cutter {
	size_t block;		/* maximum bytes in a block */
	bool rsyncable;
	struct carry carry;
};

/*
 * Reads the next block into s->in.  s->last is set for the last block, which
 * may be empty.  Only the last block may be short, unless rsyncable is set or
 * the input has a flush time.  Returns 0 or -errno.
 */
int cutter_fill(struct cutter *c, struct input *in, struct slot *s);
void cutter_close(struct cutter *c);

#endif
