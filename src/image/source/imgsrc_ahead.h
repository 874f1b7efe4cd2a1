/*
 * imgsrc_ahead.h - opening and reading files ahead of use
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Opening and reading a small file mostly means waiting for the disk or the
 * kernel.  Several threads do this for the next files; the thread that cuts
 * files into blocks uses them in order.  Large files are only opened.
 */
#ifndef COLDPRESS_IMAGE_SOURCE_IMGSRC_AHEAD_H
#define COLDPRESS_IMAGE_SOURCE_IMGSRC_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct imgsrc_ahead;

/* One file, valid until the next call to imgsrc_ahead_take(). */
struct imgsrc_ahead_file {
	int rc;				/* 0, or -errno from opening or reading
					 * it */
	int fd;				/* descriptor of a large file; otherwise
					 * -1 */
	uint8_t *data;			/* contents of a small file */
	struct stat st;			/* status when it was opened */
};

struct imgsrc_ahead_options {
	int root;			/* directory to which paths are
					 * relative */
	size_t count;			/* number of files */
	unsigned threads;		/* number of readers; fewer may be
					 * started */
	uint64_t small;			/* files below this size are read */
	/*
	 * Writes the path of file i to *text, a buffer of *room bytes that is
	 * enlarged with sys_realloc(), and sets *size.  Called from several
	 * threads, each with its own text.  Returns 0 or -ENOMEM.
	 */
	int (*path)(void *arg, size_t i, char **text, size_t *room,
	    uint64_t *size);
	void *arg;
};

/*
 * Starts the threads.  Returns 0, -ENOMEM, or -errno if not even one thread can
 * be started.
 */
int imgsrc_ahead_open(struct imgsrc_ahead **a,
    const struct imgsrc_ahead_options *o);
void imgsrc_ahead_close(struct imgsrc_ahead *a);	/* a may be NULL */

/* Returns the next file, in order.  Call this once per file. */
const struct imgsrc_ahead_file *imgsrc_ahead_take(struct imgsrc_ahead *a);

#endif
