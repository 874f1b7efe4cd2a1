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

/* json_tree.c: these return new values, or NULL if out of memory. */
yajl_val json_new_value(yajl_type type);
yajl_val json_new_text(const char *text);
yajl_val json_new_number(uint64_t number);

/*
 * Replace or add a member of an object, or append an element to an array.
 * Return 0, or -ENOMEM, including when value is NULL (out of memory).  They
 * consume value even on failure.
 */
int json_put(yajl_val of, const char *name, yajl_val value);
int json_append(yajl_val to, yajl_val value);

/* Removes a member, if there is one. */
void json_drop(yajl_val of, const char *name);

#endif
