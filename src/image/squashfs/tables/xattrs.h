/*
 * xattrs.h - the extended attributes of an image, for its tables
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_TABLES_XATTRS_H
#define COLDPRESS_IMAGE_SQUASHFS_TABLES_XATTRS_H

#include "base/arena.h"
#include "image/squashfs/tables/image.h"
#include "image/squashfs/write/table.h"

#include <sqfs/xattr_writer.h>

/* Converts a libsquashfs error to -errno. */
int sqt_error(int rc);

/* A name, a value or a set of attributes. */
struct sqt_text {
	const char *data;
	size_t len;
	uint32_t number;		/* a set's index in the image; 0: a
					 * value that occurred; or NONE */
	uint64_t at;			/* position in the table of sets */
};

/* Different texts, numbered in the order in which they were added. */
struct sqt_texts {
	struct arena arena;
	struct sqt_text *items;
	size_t count, cap;
	uint32_t *slots;		/* hash table by text */
	size_t mask;
	uint64_t seed;
};

struct sqt_xattrs {
	sqfs_xattr_writer_t *writer;	/* NULL: as mksquashfs */
	/* if there is no writer */
	struct sqt_texts names, values;
	struct sqt_texts sets;		/* of struct pair */
	struct pair *pairs;		/* the current set */
	size_t pair_count, pair_cap;
	uint32_t *used;			/* sets, by index in the image */
	size_t used_count, used_cap;
	/* what was written: the table of entries, and the names (each with a
	 * NUL) and values of all sets */
	uint64_t table_B, text_B;
};

/*
 * Returns the index of a set in the image.  Sets are numbered as the inodes
 * that use them are written.
 */
uint32_t sqt_xattrs_number(struct sqt_xattrs *x, uint32_t set);

/*
 * Writes the tables if there is no writer.  `at` is the offset in the image, and
 * `unused` the value of a field without a meaning; *index is set to the offset
 * of the index, or to SQUASHFS_NO_TABLE.  Returns 0, -ENOMEM or -errno.
 */
int sqt_xattrs_write(struct sqt_xattrs *x, const struct sqw_table_ops *ops,
    uint64_t at, uint32_t unused, uint64_t *index);

#endif
