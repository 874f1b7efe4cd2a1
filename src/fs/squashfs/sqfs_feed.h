/*
 * sqfs_feed.h - the blocks and fragment blocks of a squashfs image, in order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What goes into a fragment block hangs on all files
 * before it, so files are read in order.
 */
#ifndef COLDPRESS_SQFS_FEED_H
#define COLDPRESS_SQFS_FEED_H

#include "sqfs_twins.h"

struct sqfs_feed {
	const struct fs_job *job;
	struct sqfs_tree *tree;
	struct sqfs_units *units;
	uint32_t block;
	struct sqfs_twins twins;
	size_t node;			/* the next to be begun */
	size_t open;			/* the large one in hand, or 0 */
	int fd;
	uint64_t offset;
	bool told;			/* of trouble with it */
	uint8_t *fragment;		/* that is being filled */
	size_t fragment_unit;		/* its number */
	uint32_t filled;
	int err;
};

/* One of them, whole. */
struct sqfs_unit {
	uint8_t *data;			/* a block's room */
	uint32_t len;
	size_t number;
};

/*
 * Of the files in t, with room in u for all units, which are counted.  0 or
 * -ENOMEM; to be closed in any case.
 */
int sqfs_feed_open(struct sqfs_feed *f, struct sqfs_units *u,
    struct sqfs_tree *t, const struct fs_job *job);
void sqfs_feed_close(struct sqfs_feed *f);

/*
 * The next unit; false at the end or with f->err.  It may give n another
 * buffer.  Fills the nodes' data.  Not thread-safe: one at a time.
 */
bool sqfs_feed_next(struct sqfs_feed *f, struct sqfs_unit *n);

#endif
