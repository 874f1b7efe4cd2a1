/*
 * output_tree.h - an output directory that appears complete or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Everything is created below a directory with a temporary name, .new-PID-N,
 * beside the one that it will have.  A signal leaves that directory behind.
 *
 * A struct output_tree belongs to one thread at a time; several may create
 * files below its directory.
 */
#ifndef COLDPRESS_OUTPUT_TREE_H
#define COLDPRESS_OUTPUT_TREE_H

struct output_tree {
	int parent, dir;		/* descriptors, or -1 */
	char *name;			/* the final name, in parent */
	char temp[64];			/* likewise, or "" */
};

/* What output_tree_abort() may be called with at any time. */
#define OUTPUT_TREE_NONE { .parent = -1, .dir = -1 }

/*
 * Creates the directory for path, which must not exist.  0, -EEXIST or -errno;
 * it must be aborted even after an error.
 */
int output_tree_create(struct output_tree *t, const char *path);

/*
 * Gives the directory its name.  What is below it must have been synced to disk;
 * the directory itself is synced here.  0, -EEXIST (there is something of that
 * name by now, other than an empty directory) or -errno, after which it must
 * still be aborted.
 */
int output_tree_commit(struct output_tree *t);

/* Removes what was not committed, and closes the descriptors. */
void output_tree_abort(struct output_tree *t);

#endif
