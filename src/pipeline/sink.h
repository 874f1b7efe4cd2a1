/*
 * sink.h - the writing end of a pipeline
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Private to pipeline.c and sink.c.
 */
#ifndef COLDPRESS_SINK_H
#define COLDPRESS_SINK_H

#include "pipeline/pipeline.h"

/*
 * fd -1 drops all.  most_slots: how many slots can be queued at once.
 * Without sink_start() everything is written by the caller.  failed(owner) is
 * called once, by the thread that writes, after the first write that failed.
 * 0 or -errno.
 */
int sink_open(struct sink **out, int fd, unsigned most_slots,
    void (*failed)(void *), void *owner);

/* Writes only this part of what it is given. */
void sink_window(struct sink *out, const struct pipeline_window *window);

/* Whether the run may stop since the window is complete; the joiner's. */
bool sink_enough(const struct sink *out);

int sink_start(struct sink *out);

/* Has what is in the chunk in hand written now.  0 or the first -errno. */
int sink_flush(struct sink *out);

/* Writes what is left, ends the thread and frees.  0 or the first -errno. */
int sink_close(struct sink *out, bool failed, struct pipeline_stats *stats);

/* The -errno of a write so far.  Thread-safe. */
int sink_error(struct sink *out);

/*
 * Whether sink_slot() has been called since the last time; the joiner's.
 * (The slot itself cannot tell: it may be in use again by then.)
 */
bool sink_took_slot(struct sink *out);

/* Gives a slot back to the reader.  In pipeline.c; thread-safe. */
void pipeline_release(struct slot *s);

#endif
