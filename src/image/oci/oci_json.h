/*
 * oci_json.h - the parsed JSON of a document, shared by this folder's files
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_OCI_JSON_H
#define COLDPRESS_OCI_JSON_H

#include "image/oci/json.h"
#include "image/oci/oci.h"

/* The annotation that names a descriptor's tag. */
#define OCI_TAG "org.opencontainers.image.ref.name"

struct oci_document {
	yajl_val root;
};

/*
 * Reads the digest and size of a descriptor.  Returns 0, or -EBADMSG with a
 * clause in why.
 */
int oci_take_blob(yajl_val v, struct oci_blob *b, char why[OCI_WHY]);

#endif
