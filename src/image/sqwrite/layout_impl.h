/*
 * layout_impl.h - declarations shared by the parts of the layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQWRITE_LAYOUT_IMPL_H
#define COLDPRESS_SQWRITE_LAYOUT_IMPL_H

#include "image/sqwrite/layout.h"

struct sqw_listing {
	uint64_t size;
	uint64_t indexed;		/* the index covers the listing up to
					 * there */
	uint64_t entries_B;		/* bytes of it without headers */
	uint32_t entries, dirs;		/* numbers of names, of directories */
};

/*
 * Writes the listing of a directory, whose entries' inodes have been written,
 * to l->listings; s is zeroed.  Fills in l->indices and, if it runs out of
 * memory, l->err.
 */
void sqw_put_listing(struct sqw_layout *l, size_t dir,
    struct sqw_listing *s);

/* Writes the inode of anything but a directory to l->inodes. */
void sqw_put_inode(struct sqw_layout *l, size_t node);

/* Writes the listing of a directory and its inode. */
void sqw_put_dir(struct sqw_layout *l, size_t node);

#endif
