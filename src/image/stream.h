/*
 * stream.h - hashing the pieces of each file in order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_STREAM_H
#define COLDPRESS_IMAGE_STREAM_H

#include "buffers.h"

/*
 * A file being hashed, by any thread.  While busy is set, it belongs to one
 * thread; otherwise it is protected by the streams' lock.
 */
struct image_stream {
	uint32_t file;			/* index */
	uint32_t next;			/* block, or number of blocks for the
					 * tail */
	bool busy;			/* in use by a thread, or queued */
	bool ended;			/* its tail has been hashed */
	unsigned owner;			/* thread that has it on its list */
	int err;
	int64_t first_ns;
	struct digest *digest;
	struct image_buffer *ready;	/* waiting pieces, by block */
	struct image_buffer *tail;	/* the fragment block containing it */
	struct image_stream *queued;	/* next on the list, or next spare
					 * stream */
	struct image_stream *next_of_all;

	struct image_buffer *buf;	/* the current piece; NULL: a hole */
	const uint8_t *data;
	size_t left;
};

/* Streams that have a piece to hash. */
struct image_ready {
	struct image_stream *first;
	unsigned len;
};

/* The result of reading a file's data. */
struct image_outcome {
	uint32_t file;
	int err;
	int64_t first_ns;
	uint8_t digest[DIGEST_MAX];
};

/* Called by the thread that hashed the file's last piece. */
typedef void image_finished_fn(void *arg, const struct image_outcome *o);

struct image_streams {
	struct image *image;
	struct image_buffers *buffers;
	struct image_ending *ending;
	const struct walk_options *o;	/* threads, digest, progress */
	uint8_t *zeros;			/* a block of zeros */
	pthread_mutex_t lock;		/* protects everything below */
	struct image_stream *all;
	struct image_stream *spare;	/* streams whose files have ended */
	struct image_ready *ready;	/* one per thread */
};

/* Returns 0 or -ENOMEM; must be closed even on failure. */
int image_streams_open(struct image_streams *s, struct image *m,
    struct image_buffers *b, struct image_ending *e,
    const struct walk_options *o);
void image_streams_close(struct image_streams *s);

/*
 * All calls below are thread-safe.  Thread me passes b, with one user per file,
 * to the files that it belongs to: block k of one file, or the tails in a
 * fragment block.  b is NULL for a file that consists of holes.
 */
void image_streams_give(struct image_streams *s, unsigned me, uint32_t file,
    uint32_t k, struct image_buffer *b, int64_t first_ns);
void image_streams_give_tails(struct image_streams *s, unsigned me,
    const uint32_t *files, size_t count, struct image_buffer *b,
    int64_t first_ns);

/*
 * Hashes some pieces of thread me's files if enough are waiting to be hashed
 * together or, if all is set, any pieces of any thread's files.  Returns
 * whether any piece was hashed.
 */
bool image_streams_hash(struct image_streams *s, unsigned me, bool all,
    image_finished_fn *finished, void *arg);

#endif
