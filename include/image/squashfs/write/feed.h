/*
 * feed.h - cutting files into the units of an image, in order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_FEED_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_FEED_H

#include "image/squashfs/write/twins.h"

#include <sys/stat.h>

/* A fragment block being filled. */
struct sqw_filling {
	uint8_t *data;
	uint32_t filled, unit;
};

enum { SQW_FILLING = 2 };

struct sqw_feed {
	const struct sqw_source *source;
	const struct sqw_data_options *o;
	struct sqw_data *d;
	struct sqw_twins twins;
	/* the current large file */
	bool open;
	struct sqw_file file;
	uint64_t left;			/* bytes of the file left to output */
	uint32_t tail;			/* its last bytes, if they are stored in
					 * a fragment block; or 0 */
	bool placed;			/* they have been, before its blocks */
	XXH128_hash_t first;		/* hash of its first block, if it was
					 * read ahead */
	bool hashing;			/* hash the content, and record the
					 * hash at the end of the file */
	int spool;			/* temporary file with the data, if the
					 * source cannot be read again; or -1 */
	uint64_t spool_at;
	struct stat spool_st;
	/* for small files, and for tails */
	struct sqw_filling filling[SQW_FILLING];
	uint8_t *tails_seen;		/* set of the lengths of fragments */
	struct sqw_file zeros;		/* the last small file of zeros that
					 * shares nothing; size 0: none */
	bool ended;
};

/* A block, a fragment block, or the blocks of a hole. */
struct sqw_feed_unit {
	uint8_t *data;			/* buffer of sqw_pack_room() bytes */
	uint32_t len;			/* 0: a hole */
	uint32_t number;		/* number of the first block */
	uint32_t count;			/* 1; for a hole, the number of
					 * blocks */
	bool is_fragment;
	bool raw;			/* not to be compressed */
};

/* Returns 0 or -ENOMEM; f must be closed even on failure. */
int sqw_feed_open(struct sqw_feed *f, const struct sqw_source *source,
    const struct sqw_data_options *o, struct sqw_data *d);
void sqw_feed_close(struct sqw_feed *f);

/*
 * Produces the next unit.  Returns 1, 0 at the end, or -errno.  May replace the
 * buffer of u with another.
 */
int sqw_feed_next(struct sqw_feed *f, struct sqw_feed_unit *u);

#endif
