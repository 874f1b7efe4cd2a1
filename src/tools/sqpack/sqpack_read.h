/*
 * sqpack_read.h - what listing, extracting and the like share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_READ_H
#define COLDPRESS_SQPACK_READ_H

#include "sqpack.h"

#include "base/utf8.h"
#include "image/squashfs/reader.h"

#include <stdio.h>

/* An image that is read.  Its path buffer is one thread's. */
struct sqpack_image {
	struct sqpack *p;
	int fd;
	uint64_t offset;		/* of the image in the file */
	struct sqr_image *m;
	bool refused;			/* Linux would not mount it */
	uint8_t *wanted;		/* enum sqpack_want of each name */
	char *path;
	size_t path_cap;
};

enum sqpack_want {
	SQPACK_OUT,
	SQPACK_ABOVE,			/* a directory above a wanted name */
	SQPACK_IN
};

/*
 * Opens the image p->o.source and chooses the names that p->o.globs match;
 * none of these: all.  What is wrong is said.  0 or -errno; to be closed in
 * any case.
 */
int sqpack_image_open(struct sqpack_image *i, struct sqpack *p);
void sqpack_image_close(struct sqpack_image *i);

/* The path of a name, until the next call; NULL, and it is said: no memory. */
const char *sqpack_image_path(struct sqpack_image *i, size_t number);

/*
 * The first bytes behind those that the image counts as used: how many there
 * are, at most size, or -errno.
 */
int sqpack_image_padding(const struct sqpack_image *i, char *padding,
    size_t size);

/* len bytes for a terminal or a list: controls as \ooo, \ as \\. */
void sqpack_print(FILE *f, const char *text, size_t len);

/* The lines in front of a long listing. */
void sqpack_print_facts(const struct sqpack_image *i);

/*
 * Whether a kernel mounts such an image: by its configuration in a file, by
 * its version, or (kernel NULL) the running one.  1, 0, or -1: not known; or
 * -errno of reading the file.  A clause in why.
 */
int sqpack_can_mount(const struct sqpack_image *i, const char *kernel,
    char *why, size_t size);

#endif
