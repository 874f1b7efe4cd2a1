/*
 * output_tree.h - an output directory that appears complete or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Everything is created in a temporary directory, .coldpress-tree-PID-TIME,
 * next to the final name.  output_on_signals() arranges for its removal on a
 * signal.  SIGKILL leaves it behind.  When the same user next creates a
 * directory there, it is removed because its flock(2) lock is no longer held.
 *
 * A struct output_tree belongs to one thread at a time, and must not be moved
 * while it is open; several threads may create files in its directory.
 */
#ifndef COLDPRESS_OUTPUT_TREE_H
#define COLDPRESS_OUTPUT_TREE_H

#include "base/output.h"

struct output_tree {
	struct output_armed armed;
	int parent, dir;		/* descriptors, or -1 */
	char *name;			/* final name, in parent */
	char temp[64];			/* temporary name, or "" */
};

/* An initializer that makes output_tree_abort() safe to call at any time. */
#define OUTPUT_TREE_NONE { .parent = -1, .dir = -1 }

/*
 * Creates the directory for path, which must not exist.  Returns 0, -EEXIST or
 * -errno; t must be aborted even after an error.
 */
int output_tree_create(struct output_tree *t, const char *path);

/*
 * Renames the directory to its final name.  Its contents must have been synced
 * to disk; the directory itself is synced here.  Returns 0, -EEXIST (something
 * other than an empty directory now has that name) or -errno, after which t
 * must still be aborted; if only the parent directory could not be synced, the
 * directory then keeps its final name.
 */
int output_tree_commit(struct output_tree *t);

/* Removes the directory unless it was committed, and closes the descriptors. */
void output_tree_abort(struct output_tree *t);

#endif
