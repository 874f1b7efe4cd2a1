/*
 * pipeline.h - read, work on all cores, join in order, write
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is the common core of every tool that turns one stream into another.  A
 * job is cut into pieces; each piece travels in a slot:
 *
 * 	fill (one thread)  ->  work (p threads)  ->  join (the caller's
 * 	thread, in order)  ->  write (one thread, in order)
 *
 * What depends on the pieces before it, but takes too long for the joiner, can be
 * left to a fourth stage: join  ->  finish (p threads)  ->  write.
 *
 * The pipeline is independent of formats, and the formats need no knowledge of
 * threads.  The number of slots is fixed, which bounds memory: the reader waits
 * while every slot is in use.  The result does not depend on the number of
 * threads, because fill and join always see the same data in the same order.
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
	/* Reads the next piece from `in` into s.  Returns 0 or -errno. */
	int (*fill)(void *job, struct input *in, struct slot *s);

	/* Creates a worker thread's state; NULL if work needs none. */
	int (*worker_open)(void *job, void **ctx);
	void (*worker_close)(void *ctx);

	/*
	 * Processes s->in into s->out; NULL if everything is done in join.
	 * Returns 0, or -errno, which ends the run when the piece is joined.
	 */
	int (*work)(void *job, void *ctx, struct slot *s);

	/*
	 * Called for each piece in order, with s->last set in the last call.
	 * Passes the piece's bytes to out with the calls below.  Returns 0 or
	 * -errno.
	 */
	int (*join)(void *job, struct slot *s, struct sink *out);

	/*
	 * Called by a worker for each piece that join passed to
	 * sink_slot_later(): completes s->out.  Returns the checksum of s->out,
	 * to be combined with that of the data before it.  NULL if join never
	 * does that.
	 */
	uint32_t (*finish)(void *job, void *ctx, struct slot *s);
};

/*
 * The sink belongs to the joiner: only join may call the following functions.
 *
 * Writes bytes to out, copying them.  Returns 0 or -errno.
 */
int sink_write(struct sink *out, const void *data, size_t len);

/*
 * Returns space for *room bytes, at least one, in one of the sink's buffers, or
 * NULL with *err set.  sink_advance() adds the first n bytes of that space to
 * the output.
 */
uint8_t *sink_space(struct sink *out, size_t *room, int *err);
void sink_advance(struct sink *out, size_t n);

/* How a checksum is computed. */
typedef uint32_t sink_check_fn(uint32_t check, const void *data, size_t len);
struct sink_check {
	uint32_t start;			/* checksum of empty data */
	sink_check_fn *add;		/* updates it */
	/*
	 * returns the combined checksum of two runs of bytes, the second len
	 * bytes long, in 32 bits
	 */
	unsigned long (*combine)(unsigned long a, unsigned long b, off_t len);
};

/*
 * These functions compute a checksum of the data passed to sink_advance() and
 * sink_slot_later() between the two calls.  Its initial value is start.  The
 * writing thread computes it while the next bytes are produced;
 * sink_check_end() waits for the result.  sink_slot() must not be called in
 * between.
 */
void sink_check_begin(struct sink *out, const struct sink_check *check,
    uint32_t start);
uint32_t sink_check_end(struct sink *out);

/*
 * Writes s->out as a whole, without copying; join must not touch s again.
 * Returns 0 or -errno.
 */
int sink_slot(struct sink *out, struct slot *s);

/* Implements pipeline_ops.join by writing s->out; job may be anything. */
int sink_join(void *job, struct slot *s, struct sink *out);

/*
 * The same, but finish completes s->out first; its length must be right.  Call
 * this only between sink_check_begin() and sink_check_end(), and not for a job's
 * only piece.
 */
int sink_slot_later(struct sink *out, struct slot *s);

/* Returns how many bytes have been written to out so far. */
uint64_t sink_bytes(const struct sink *out);

enum pipeline_side { PIPELINE_IN, PIPELINE_OUT };

struct pipeline_stats {
	uint64_t in_bytes, out_bytes;
	/*
	 * Times spent blocked: the reader in read(2), the writer in write(2),
	 * the reader waiting for a free slot, and the workers (in total)
	 * waiting for a piece.
	 */
	uint64_t stall_in_ns, stall_out_ns, stall_work_ns, idle_ns;
	/*
	 * Processor time of the stages: fill, work, finish and join; of the
	 * checksums that the sink computes; and of write(2).
	 */
	uint64_t fill_cpu_ns, work_cpu_ns, finish_cpu_ns, join_cpu_ns;
	uint64_t check_cpu_ns, write_cpu_ns;
	enum pipeline_side failed;	/* side on which the error occurred */
};

/* The part of the output to be written; the rest is discarded. */
struct pipeline_window {
	uint64_t skip;		/* bytes before it */
	uint64_t len;		/* length; 0: everything */
	bool stop;		/* end the run when the part is complete */
};

/* The progress of a run. */
struct pipeline_watch {
	uint64_t now_ns;
	uint64_t idle_ns;	/* total idle time of the workers so far */
	unsigned threads;	/* number of workers */
};

struct pipeline_params {
	unsigned threads;	/* number of workers, at least 1 */
	unsigned slots;		/* at least threads + 2 for full parallelism */
	int out_fd;		/* -1: the output is discarded */
	/*
	 * Called by the writing thread, in order, with what is to be written,
	 * in place of write(2) to out_fd; returns 0 or -errno.  May be NULL.
	 */
	int (*write)(void *arg, const uint8_t *data, size_t len);
	void *write_arg;
	struct pipeline_window window;
	/*
	 * Whether whole pages of zeros become holes: out_fd is a regular file,
	 * at its end.
	 */
	bool sparse;
	/* Called by the caller's thread after each piece; may be NULL. */
	void (*watch)(void *arg, const struct pipeline_watch *w);
	void *watch_arg;
	struct progress *progress;	/* shows progress through the input; may
					 * be NULL */
};

/*
 * Runs a job to completion.  If in is NULL, fill gets an empty input and must
 * read from elsewhere.  A job with a single piece is run without threads.  All
 * threads have finished on return.  The results are added to stats.  Returns 0,
 * or the first -errno in the order of the pieces.  Thread-safe: jobs share no
 * state.
 */
int pipeline_run(const struct pipeline_ops *ops, void *job, struct input *in,
    const struct pipeline_params *params, struct pipeline_stats *stats);

/*
 * Returns p + (p + 3) / 2: one slot for each worker, one to read into, one to
 * write from, and some for finished pieces that wait for a slow one.  More
 * slots would not be faster, and would no longer fit in a cache.
 */
unsigned pipeline_slots(unsigned threads);

#endif
