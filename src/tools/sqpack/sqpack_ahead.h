/*
 * sqpack_ahead.h - files opened and read before their turn
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Opening and reading a small file is mostly waiting, for the disk or for the
 * kernel.  Several threads do it for the files that come next; the one that
 * cuts the image's blocks takes them in order.  Large files are opened only.
 */
#ifndef COLDPRESS_SQPACK_AHEAD_H
#define COLDPRESS_SQPACK_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct ahead;

/* One file; the caller's until the next call of ahead_take(). */
struct ahead_file {
	int rc;				/* 0, or why there is none of it */
	int fd;				/* of a large one, else -1 */
	uint8_t *data;			/* of a small one: all of it */
	struct stat st;			/* when it was opened */
};

struct ahead_options {
	int root;			/* paths are below it */
	size_t count;			/* files */
	unsigned threads;		/* that read; fewer may do */
	uint64_t small;			/* files below it are read */
	/*
	 * The path of file i into *text, which holds *room bytes and is grown
	 * by sys_realloc(), and its size.  From several threads, each with a
	 * text of its own.  0 or -ENOMEM.
	 */
	int (*path)(void *arg, size_t i, char **text, size_t *room,
	    uint64_t *size);
	void *arg;
};

/* 0, -ENOMEM or -errno of starting even one thread. */
int ahead_open(struct ahead **a, const struct ahead_options *o);
void ahead_close(struct ahead *a);	/* a may be NULL */

/* File number i; each once, in order from 0 on. */
const struct ahead_file *ahead_take(struct ahead *a);

#endif
