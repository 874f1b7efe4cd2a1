/*
 * tar_content.h - the content of a file in a tar archive, holes included
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TAR_CONTENT_H
#define COLDPRESS_TAR_CONTENT_H

#include "format/tar/tar.h"

struct tar_content {
	struct tar *tar;
	const struct tar_entry *e;	/* the last of tar_next() */
	uint64_t at;			/* the next byte to read */
	size_t extent;
};

/* Returns the bytes of the hole at the current position; 0: there is none. */
uint64_t tar_content_hole(struct tar_content *c);

/*
 * Reads the next len bytes of the file, which has as many; a hole is zeros.
 * Returns 0, -ENODATA (the archive is truncated) or -errno as tar_read().
 */
int tar_content_read(struct tar_content *c, void *buf, size_t len);

/* Skips bytes of a hole. */
void tar_content_skip(struct tar_content *c, uint64_t len);

#endif
