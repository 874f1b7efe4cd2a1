/*
 * stamp.h - whether a file has changed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A file is another one if its inode, size or times are others.  What is
 * written twice within a tick of the kernel's clock, without a change of size,
 * is not noticed.
 */
#ifndef COLDPRESS_STAMP_H
#define COLDPRESS_STAMP_H

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

/* Zeroed, it is that of what cannot be found. */
struct stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec modified, changed;
};

/* Returns the stamp of what the path leads to, through links.  Thread-safe. */
struct stamp stamp_of(const char *path);

/* Returns whether that is no longer the same.  Thread-safe. */
bool stamp_has_changed(const char *path, const struct stamp *was);

#endif
