/*
 * layout_impl.h - declarations shared by the parts of the layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_LAYOUT_IMPL_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_LAYOUT_IMPL_H

#include "image/squashfs/write/layout.h"

struct sqw_listing {
	uint64_t size;
	uint64_t indexed;		/* end of the part with an index */
	uint64_t entries_B;		/* listing bytes, excluding headers */
	uint32_t entries, dirs;		/* numbers of names and directories */
};

/*
 * Writes the listing of a directory to l->listings; the inodes of its entries
 * must have been written, and s must be zeroed.  Fills in l->indices and, if it
 * runs out of memory, l->err.
 */
void sqw_put_listing(struct sqw_layout *l, size_t dir,
    struct sqw_listing *s);

/* Writes the inode of a node that is not a directory to l->inodes. */
void sqw_put_inode(struct sqw_layout *l, size_t node);

/* Writes a directory's listing and inode. */
void sqw_put_dir(struct sqw_layout *l, size_t node);

#endif
