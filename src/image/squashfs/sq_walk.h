/*
 * sq_walk.h - the walk of an image, between its files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * sq_walk.c has the threads, sq_deal.c deals the units to them, sq_ahead.c
 * asks the kernel for those to come, sq_buf.c has the blocks in memory,
 * sq_stream.c hashes the files, sq_rows.c tells of them.
 *
 * What one thread unpacks and another hashes has to go from one processor's
 * cache to another's, which costs a quarter of hashing and unpacking.  So each
 * has files, buffers and a queue of its own, and takes from others when it
 * has nothing left.
 */
#ifndef COLDPRESS_SQ_WALK_H
#define COLDPRESS_SQ_WALK_H

#include "squashfs.h"
#include "walk/walk.h"

#include <pthread.h>

enum { SQ_PATH_MAX = 64 << 10 };

/* An unpacked block, until nobody has use for it. */
struct sq_buf {
	uint8_t *data;
	size_t len;
	int err;			/* -errno: it is lost */
	atomic_uint users;
	uint32_t block;			/* of the stream it waits in */
	unsigned owner;			/* thread */
	struct sq_buf *next;
};

struct sq_pool {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	uint8_t *memory;		/* of all */
	struct sq_buf *all;
	struct sq_buf **free;		/* of each owner */
	unsigned count;
	atomic_uint left;		/* free ones of all */
};

/* Where a thread's units come from: an item, from next on. */
struct sq_lane {
	size_t next, end;		/* units */
	size_t advised;			/* those that are read ahead */
};

struct sq_deal {
	pthread_mutex_t lock;
	struct sq_lane *lanes;		/* each thread has some of them */
	unsigned each;
	unsigned *turn;			/* of each thread */
	size_t next;			/* item */
	size_t advised;			/* items whose beginnings are ahead */
	size_t ahead;			/* units of these */
};

/*
 * A file, whose pieces are hashed in their order by whoever is at hand.  While
 * it is busy it is his; else all is under streams_lock.
 */
struct sq_stream {
	uint32_t file;			/* index */
	uint32_t next;			/* block, or blocks for the tail */
	bool busy;			/* in somebody's hands, or queued */
	bool ended;			/* its tail has been passed */
	unsigned owner;			/* thread, in whose queue it stands */
	int err;
	int64_t first_ns;
	struct digest *digest;
	struct sq_buf *ready;		/* pieces that wait, by block */
	struct sq_buf *tail;		/* the fragment block that has it */
	struct sq_stream *queued;	/* next in the queue, or of the spare */
	struct sq_stream *next_of_all;

	struct sq_buf *buf;		/* the piece in hand; NULL: a hole */
	const uint8_t *data;
	size_t left;
};

/* Streams that have a piece to be hashed. */
struct sq_queue {
	struct sq_stream *first;
	unsigned len;
};

struct sq_walk {
	struct sq_image *image;
	struct sq_plan plan;
	const struct walk_options *o;
	struct walk_result *r;		/* under lock */
	struct sq_pool pool;
	uint8_t *zeros;			/* a block of them */
	struct sq_deal deal;
	atomic_int err;			/* that ends the walk */

	pthread_mutex_t streams_lock;
	struct sq_stream *streams;	/* all that there are */
	struct sq_stream *spare;	/* whose files have ended */
	struct sq_queue *queues;	/* of each thread */

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

enum { SQ_TELL_SOME = 32, SQ_TELL = 256 };	/* rows told at once */

/* A thread: which, and its outcomes until there are enough to be told. */
struct sq_teller {
	struct sq_walk *w;
	unsigned me;
	size_t count;
	struct sq_outcome out[SQ_TELL];
};

/* The first error stays. */
void sq_fail(struct sq_walk *w, int err);
bool sq_ended(struct sq_walk *w);

/* How many threads have buffers in the memory there is: most, or fewer. */
unsigned sq_pool_threads(const struct sq_super *s, unsigned most);

/* So many blocks as some memory holds; 0 or -ENOMEM. */
int sq_pool_open(struct sq_pool *p, size_t block, unsigned threads);
void sq_pool_close(struct sq_pool *p);

/* One for thread me, with one user; NULL if there is none left. */
struct sq_buf *sq_buf_take(struct sq_walk *w, unsigned me);

/* Waits for one; NULL once the walk has ended. */
struct sq_buf *sq_buf_wait(struct sq_walk *w, unsigned me);

/* Whether it is time to give some back. */
bool sq_buf_few(struct sq_walk *w);
void sq_buf_use(struct sq_buf *b, unsigned times);
void sq_buf_done(struct sq_walk *w, struct sq_buf *b);

/* For those that wait, when somebody leaves. */
void sq_buf_wake(struct sq_walk *w);

/*
 * A unit for thread me, who has a buffer for it; NULL: there is no more.
 * alone: no other file is in any lane, or will be.
 */
const struct sq_unit *sq_deal_take(struct sq_walk *w, unsigned me,
    bool *alone);
int sq_deal_open(struct sq_walk *w);
void sq_deal_close(struct sq_walk *w);

/* So many units of an item are read ahead before it begins. */
size_t sq_deal_beginning(const struct sq_walk *w, const struct sq_item *item);

/* Asks the kernel for units, or for the beginnings of items. */
void sq_ahead_units(struct sq_walk *w, size_t from, size_t to);
void sq_ahead_items(struct sq_walk *w, size_t from, size_t to);

/*
 * Thread me gives b, with one use of it for each, to the streams of the files
 * that it is for: block k of one file; or the tails that are in a fragment
 * block.  sq_stream_give_holes(): all of the file is holes.
 */
void sq_stream_give(struct sq_walk *w, unsigned me, uint32_t file, uint32_t k,
    struct sq_buf *b, int64_t first_ns);
void sq_stream_give_tails(struct sq_walk *w, unsigned me,
    const uint32_t *files, size_t count, struct sq_buf *b, int64_t first_ns);
void sq_stream_give_holes(struct sq_walk *w, unsigned me, uint32_t file);

/*
 * Hashes some of what t's streams have been given, if there are as many as are
 * best hashed together; or, with all, anybody's.  Whether it did.
 */
bool sq_stream_hash(struct sq_teller *t, bool all);
int sq_stream_open(struct sq_walk *w);
void sq_stream_close(struct sq_walk *w);

/* Marks what options->only leaves out, with rows for what is not there. */
int sq_rows_select(struct sq_walk *w);

/* Rows of all that has no data to be read. */
int sq_rows_rest(struct sq_walk *w);

/* Rows of all files with these data, now or later; all that are left. */
void sq_rows_add(struct sq_teller *t, const struct sq_outcome *o);
void sq_rows_flush(struct sq_teller *t);

/* A table that Linux would not take. */
void sq_rows_table(struct sq_walk *w, uint64_t at, const char *reason);

/* A bad block of f and all that share its data. */
void sq_rows_damage(struct sq_walk *w, uint32_t file, uint64_t at,
    const char *reason);

#endif
