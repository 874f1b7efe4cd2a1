/*
 * stream.h - files, whose pieces are hashed in their order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_STREAM_H
#define COLDPRESS_IMAGE_STREAM_H

#include "buffers.h"

/*
 * A file in hashing, by whoever is at hand.  While it is busy it belongs to
 * the thread that has it; else all is under the lock of its streams.
 */
struct image_stream {
	uint32_t file;			/* index */
	uint32_t next;			/* block, or blocks for the tail */
	bool busy;			/* in somebody's hands, or queued */
	bool ended;			/* its tail has been passed */
	unsigned owner;			/* thread, in whose list it stands */
	int err;
	int64_t first_ns;
	struct digest *digest;
	struct image_buffer *ready;	/* pieces that wait, by block */
	struct image_buffer *tail;	/* the fragment block that has it */
	struct image_stream *queued;	/* next in the list, or of the spare */
	struct image_stream *next_of_all;

	struct image_buffer *buf;	/* the piece in hand; NULL: a hole */
	const uint8_t *data;
	size_t left;
};

/* Streams that have a piece to be hashed. */
struct image_ready {
	struct image_stream *first;
	unsigned len;
};

/* What became of a file's data. */
struct image_outcome {
	uint32_t file;
	int err;
	int64_t first_ns;
	uint8_t digest[DIGEST_MAX];
};

/* By the thread that hashed the file's last piece. */
typedef void image_finished_fn(void *arg, const struct image_outcome *o);

struct image_streams {
	struct image *image;
	struct image_buffers *buffers;
	struct image_ending *ending;
	const struct walk_options *o;	/* threads, digest, progress */
	uint8_t *zeros;			/* a block of them */
	pthread_mutex_t lock;		/* of all that follows */
	struct image_stream *all;
	struct image_stream *spare;	/* whose files have ended */
	struct image_ready *ready;	/* of each thread */
};

/* 0 or -ENOMEM; to be closed in any case. */
int image_streams_open(struct image_streams *s, struct image *m,
    struct image_buffers *b, struct image_ending *e,
    const struct walk_options *o);
void image_streams_close(struct image_streams *s);

/*
 * All calls that follow are thread-safe.  Thread me gives b, with one use of
 * it for each, to the files that it is for: block k of one file; or the tails
 * that are in a fragment block.  image_streams_give_holes(): the whole file is
 * holes.
 */
void image_streams_give(struct image_streams *s, unsigned me, uint32_t file,
    uint32_t k, struct image_buffer *b, int64_t first_ns);
void image_streams_give_tails(struct image_streams *s, unsigned me,
    const uint32_t *files, size_t count, struct image_buffer *b,
    int64_t first_ns);
void image_streams_give_holes(struct image_streams *s, unsigned me,
    uint32_t file);

/*
 * Hashes some of what me's files have been given, if there are as many as are
 * best hashed together; or, with all, anybody's.  Whether it did.
 */
bool image_streams_hash(struct image_streams *s, unsigned me, bool all,
    image_finished_fn *finished, void *arg);

#endif
