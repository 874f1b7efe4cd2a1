/*
 * imgsrc_oci.h - reading and merging the layers of an OCI image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SOURCE_IMGSRC_OCI_H
#define COLDPRESS_IMAGE_SOURCE_IMGSRC_OCI_H

#include "imgsrc_tar.h"

#include "image/oci/changes.h"
#include "image/oci/oci_layout.h"

struct imgsrc_oci {
	struct imgsrc_image *to;
	char *path;			/* path of the layout */
	const char *tag;		/* NULL: none was given */
	int dir;
	struct oci_blob *layers;	/* lowest first */
	size_t count;
	/* the current layer */
	size_t layer;			/* from 0 */
	char *name;			/* for messages */
	bool open;
	struct imgsrc_archive archive;
	/* all layers */
	uint32_t *ids;			/* node of each entry */
	size_t entries, cap;
	struct oci_changes *changes;	/* while they are merged */
	size_t next;			/* next entry, when reading data */
	bool verified;			/* the blobs have been verified */
	int failed;			/* -errno from handling a whiteout */
};

/* Reports why a part of the layout is invalid.  Returns -EBADMSG. */
int imgsrc_oci_refuse(struct imgsrc_oci *o, const char *what, const char *why);

/* Room for "layer N of M" after the layout's path in oci.name. */
enum { OCI_NAME_MORE = 64 };

/*
 * These functions open the archive of the current layer, and close it after its
 * end.  They return 0, or -errno after reporting the error.
 */
int imgsrc_oci_open_layer(struct imgsrc_oci *o);
int imgsrc_oci_close_layer(struct imgsrc_oci *o);

/*
 * Merges all layers into the tree, omitting hidden names, and completes the
 * tree.  Returns 0, or -errno after reporting the error.
 */
int imgsrc_oci_merge(struct imgsrc_oci *o);

#endif
