/*
 * sink.h - the output end of a pipeline
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Used only by pipeline.c and sink.c.
 */
#ifndef COLDPRESS_SINK_H
#define COLDPRESS_SINK_H

#include "pipeline/pipeline.h"

/*
 * Opens a sink for the window of the output; if out_fd is -1, the output is
 * discarded.  Without sink_start(), the caller's thread does the writing.
 * failed(owner) is called once, by the writing thread, after the first failed
 * write.  Returns 0 or -errno.
 */
int sink_open(struct sink **out, const struct pipeline_params *params,
    void (*failed)(void *), void *owner);

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
 * Returns whether sink_slot() has been called since the last call to this
 * function.  Called by the joiner.  (The slot itself may already have been
 * reused.)
 */
bool sink_took_slot(struct sink *out);

/* Returns a slot to the reader.  Implemented in pipeline.c; thread-safe. */
void pipeline_release(struct slot *s);

#endif
