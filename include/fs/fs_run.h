/*
 * fs_run.h - reading each listed file once, with several threads
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_FS_RUN_H
#define COLDPRESS_FS_RUN_H

#include "walk/fs_list.h"

struct fs_run {
	const struct fs_list *list;
	unsigned threads;
	/* The size of all parts of a file but the last. */
	size_t unit;
	/*
	 * Creates one thread's state.  Returns 0, or -errno, which ends the
	 * run.
	 */
	int (*open)(void *arg, void **worker);
	/* Called after all threads have finished, in any order. */
	void (*close)(void *arg, void *worker);
	/*
	 * Called with a part of a regular file, once for all hard links to it.
	 * The part's len bytes are followed by zeros, up to `unit` bytes in
	 * total.  Parts of a file may arrive in any order, and from several
	 * threads.
	 */
	void (*part)(void *arg, void *worker, size_t item, uint64_t offset,
	    uint8_t *data, size_t len);
	/*
	 * Called instead of part() for one or more consecutive parts that are
	 * holes, or belong to a file that cannot be opened.
	 */
	void (*hole)(void *arg, void *worker, size_t item, uint64_t offset,
	    uint64_t len);
	/*
	 * Reports a file that cannot be read or has changed; calls do not
	 * overlap.
	 */
	void (*on_error)(void *arg, size_t item, int err);
	/*
	 * Occasionally reports how many more bytes have been processed; calls
	 * do not overlap.
	 */
	void (*on_progress)(void *arg, uint64_t bytes);
	void *arg;
};

/* Returns 0, -ENOMEM, or the result of a callback. */
int fs_run(const struct fs_run *r);

#endif
