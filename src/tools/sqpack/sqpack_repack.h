/*
 * sqpack_repack.h - what the parts of a squashfs image as a source share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_REPACK_H
#define COLDPRESS_SQPACK_REPACK_H

#include "sqpack_read.h"

#include "image/sqbuild/repack.h"

struct repack {
	struct sqpack *p;
	struct sqpack_image i;
	uint32_t *ids;			/* of each number */
	struct sqb_old *old;		/* blocks, in order, each once */
	size_t count, cap;
	size_t units;
};

/*
 * Says why the image is refused: path is the name at fault, or "".  Returns
 * -EBADMSG.
 */
int repack_refuse(struct repack *r, const char *path, const char *why);

/* Says that there is no memory.  Returns -ENOMEM. */
int repack_no_memory(struct repack *r);

/* Fills r->old, and r->units.  0, or -errno, and it is said. */
int repack_list(struct repack *r);

/* Says to p->data where the new blocks are.  0, or -errno, and it is said. */
int repack_give(struct repack *r);

#endif
