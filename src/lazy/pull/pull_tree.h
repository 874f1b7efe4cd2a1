/*
 * pull_tree.h - unpacking layers, one over the other, into a directory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layer Filesystem Changeset".
 *
 * The entries of a layer are applied in the order of its archive, as they
 * arrive.  All names so far are kept in memory, so that what a name is and what
 * is in a directory is never asked of the filesystem.  A name is created
 * relative to its directory, which is opened beneath the root without following
 * links.  The attributes of directories are set at the end.
 *
 * As in an overlay, a directory that an entry's path implies replaces whatever
 * else a lower layer has there; within one layer, such an entry is refused.
 */
#ifndef COLDPRESS_PULL_TREE_H
#define COLDPRESS_PULL_TREE_H

#include "format/tar/tar.h"
#include "lazy/layer.h"

#include <stdbool.h>
#include <stdint.h>

struct pull_tree;

struct pull_tree_counts {
	uint64_t entries;		/* in all layers */
	/* left out, because they require root, or the filesystem has none: */
	uint64_t devices, attributes;
};

/*
 * Unpacks into the empty directory root, which is not closed.  owner: running as
 * root, set owners and create devices.  Returns 0 or -ENOMEM.
 */
int pull_tree_open(struct pull_tree **t, int root, bool owner);
void pull_tree_close(struct pull_tree *t);	/* may be NULL */

/*
 * Applies the entries of the next layer, the lowest first.  Returns 0, or -errno
 * with the reason in why.
 */
int pull_tree_layer(struct pull_tree *t, struct tar *tar, char why[LAYER_WHY]);

/* Sets the attributes of all directories.  Returns as pull_tree_layer(). */
int pull_tree_finish(struct pull_tree *t, char why[LAYER_WHY]);

void pull_tree_counted(const struct pull_tree *t, struct pull_tree_counts *c);

#endif
