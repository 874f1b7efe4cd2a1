/*
 * repack.h - recompressing the blocks of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_REPACK_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_REPACK_H

#include "image/squashfs/write/data.h"
#include "image/squashfs/read/reader.h"

struct sqw_old {
	uint64_t at;			/* offset in the old image */
	uint32_t word;			/* size word in the old image */
	uint32_t want;			/* unpacked size; 0: any */
	bool is_fragment;
	/* result: size word and offset in the new image */
	uint32_t size;
	uint64_t start;
};

struct sqw_repack {
	const struct sq_image *image;
	struct sqw_old *blocks;		/* in writing order */
	size_t count;
	/*
	 * The file that the image is in, if its blocks are copied, after they
	 * have been found intact; otherwise fd is -1.
	 */
	int fd;
	uint64_t offset;
	/* result: the first damaged block; why is NULL if there is none */
	uint64_t bad_at;
	const char *why;
};

/*
 * Recompresses all blocks with o->threads threads, and writes them to fd at its
 * current offset, `at` bytes into the new image.  Sets d->end and the counts in
 * d.  Returns 0, -EBADMSG with r->why set, or -errno.
 */
int sqw_repack(struct sqw_repack *r, struct sqw_data *d,
    const struct sqw_data_options *o, int fd, uint64_t at,
    struct progress *progress);

#endif
