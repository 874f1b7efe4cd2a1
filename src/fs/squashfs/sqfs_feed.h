/*
 * sqfs_feed.h - cutting files into blocks and fragment blocks, in order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The contents of a fragment block depend on all earlier files, so files are
 * read in order.
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
	size_t node;			/* the next one to begin */
	size_t open;			/* the current large file, or 0 */
	int fd;
	uint64_t offset;
	bool told;			/* an error in it has been reported */
	uint8_t *fragment;		/* the one being filled */
	size_t fragment_unit;		/* its number */
	uint32_t filled;
	int err;
};

/* One complete unit. */
struct sqfs_unit {
	uint8_t *data;			/* room for a block */
	uint32_t len;
	size_t number;
};

/*
 * For the files in t, with room in u for all units, which are counted.  0 or
 * -ENOMEM; must be closed in any case.
 */
int sqfs_feed_open(struct sqfs_feed *f, struct sqfs_units *u,
    struct sqfs_tree *t, const struct fs_job *job);
void sqfs_feed_close(struct sqfs_feed *f);

/*
 * The next unit; false at the end or with f->err.  It may exchange n's buffer.
 * Fills in the nodes' data.  Not thread-safe.
 */
bool sqfs_feed_next(struct sqfs_feed *f, struct sqfs_unit *n);

#endif
