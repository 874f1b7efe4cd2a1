/*
 * sqpack_read.h - declarations shared by listing, extraction and checking
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
	bool refused;			/* file.refused */
	uint8_t *wanted;		/* enum sq_want, by name */
};

/*
 * Opens the image p->o.source, reports all damage to it unless p->told, and
 * selects the names that match p->o.globs, or all names if there are no globs.
 * The image must be closed even after an error.  Returns 0, which includes
 * images with such damage, or -errno after reporting the error.
 */
int sqpack_image_open(struct sqpack_image *i, struct sqpack *p);
void sqpack_image_close(struct sqpack_image *i);

/*
 * Returns the path of a name, valid until the next call, or NULL after
 * reporting that there is not enough memory.
 */
const char *sqpack_image_path(struct sqpack_image *i, size_t number);

/* Names of compressor options, by bit or number. */
enum { SQPACK_STRATEGIES = 5, SQPACK_LZOS = 5 };
extern const char *const sqpack_strategies[SQPACK_STRATEGIES];
extern const char *const sqpack_lzos[SQPACK_LZOS];

/* Prints the description that precedes a long listing. */
void sqpack_print_facts(const struct sqpack_image *i);

#endif
