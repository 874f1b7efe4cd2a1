/*
 * fs_run.h - reading all data of a list once, with several threads
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_FS_RUN_H
#define COLDPRESS_FS_RUN_H

#include "walk/fs_list.h"

struct fs_run {
	const struct fs_list *list;
	unsigned threads;
	/*
	 * The size of a part: all parts of a file have this size, except the
	 * last.
	 */
	size_t unit;
	/* Creates the state of one thread; 0 or -errno, which ends the run. */
	int (*open)(void *arg, void **worker);
	/* After all threads have ended, in any order. */
	void (*close)(void *arg, void *worker);
	/*
	 * A part of a regular file, once for hard links; after its len bytes
	 * there is room for up to unit bytes, zeroed.  Parts of one file may
	 * come in any order, and from several threads.
	 */
	void (*part)(void *arg, void *worker, size_t item, uint64_t offset,
	    uint8_t *data, size_t len);
	/* The same for a part that is a hole; NULL: it is passed as zeros. */
	void (*hole)(void *arg, void *worker, size_t item, uint64_t offset,
	    size_t len);
	/*
	 * Called one at a time: the file cannot be read, or changed meanwhile.
	 */
	void (*trouble)(void *arg, size_t item, int err);
	/* Called one at a time, now and then: that many bytes more are done. */
	void (*tick)(void *arg, uint64_t bytes);
	void *arg;
};

/* 0, -ENOMEM, or what a callback returned. */
int fs_run(const struct fs_run *r);

#endif
