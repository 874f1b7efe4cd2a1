/*
 * rows.h - the row that a walk of an image reports for each file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_ROWS_H
#define COLDPRESS_IMAGE_ROWS_H

#include "stream.h"

struct image_rows {
	struct image *image;
	const struct walk_options *o;
	struct image_ending *ending;
	pthread_mutex_t lock;		/* protects everything below */
	struct walk_result *r;
	char *path, *other;		/* IMAGE_PATH_MAX bytes each */
};

/*
 * A batch of the first size is reported if no other thread is reporting; a
 * batch of the second size is always reported.
 */
enum { IMAGE_BATCH_SOME = 32, IMAGE_BATCH = 256 };

/* The results of one thread, collected until there are enough to report. */
struct image_row_batch {
	struct image_rows *rows;
	size_t count;
	struct image_outcome out[IMAGE_BATCH];
};

/* Returns 0 or -ENOMEM; must be closed even on failure. */
int image_rows_open(struct image_rows *w, struct image *m,
    const struct walk_options *o, struct image_ending *e,
    struct walk_result *r);
void image_rows_close(struct image_rows *w);

/*
 * Reports damage outside files; to be called only while there is a single
 * thread.  Returns 0, or the error that has ended the walk.
 */
int image_rows_table(void *rows, uint64_t at, const char *reason);

/*
 * The first marks the files that options->only excludes, and reports missing
 * names; the second reports all files that have no data to read.  To be called
 * only while there is a single thread.  They return 0, -ENOMEM or -EIO (from
 * the digest).
 */
int image_rows_select(struct image_rows *w);
int image_rows_rest(struct image_rows *w);

/* All calls below are thread-safe; each batch belongs to one thread. */

/*
 * The first adds the rows of all files with this data, which may be reported
 * later; the second reports all remaining rows.
 */
void image_rows_add(void *batch, const struct image_outcome *o);
void image_rows_flush(struct image_row_batch *t);

/* Reports a bad block for the file and for all files that share its data. */
void image_rows_damage(struct image_rows *w, uint32_t file, uint64_t at,
    const char *reason);

/* Counts bytes read from the image. */
void image_rows_stored(struct image_rows *w, uint64_t bytes);

#endif
