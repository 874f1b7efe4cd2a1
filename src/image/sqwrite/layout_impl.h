/*
 * layout_impl.h - what the parts of the layout share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQWRITE_LAYOUT_IMPL_H
#define COLDPRESS_SQWRITE_LAYOUT_IMPL_H

#include "image/sqwrite/layout.h"

struct sqw_listing {
	uint64_t size;
	uint64_t indexed;		/* up to there */
	uint32_t dirs;			/* in it */
};

/*
 * What is in a directory, whose inodes are there already, to l->listings; s
 * is zeros.  Fills l->indices and, if it runs out of memory, l->err.
 */
void sqw_put_listing(struct sqw_layout *l, size_t dir,
    struct sqw_listing *s);

/* The inode of anything but a directory, to l->inodes. */
void sqw_put_inode(struct sqw_layout *l, size_t node);

/* The listing of a directory and its inode. */
void sqw_put_dir(struct sqw_layout *l, size_t node);

#endif
