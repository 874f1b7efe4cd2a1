/*
 * rows.h - what a walk of an image reports of each file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_ROWS_H
#define COLDPRESS_IMAGE_ROWS_H

#include "ending.h"
#include "stream.h"
#include "tree.h"

#include <pthread.h>

struct image_rows {
	struct image *image;
	const struct walk_options *o;
	struct image_ending *ending;
	pthread_mutex_t lock;		/* of all that follows */
	struct walk_result *r;
	char *path, *other;		/* IMAGE_PATH_MAX bytes each */
};

/* Rows that are reported at once: if nobody else does, or if it is full. */
enum { IMAGE_BATCH_SOME = 32, IMAGE_BATCH = 256 };

/* Of one thread: outcomes, until there are enough of them. */
struct image_row_batch {
	struct image_rows *rows;
	size_t count;
	struct image_outcome out[IMAGE_BATCH];
};

/* 0 or -ENOMEM; to be closed in any case. */
int image_rows_open(struct image_rows *w, struct image *m,
    const struct walk_options *o, struct image_ending *e,
    struct walk_result *r);
void image_rows_close(struct image_rows *w);

/* Damage outside of files.  By the only thread there is. */
void image_rows_table(struct image_rows *w, uint64_t at, const char *reason);

/*
 * Marks what options->only leaves out, with rows for what is not there; rows
 * of all that has no data to be read.  By the only thread.  0, -ENOMEM or
 * -EIO of the digest.
 */
int image_rows_select(struct image_rows *w);
int image_rows_rest(struct image_rows *w);

/* All that follows is thread-safe, each batch being its thread's. */

/* Rows of all files with these data, now or later; all that are left. */
void image_rows_add(struct image_row_batch *t, const struct image_outcome *o);
void image_rows_flush(struct image_row_batch *t);

/* A bad block of the file and all that share its data. */
void image_rows_damage(struct image_rows *w, uint32_t file, uint64_t at,
    const char *reason);

/* So many bytes were read of the image. */
void image_rows_stored(struct image_rows *w, uint64_t bytes);

#endif
