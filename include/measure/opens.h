/*
 * opens.h - which files processes of ours open, in the order of the first time
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * By fanotify(7), which tells of every open(2) and execve(2) in a file system,
 * whatever mount or namespace it comes through.  It gives the process that
 * opened as a number of the namespace of the one who reads, or 0 for those
 * outside: so a reader that is the first process of a PID namespace sees the
 * rest of that namespace as numbers above 1, dead or alive, and nobody else.
 *
 * A struct opens belongs to the thread that calls; it has one of its own.
 */
#ifndef COLDPRESS_OPENS_H
#define COLDPRESS_OPENS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct opens_file {
	dev_t dev;
	ino_t ino;
};

struct opens;

/*
 * Begins to listen to the file system of root, an open directory.  0, -EPERM
 * (only root in the first user namespace may), -ENOSYS or another -errno.
 */
int opens_start(struct opens **o, int root);

/*
 * Stops, when all that has happened until now has been told.  0, -EOVERFLOW
 * (the kernel has lost some), -ENOMEM or -errno of a read.
 */
int opens_stop(struct opens *o);

/*
 * The regular files that a process with a number above 1 has opened, each
 * once.  After opens_stop(); they are o's.
 */
const struct opens_file *opens_files(const struct opens *o, size_t *count);

/*
 * Where in opens_files() this file is, or -ENOENT.
 */
ssize_t opens_find(const struct opens *o, struct opens_file f);

void opens_free(struct opens *o);

#endif
