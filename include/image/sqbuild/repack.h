/*
 * repack.h - the blocks of a squashfs image, compressed anew
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQBUILD_REPACK_H
#define COLDPRESS_SQBUILD_REPACK_H

#include "image/sqbuild/data.h"
#include "image/squashfs/reader.h"

struct sqb_old {
	uint64_t at;			/* in the image that is read */
	uint32_t word;			/* its size there */
	uint32_t want;			/* bytes unpacked; 0: any number */
	bool is_fragment;
	/* made: size word and place in the image that is written */
	uint32_t size;
	uint64_t start;
};

struct sqb_repack {
	const struct sqr_image *image;
	struct sqb_old *blocks;		/* in the order to be written */
	size_t count;
	/* made: the first damaged block; why is NULL: there was none */
	uint64_t bad_at;
	const char *why;
};

/*
 * Unpacks and packs all blocks with o->threads, and writes them to fd, where
 * it stands, `at` bytes into the new image.  Sets d->end and d's counts.  0,
 * -EBADMSG (r->why), or -errno.
 */
int sqb_repack(struct sqb_repack *r, struct sqb_data *d,
    const struct sqb_data_options *o, int fd, uint64_t at,
    struct progress *progress);

#endif
