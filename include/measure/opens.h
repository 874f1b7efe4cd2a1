/*
 * opens.h - the files that child processes open, in order of first opening
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Uses fanotify(7), which reports every open(2) and execve(2) in a filesystem,
 * whatever the mount or namespace.  It gives the PID of the opening process in
 * the reader's PID namespace, or 0 for processes outside it.  A reader that is
 * the first process of its namespace therefore sees all others in it, dead or
 * alive, as PIDs above 1, and no outsiders.
 *
 * A struct opens belongs to the calling thread, and runs a thread of its own.
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
 * Starts listening to the filesystem of root, an open directory.  Returns 0,
 * -EPERM (only root in the initial user namespace may), -ENOSYS or another
 * -errno.
 */
int opens_start(struct opens **o, int root);

/*
 * Stops after everything that has happened so far has been reported.  Returns
 * 0, -EOVERFLOW (the kernel lost events), -ENOMEM or -errno from a read.
 */
int opens_stop(struct opens *o);

/*
 * Returns the regular files that a process with a PID above 1 has opened, each
 * once.  For use after opens_stop(); they belong to o.
 */
const struct opens_file *opens_files(const struct opens *o, size_t *count);

/* Returns the index of this file in opens_files(), or -ENOENT. */
ssize_t opens_find(const struct opens *o, struct opens_file f);

void opens_free(struct opens *o);

#endif
