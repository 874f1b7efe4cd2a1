/*
 * progress.h - a progress line on a terminal during long work
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * 	 42.0 %  1.31 GiB  345 MiB/s  0:07 left
 *
 * Any thread may call progress_add(), progress_draw() and progress_erase() at
 * any time.  This module starts no thread.
 */
#ifndef COLDPRESS_PROGRESS_H
#define COLDPRESS_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A line of another form.  All members are set by its owner; draw is called
 * four times a second at most, and by one thread at a time.
 */
struct progress_form {
	/* total_B: 0 if it is unknown */
	void (*draw)(void *arg, uint64_t done_B, uint64_t total_B);
	/* Called before a message: ends a line, if one was begun. */
	void (*yield)(void *arg);
	void *arg;
};

struct progress {
	const struct progress_form *form;	/* NULL: the line above */
	_Atomic uint64_t done_B;
	uint64_t total_B;	/* 0: unknown */
	int64_t start_ns;	/* from sys_now_ns(); signed, so that
				 * differences can be negative */
	bool shown;		/* on a terminal, and not quiet */
	pthread_mutex_t lock;	/* protects the fields below */
	int64_t drawn_ns;	/* time of the last line, or start_ns */
	int fd;			/* -1: draw nothing */
	size_t width;		/* columns to erase */
};

/*
 * Starts the clock.  The line is drawn on fd, which is not closed; nothing is
 * drawn if quiet is set or fd is not a terminal.  There is nothing to free.
 */
void progress_start(struct progress *p, int fd, uint64_t total_B, bool quiet);

/*
 * Starts the clock; the line has another form, and is drawn wherever the output
 * goes.  The form must remain until the last call.
 */
void progress_start_form(struct progress *p, uint64_t total_B,
    const struct progress_form *form);

/* Adds to the number of bytes done.  Thread-safe. */
void progress_add(struct progress *p, uint64_t bytes);

/*
 * Draws the line if a second has passed since the start and a fifth of a second
 * since the last line, and the process is not in the background; or a line of
 * another form, if a quarter of a second has passed.  After a write error,
 * nothing more is drawn.  Thread-safe.
 */
void progress_draw(struct progress *p);

/*
 * Erases the line, or ends it if it has another form; call this before a
 * message.  Does nothing if p is all zeros, that is, before progress_start().
 * Thread-safe.
 */
void progress_erase(struct progress *p);

/*
 * Erases the line when the work is complete.  A line of another form is left to
 * its owner.  Thread-safe.
 */
void progress_end(struct progress *p);

/*
 * Formats the line for done_B after elapsed_ns, truncated to size - 1.  Returns
 * its length.  Thread-safe.
 */
size_t progress_text(char *text, size_t size, uint64_t done_B,
    uint64_t total_B, uint64_t elapsed_ns);

#endif
