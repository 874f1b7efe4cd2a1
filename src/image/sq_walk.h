/*
 * sq_walk.h - the walk of an image, between its files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * sq_walk.c has the threads and their units, sq_stream.c the files of several
 * pieces, sq_rows.c what is told of them.
 */
#ifndef COLDPRESS_SQ_WALK_H
#define COLDPRESS_SQ_WALK_H

#include "squashfs.h"
#include "walk.h"

#include <pthread.h>

enum { SQ_PATH_MAX = 64 << 10 };

/* An unpacked block, until nobody has use for it. */
struct sq_buf {
	uint8_t *data;
	size_t len;
	int err;			/* -errno: it is lost */
	unsigned users;			/* under the pool's lock */
	uint32_t block;			/* of the stream it waits in */
	struct sq_buf *next;
};

/* A file whose pieces are hashed in their order, by whoever is at hand. */
struct sq_stream {
	uint32_t file;			/* index, 0 before its first piece */
	uint32_t next;			/* block, or blocks for the tail */
	bool busy;			/* somebody is hashing, and has err */
	bool ended;			/* its tail has been passed */
	int err;
	int64_t first_ns;
	struct digest *digest;
	struct sq_buf *ready;		/* pieces that wait, by block */
	struct sq_buf *tail;		/* the fragment block that has it */
};

struct sq_pool {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct sq_buf *all, *free;
	unsigned count;
};

struct sq_walk {
	struct sq_image *image;
	struct sq_plan plan;
	const struct walk_options *o;
	struct walk_result *r;		/* under lock */
	struct sq_pool pool;
	struct sq_stream *streams;
	uint8_t *zeros;			/* a block of them */
	atomic_size_t ticket;		/* next unit */
	atomic_ullong advised;		/* read ahead up to there */
	atomic_int err;			/* that ends the walk */

	pthread_mutex_t streams_lock;
	struct digest **spare;		/* digests at rest */
	size_t spare_count;

	pthread_mutex_t lock;		/* of the callbacks */
	char *path, *other;		/* SQ_PATH_MAX bytes each */
};

/* What became of a file's data. */
struct sq_outcome {
	uint32_t file;
	int err;
	int64_t first_ns;
	uint8_t digest[DIGEST_MAX];
};

/* The first error stays. */
void sq_fail(struct sq_walk *w, int err);
bool sq_ended(struct sq_walk *w);

void sq_buf_use(struct sq_walk *w, struct sq_buf *b);
void sq_buf_done(struct sq_walk *w, struct sq_buf *b);

/*
 * Gives a use of b, which is block k of a file, to its stream; or, with
 * SQ_UNIT_FRAGMENT for k, has its tail, or is lost.  SQ_UNIT_HOLES: b is NULL.
 */
void sq_stream_give(struct sq_walk *w, uint32_t file, uint32_t k,
    struct sq_buf *b, int64_t first_ns);

/* Marks what options->only leaves out, with rows for what is not there. */
int sq_rows_select(struct sq_walk *w);

/* Rows of all that has no data to be read. */
int sq_rows_rest(struct sq_walk *w);

/* Rows of all files with these data. */
void sq_rows_tell(struct sq_walk *w, const struct sq_outcome *o,
    size_t count);

/* A bad block of f and all that share its data. */
void sq_rows_damage(struct sq_walk *w, uint32_t file, uint64_t at,
    const char *reason);

#endif
