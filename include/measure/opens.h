/*
 * opens.h - the files opened by child processes, in order of first opening
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Uses fanotify(7), which reports every open(2) and execve(2) in a filesystem,
 * from any mount or namespace.  Each event contains the PID of the opening
 * process in the reader's PID namespace, or 0 for a process outside it.  If the
 * reader is PID 1 in its namespace, an event with a PID above 1 therefore comes
 * from another process in that namespace, even one that has exited.
 *
 * A struct opens belongs to the calling thread, and starts a thread.
 */
#ifndef COLDPRESS_OPENS_H
#define COLDPRESS_OPENS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct opens_file {
	dev_t dev;
	ino_t ino;
	double s;			/* time of the first opening, in seconds
					 * after opens_start() */
};

struct opens;

/*
 * Starts watching the filesystem that contains root, an open directory.
 * Returns 0, -EPERM (only root in the initial user namespace may do this),
 * -ENOSYS or another -errno.
 */
int opens_start(struct opens **o, int root);

/*
 * Stops once all earlier events have been read.  Returns 0, -EOVERFLOW (the
 * kernel lost events), -ENOMEM or -errno from a read.
 */
int opens_stop(struct opens *o);

/*
 * Returns the regular files opened by processes with a PID above 1, each file
 * once.  Call this after opens_stop(); the array belongs to o.
 */
const struct opens_file *opens_files(const struct opens *o, size_t *count);

/* Returns the index of this inode in opens_files(), or -ENOENT. */
ssize_t opens_find(const struct opens *o, struct opens_file f);

void opens_free(struct opens *o);

#endif
