/*
 * sqpack_oci.h - the layers of an OCI image, and their merging
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_OCI_H
#define COLDPRESS_SQPACK_OCI_H

#include "sqpack_archive.h"

#include "image/oci/oci.h"

struct oci {
	struct sqpack *p;
	char *path;			/* of the layout */
	const char *tag;		/* or NULL */
	int dir;
	struct oci_blob *layers;	/* the lowest first */
	size_t count;
	/* the layer in hand */
	size_t layer;			/* from 0 */
	char *name;			/* in messages */
	bool open;
	struct archive archive;
	uint32_t first_id;		/* larger ones are of this layer */
	/* of all layers */
	uint32_t *ids;			/* node of each entry */
	size_t entries, cap;
	uint32_t *marks;		/* of each id: its last layer, from 1 */
	size_t mark_count;
	size_t next;			/* entry, when data is read */
	bool verified;			/* the blobs were */
	int failed;			/* -errno of a whiteout */
};

/* Reports what is wrong with a part of the layout.  -EBADMSG. */
int oci_refuse(struct oci *o, const char *what, const char *why);

/*
 * Opens a blob: its descriptor or -errno.  Checks the bytes of an open one
 * against its name: 0 or -errno, which it reports.
 */
int oci_open_blob(struct oci *o, const struct oci_blob *b);
int oci_verify_blob(struct oci *o, int fd, const struct oci_blob *b);

/* Room for "layer N of M" behind the layout's path in oci.name. */
enum { OCI_NAME_MORE = 64 };

/*
 * Opens the archive of the layer in hand; closes it, after its end.  0 or
 * -errno, and it is said.
 */
int oci_open_layer(struct oci *o);
int oci_close_layer(struct oci *o);

/* Takes all layers into the tree, without what is hidden, and completes it.
   0 or -errno, and it is said. */
int oci_merge(struct oci *o);

#endif
