/*
 * pipeline.h - read, work on all cores, join in order, write
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What every tool does that turns one stream into another.  A job is cut
 * into pieces; each piece travels in a slot:
 *
 *	fill (one thread)  ->  work (p threads)  ->  join (the caller's
 *	thread, in order)  ->  write (one thread, in order)
 *
 * The pipeline knows nothing of formats and the formats nothing of threads.
 * The slots are all there ever is, so memory is bounded by construction:
 * reading waits while every slot is in use.  The result does not depend on
 * the number of threads, since what fill and join see does not.
 */
#ifndef COLDPRESS_PIPELINE_H
#define COLDPRESS_PIPELINE_H

#include "base/progress.h"
#include "pipeline/input.h"
#include "pipeline/slot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sink;

struct pipeline_ops {
	/* The next piece into s, from in.  0 or -errno. */
	int (*fill)(void *job, struct input *in, struct slot *s);

	/* What one worker thread keeps; NULL where work needs nothing. */
	int (*worker_open)(void *job, void **ctx);
	void (*worker_close)(void *ctx);

	/*
	 * s->in to s->out; NULL where all is done in join.  0 or -errno,
	 * which ends the run when its turn comes.
	 */
	int (*work)(void *job, void *ctx, struct slot *s);

	/*
	 * Called for each piece in order, s->last the last time.  Gives its
	 * bytes to out by the calls below.  0 or -errno.
	 */
	int (*join)(void *job, struct slot *s, struct sink *out);
};

/*
 * The sink is the joiner's: these are called by join, and by no other thread.
 *
 * Bytes out, copied.  0 or -errno.
 */
int sink_write(struct sink *out, const void *data, size_t len);

/*
 * Room in a buffer of the sink's, at least one byte (*room says how many), or
 * NULL (and *err set).  sink_advance() says how many of them now hold output.
 */
uint8_t *sink_space(struct sink *out, size_t *room, int *err);
void sink_advance(struct sink *out, size_t n);

/*
 * A checksum over what sink_advance() says, from one call to the other: begun
 * with start, which fn takes on.  It is computed while the next bytes are
 * made, by the thread that writes, as far as that is ahead; the end waits for
 * it.  No sink_slot() in between.
 */
typedef uint32_t sink_check_fn(uint32_t check, const void *data, size_t len);
void sink_check_begin(struct sink *out, sink_check_fn *fn, uint32_t start);
uint32_t sink_check_end(struct sink *out);

/*
 * s->out as a whole, without a copy; join must not touch s again.  0 or
 * -errno.
 */
int sink_slot(struct sink *out, struct slot *s);

/* Bytes given to out so far. */
uint64_t sink_bytes(const struct sink *out);

enum pipeline_side { PIPELINE_IN, PIPELINE_OUT };

struct pipeline_stats {
	uint64_t in_bytes, out_bytes;
	/*
	 * Time blocked: the reader in read(2), the writer in write(2), the
	 * reader for want of a free slot, the workers (summed) for want of a
	 * piece.
	 */
	uint64_t stall_in_ns, stall_out_ns, stall_work_ns, idle_ns;
	enum pipeline_side failed;	/* which end an error is about */
};

/* The part of the output that is written; the rest is dropped. */
struct pipeline_window {
	uint64_t skip;		/* bytes before it */
	uint64_t len;		/* of it; 0: all there is */
	bool stop;		/* end the run when it is complete */
};

/* How the run is getting on. */
struct pipeline_watch {
	uint64_t now_ns;
	uint64_t idle_ns;	/* of the workers, up to now */
	unsigned threads;	/* workers */
};

struct pipeline_params {
	unsigned threads;	/* that work; at least 1 */
	unsigned slots;		/* at least threads + 2 for full use */
	int out_fd;		/* -1: the output is dropped */
	struct pipeline_window window;
	/* Called by the caller's thread after each piece; NULL: not. */
	void (*watch)(void *arg, const struct pipeline_watch *w);
	void *watch_arg;
	struct progress *progress;	/* of the input; NULL: none */
};

/*
 * Runs a job to its end.  A job whose first piece is its last is run without
 * threads.  All threads have ended when it returns.  0, or the first -errno
 * in the order of the pieces.  stats is added to.  Thread-safe: jobs share
 * nothing.
 */
int pipeline_run(const struct pipeline_ops *ops, void *job, struct input *in,
    const struct pipeline_params *params, struct pipeline_stats *stats);

/*
 * One that each worker has, one to read into, one to write from, and some
 * that wait done behind a slow one: p + (p + 3) / 2.  More of them make
 * nothing faster, but memory that a cache no longer holds.
 */
static inline unsigned
pipeline_slots(unsigned threads)
{
	return threads + (threads + 3) / 2;
}

#endif
