/*
 * sqpack_read.h - declarations shared by the tasks that read an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_READ_H
#define COLDPRESS_SQPACK_READ_H

#include "sqpack.h"

#include "base/listing.h"
#include "image/squashfs/read/extract.h"

#include <stdio.h>

/* An open image.  Only one thread may use its path buffer. */
struct sqpack_image {
	struct sqpack *p;
	struct sq_file file;
	const struct sq_image *m;	/* file.image */
	uint8_t *wanted;		/* enum sq_want, by name */
};

/*
 * Returns the path of a name, valid until the next call, or NULL after
 * reporting that there is not enough memory.
 */
const char *sqpack_image_path(struct sqpack_image *i, size_t number);

/* Names of compressor options, by bit or number. */
enum { SQPACK_STRATEGIES = 5, SQPACK_LZOS = 5 };
extern const char *const sqpack_strategies[SQPACK_STRATEGIES];
extern const char *const sqpack_lzos[SQPACK_LZOS];

#endif
