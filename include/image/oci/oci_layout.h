/*
 * oci_layout.h - the files of an OCI image layout
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layout".  A layout is a directory
 * that contains index.json, and blobs named after their SHA-256.  Thread-safe.
 */
#ifndef COLDPRESS_OCI_LAYOUT_H
#define COLDPRESS_OCI_LAYOUT_H

#include "image/oci/oci.h"

/* The reason why oci_blob_verify() rejects a blob. */
#define OCI_NOT_ITS "its content does not match that digest"

/* Returns whether path is a layout. */
bool oci_is_layout(const char *path);

/*
 * Splits layout:TAG; *tag points into source, or is NULL if there is no tag.
 * Returns the path, to be freed with sys_free(), or NULL if out of memory.
 */
char *oci_split(const char *source, const char **tag);

/* Opens a blob in the open directory dir.  Returns a descriptor, or -errno. */
int oci_blob_open(int dir, const struct oci_blob *b);

/*
 * Verifies the size and digest of the file fd, whose offset is neither used nor
 * changed.  Returns 0, -EBADMSG, -ENOMEM or -errno from a read.
 */
int oci_blob_verify(int fd, const struct oci_blob *b);

/*
 * Reads, verifies and parses a blob, or index.json if b is NULL.  Returns 0, or
 * -errno with the reason in why.
 */
int oci_document_open(int dir, const struct oci_blob *b,
    struct oci_document **d, char why[OCI_WHY]);

/*
 * Opens the manifest with this tag for this machine, or the only manifest if
 * tag is NULL, following nested indices.  Returns 0, or -errno with the reason
 * in why and the invalid document in at: its digits, or "index.json".
 */
int oci_manifest_open(int dir, const char *tag, struct oci_document **d,
    char at[OCI_HEX + 1], char why[OCI_WHY]);

#endif
