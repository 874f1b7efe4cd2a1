/*
 * changes.h - applying the whiteouts of a layer to the names of lower layers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layer Filesystem Changeset".  A
 * whiteout hides names of lower layers, but not names of its own layer,
 * regardless of their order in the archive.
 *
 * The tree belongs to the caller.  Its nodes are numbered in the order in which
 * they are added, from the root, 0; a directory thus precedes its contents.
 */
#ifndef COLDPRESS_IMAGE_OCI_CHANGES_H
#define COLDPRESS_IMAGE_OCI_CHANGES_H

#include <stdint.h>

#define OCI_NOWHERE UINT32_MAX

struct oci_changes_tree {
	/* Returns the node at a path, or OCI_NOWHERE. */
	uint32_t (*find)(void *arg, const char *path);
	/* Returns the directory of a node, or OCI_NOWHERE if it is removed. */
	uint32_t (*parent)(void *arg, uint32_t node);
	/* Removes a node and everything below it. */
	void (*remove)(void *arg, uint32_t node);
	void *arg;
};

struct oci_changes;

/* t is copied.  Returns 0 or -ENOMEM. */
int oci_changes_open(struct oci_changes **c, const struct oci_changes_tree *t);
void oci_changes_close(struct oci_changes *c);	/* may be NULL */

/*
 * Begins the next layer, the lowest first: nodes from `count`, the number of
 * nodes so far, are its own.
 */
void oci_changes_layer(struct oci_changes *c, uint32_t count);

/*
 * Records that the layer contains a node, which may be one of a lower layer,
 * and the node's parents.  Not needed if all whiteouts of a layer are applied
 * before its other entries.  Returns 0 or -ENOMEM.
 */
int oci_changes_keep(struct oci_changes *c, uint32_t node);

/*
 * If path, as in the layer, after path_clean(), is a whiteout, applies it.
 * Returns 1 if it is one, 0 if not, or -ENOMEM.  However many whiteouts a layer
 * has, each directory is scanned once.
 */
int oci_changes_whiteout(struct oci_changes *c, const char *path);

#endif
