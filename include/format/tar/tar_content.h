/*
 * tar_content.h - the content of a file in a tar archive, including holes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TAR_CONTENT_H
#define COLDPRESS_TAR_CONTENT_H

#include "format/tar/tar.h"

struct tar_content {
	struct tar *tar;
	const struct tar_entry *e;	/* the entry last returned by
					 * tar_next() */
	uint64_t at;			/* offset of the next byte to read */
	size_t extent;
};

/* Returns the number of bytes left in a hole at the current position, or 0. */
uint64_t tar_content_hole(struct tar_content *c);

/*
 * Reads the next len bytes of the file, all of which must exist; holes are read
 * as zeros.  Returns 0, -ENODATA (the archive is truncated) or -errno as
 * tar_read() does.
 */
int tar_content_read(struct tar_content *c, void *buf, size_t len);

/* Skips bytes of a hole. */
void tar_content_skip(struct tar_content *c, uint64_t len);

#endif
