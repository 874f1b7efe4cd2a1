/*
 * sqpack_oci.h - reading and merging the layers of an OCI image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_OCI_H
#define COLDPRESS_SQPACK_OCI_H

#include "sqpack_archive.h"

#include "image/oci/changes.h"
#include "image/oci/oci_layout.h"

struct oci {
	struct sqpack *p;
	char *path;			/* path of the layout */
	const char *tag;		/* NULL: none was given */
	int dir;
	struct oci_blob *layers;	/* lowest first */
	size_t count;
	/* the current layer */
	size_t layer;			/* from 0 */
	char *name;			/* for messages */
	bool open;
	struct archive archive;
	/* all layers */
	uint32_t *ids;			/* node of each entry */
	size_t entries, cap;
	struct oci_changes *changes;	/* while they are merged */
	size_t next;			/* next entry, when reading data */
	bool verified;			/* the blobs have been verified */
	int failed;			/* -errno from handling a whiteout */
};

/* Reports why a part of the layout is invalid.  Returns -EBADMSG. */
int oci_refuse(struct oci *o, const char *what, const char *why);

/* Room for "layer N of M" after the layout's path in oci.name. */
enum { OCI_NAME_MORE = 64 };

/*
 * These functions open the archive of the current layer, and close it after its
 * end.  They return 0, or -errno after reporting the error.
 */
int oci_open_layer(struct oci *o);
int oci_close_layer(struct oci *o);

/*
 * Merges all layers into the tree, omitting hidden names, and completes the
 * tree.  Returns 0, or -errno after reporting the error.
 */
int oci_merge(struct oci *o);

#endif
