/*
 * sink.h - the output end of a pipeline
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Used only by pipeline.c and sink.c.
 */
#ifndef COLDPRESS_SINK_H
#define COLDPRESS_SINK_H

#include "pipeline/pipeline.h"

/* What the pipeline does for a sink. */
struct sink_owner {
	void *arg;
	/* called once, by the writing thread, after the first failed write */
	void (*failed)(void *arg);
	/* has a slot of sink_slot_later() finished */
	void (*later)(void *arg, struct slot *s);
};

/*
 * Opens a sink for the window of the output; if out_fd is -1, the output is
 * discarded.  Without sink_start(), the caller's thread does the writing.
 * Returns 0 or -errno.
 */
int sink_open(struct sink **out, const struct pipeline_params *params,
    const struct sink_owner *owner);

/*
 * Returns whether the run may stop because the window is complete.  Called by
 * the joiner.
 */
bool sink_enough(const struct sink *out);

int sink_start(struct sink *out);

/* Queues the current chunk for writing.  Returns 0 or the first -errno. */
int sink_flush(struct sink *out);

/*
 * Writes the rest, ends the thread and frees everything.  Returns 0 or the
 * first -errno.
 */
int sink_close(struct sink *out, bool failed, struct pipeline_stats *stats);

/* Returns the -errno of a failed write so far, or 0.  Thread-safe. */
int sink_error(struct sink *out);

/*
 * Returns whether sink_slot() or sink_slot_later() has been called since the last
 * call to this function.  Called by the joiner.  (The slot itself may already
 * have been reused.)
 */
bool sink_took_slot(struct sink *out);

/*
 * Says that a slot of sink_slot_later() has been completed; check is the checksum
 * of its output.  Thread-safe.
 */
void sink_finished(struct sink *out, struct slot *s, uint32_t check);

/* Returns a slot to the reader.  Implemented in pipeline.c; thread-safe. */
void pipeline_release(struct slot *s);

#endif
