/*
 * sqfs_source.h - the listed files as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQFS_SOURCE_H
#define COLDPRESS_SQFS_SOURCE_H

#include "image/squashfs/write/data.h"
#include "sqfs.h"

struct sqfs_source {
	const struct fs_job *job;
	const struct sqfs_tree *tree;
	bool as_sqpack;
	size_t next;			/* node */
	const struct fs_item *item;	/* the current file */
	int fd;
	uint64_t offset, ticked;
	bool told;			/* its error has been reported */
};

/* Opens the source, which must be closed. */
void sqfs_source_open(struct sqfs_source *s, const struct sqfs_tree *t,
    const struct fs_job *job, bool as_sqpack);
void sqfs_source_close(struct sqfs_source *s);

/*
 * Returns the interface through which a feed gets its files, one thread at a
 * time.
 */
struct sqw_source sqfs_source_files(struct sqfs_source *s);

#endif
