/*
 * progress.h - one line on a terminal while the work is long
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *	 42.0 %  1.31 GiB  345 MiB/s  0:07 left
 *
 * Any thread counts; whoever calls progress_draw() draws, one thread at a
 * time, as often as it likes.  There is no thread of its own.
 */
#ifndef COLDPRESS_PROGRESS_H
#define COLDPRESS_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	_Atomic uint64_t done_B;
	uint64_t total_B;	/* 0: not known */
	int64_t start_ns;	/* of sys_now_ns(); signed, for differences */
	int64_t drawn_ns;	/* of the last line; start_ns: none yet */
	int fd;			/* -1: nothing is drawn */
	size_t width;		/* columns to be erased */
};

/*
 * From now on, on the terminal fd, which stays the caller's.  Nothing is
 * ever drawn with quiet, or if fd is no terminal.
 */
void progress_start(struct progress *p, int fd, uint64_t total_B, bool quiet);

/* So many bytes more are done.  Thread-safe. */
void progress_add(struct progress *p, uint64_t bytes);

/*
 * Draws the line, if a second has passed since the start and a fifth of one
 * since the last, and if this is not in the background.  A terminal that
 * cannot be written to is given up.
 */
void progress_draw(struct progress *p);

/* Erases the line: before a message, and at the end. */
void progress_erase(struct progress *p);

/*
 * The line as text, for done_B after elapsed_ns: its length, cut to size - 1.
 * Thread-safe.
 */
size_t progress_text(char *text, size_t size, uint64_t done_B,
    uint64_t total_B, uint64_t elapsed_ns);

#endif
