/*
 * lib.h - the file and the compressor that libsquashfs calls
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_TABLES_LIB_H
#define COLDPRESS_IMAGE_SQUASHFS_TABLES_LIB_H

#include "base/arena.h"
#include "image/squashfs/tables/image.h"
#include "image/squashfs/write/table.h"

#include <sqfs/compressor.h>
#include <sqfs/io.h>
#include <sqfs/xattr_writer.h>

/* The image as a libsquashfs file; the library only appends to it. */
struct sqt_file {
	sqfs_file_t base;
	int fd;
	uint64_t end;
	int err;			/* the first error, as -errno */
};

void sqt_file_init(struct sqt_file *f, int fd, uint64_t end);

/* One of our codecs; if it is NULL, data is stored uncompressed. */
struct sqt_codec {
	sqfs_compressor_t base;
	struct sqw_codec *codec;
};

void sqt_codec_init(struct sqt_codec *c, struct sqw_codec *codec);

/* Converts a libsquashfs error to -errno; an error in f takes precedence. */
int sqt_error(int rc, const struct sqt_file *f);

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
};

/*
 * Returns the index of a set in the image.  Sets are numbered as the inodes
 * that use them are written.
 */
uint32_t sqt_xattrs_number(struct sqt_xattrs *x, uint32_t set);

/*
 * Writes the tables if there is no writer.  `at` is the offset in the image;
 * *index is set to the offset of the index, or to SQUASHFS_NO_TABLE.  Returns
 * 0, -ENOMEM or -errno.
 */
int sqt_xattrs_write(struct sqt_xattrs *x, const struct sqw_table_ops *ops,
    uint64_t at, uint64_t *index);

#endif
