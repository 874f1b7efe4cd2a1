/*
 * feed.h - cutting files into the units of an image, in order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_FEED_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_FEED_H

#include "image/squashfs/write/content.h"
#include "image/squashfs/write/twins.h"

#include <sys/stat.h>

struct feed {
	const struct sqb_source *source;
	const struct sqb_data_options *o;
	struct sqb_data *d;
	struct twins twins;
	/* the current large file */
	bool open;
	struct sqb_file file;
	uint64_t left;			/* bytes of the file left to output */
	struct content content;
	bool hashing;			/* hash the content, and record the
					 * hash at the end of the file */
	int spool;			/* temporary file with the data, if the
					 * source cannot be read again; or -1 */
	uint64_t spool_at;
	struct stat spool_st;
	/* the fragment block being filled */
	uint8_t *fragment;
	uint32_t filled, fragment_unit;
	bool ended;
};

/* A block, a fragment block, or the blocks of a hole. */
struct feed_unit {
	uint8_t *data;			/* buffer of feed_room() bytes */
	uint32_t len;			/* 0: a hole */
	uint32_t number;		/* number of the first block */
	uint32_t count;			/* 1; for a hole, the number of
					 * blocks */
	bool is_fragment;
};

/*
 * Returns the size of a unit buffer, which has room for a block or its
 * compressed form.
 */
size_t feed_room(const struct sqb_data_options *o);

/* Returns 0 or -ENOMEM; f must be closed even on failure. */
int feed_open(struct feed *f, const struct sqb_source *source,
    const struct sqb_data_options *o, struct sqb_data *d);
void feed_close(struct feed *f);

/*
 * Produces the next unit.  Returns 1, 0 at the end, or -errno.  May replace the
 * buffer of u with another.
 */
int feed_next(struct feed *f, struct feed_unit *u);

#endif
