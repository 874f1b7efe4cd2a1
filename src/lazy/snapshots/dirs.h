/*
 * dirs.h - the directories of a snapshotter
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Directory N, below that of all snapshots, contains fs and, if it is for an
 * active snapshot, work.  Functions return 0 or -errno.  Thread-safe, except
 * that a directory must not be created and removed at a time.
 */
#ifndef COLDPRESS_LAZY_SNAPSHOTS_DIRS_H
#define COLDPRESS_LAZY_SNAPSHOTS_DIRS_H

#include "lazy/snapshots/snapshots.h"

enum { DIRS_NAME = 24 };

/*
 * Creates the directory of a snapshot, on disk, whose files' owner is that of
 * its parent's (0: no parent).
 */
int dirs_make(int all, int64_t id, int64_t parent, bool work);

/*
 * Removes a directory with everything in it.  Fails with -EBUSY if something is
 * mounted at its fs.
 */
int dirs_remove(int all, const char *name);

/* Returns whether something is mounted at the fs of a directory. */
bool dirs_is_mounted(int all, const char *name);

/* Adds up the space that the fs of a snapshot uses; hard links count once. */
int dirs_usage(int all, int64_t id, struct snapshots_usage *u);

/* Calls take() for the name of each directory. */
int dirs_each(int all, int (*take)(void *arg, const char *name), void *arg);

#endif
