/*
 * cutter.h - the input of a compressor, cut into blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks are of one size, or end where the content
 * says so (rsyncable): then a change in the input moves the cuts near it and
 * no others, and rsync(1) finds the rest of the output unchanged.
 */
#ifndef COLDPRESS_CUTTER_H
#define COLDPRESS_CUTTER_H

#include "format/carry.h"

struct cutter {
	size_t block;		/* the most bytes in a block */
	bool rsyncable;
	struct carry carry;
};

/*
 * The next block into s->in.  s->last is set for a block that the input ends
 * in; it may be empty, and only it may be short (unless rsyncable or the
 * input has a flush time).  0 or -errno.
 */
int cutter_fill(struct cutter *c, struct input *in, struct slot *s);
void cutter_close(struct cutter *c);

#endif
