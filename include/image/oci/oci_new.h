/*
 * oci_new.h - writing an OCI image layout, which appears complete or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A struct oci_new belongs to one thread at a time, and must not be moved while
 * it is open.
 */
#ifndef COLDPRESS_OCI_NEW_H
#define COLDPRESS_OCI_NEW_H

#include "base/output.h"
#include "base/output_tree.h"
#include "image/oci/oci.h"

struct oci_new {
	struct output_tree tree;
	int blobs;			/* a descriptor, or -1 */
};

/*
 * Starts the layout at path, which must not exist.  Returns 0, -EEXIST or
 * -errno; n must be aborted or committed even after an error.
 */
int oci_new_open(struct oci_new *n, const char *path);

/*
 * These functions start a blob, to be written to o->fd, and end it, given its
 * digest and size.  They return 0 or -errno.  If oci_new_end() fails, o need
 * not be aborted.
 */
int oci_new_begin(struct oci_new *n, struct output *o);
int oci_new_end(struct oci_new *n, struct output *o, const struct oci_blob *b);

/* Writes len bytes as a blob, whose name and size are stored in b. */
int oci_new_text(struct oci_new *n, const char *text, size_t len,
    struct oci_blob *b);

/*
 * Copies a blob from the open directory of another layout.  Returns 0, -EBADMSG
 * (its content does not match its digest) or -errno.
 */
int oci_new_copy(struct oci_new *n, int layout, const struct oci_blob *b);

/*
 * Writes index.json, syncs everything, and gives the layout its final name.
 * Returns 0, or -errno, after which n must still be aborted.
 */
int oci_new_commit(struct oci_new *n, const char *index, size_t len);

/* Removes the layout unless it was committed, and closes the descriptors. */
void oci_new_abort(struct oci_new *n);

#endif
