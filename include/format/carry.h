/*
 * carry.h - holding input back until the cut point is known
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is used by the readers of all decoders.  A piece grows with each read
 * until its end is found; excess data begins the next piece.
 */
#ifndef COLDPRESS_CARRY_H
#define COLDPRESS_CARRY_H

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

#endif
