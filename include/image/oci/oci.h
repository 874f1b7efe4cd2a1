/*
 * oci.h - the documents of an OCI image layout: indices and manifests
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layout", "Image Index" and "Image
 * Manifest"; Docker's version 2 manifests and manifest lists have the same
 * members.  JSON is parsed by yajl.  All functions are thread-safe.
 */
#ifndef COLDPRESS_OCI_H
#define COLDPRESS_OCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OCI_DOCUMENT_MAX = 1 << 20,	/* maximum size of one document */
	OCI_HEX = 64,			/* digits in a SHA-256 */
	OCI_LAYERS_MAX = 1024,
	OCI_WHY = 256
};

/* A file in blobs/sha256. */
struct oci_blob {
	char hex[OCI_HEX + 1];		/* SHA-256 in hexadecimal, which is the
					 * file's name */
	uint64_t size;
};

struct oci_document;

/*
 * Parses len bytes of text followed by a NUL.  Returns 0, -EBADMSG with the
 * reason in why, or -ENOMEM.
 */
int oci_parse(struct oci_document **d, const char *text, size_t len,
    char why[OCI_WHY]);
void oci_free(struct oci_document *d);		/* d may be NULL */

/*
 * Returns whether the document is an index, which refers to manifests instead
 * of layers.
 */
bool oci_is_index(const struct oci_document *d);

/* Returns whether this is the type of an image's config. */
bool oci_is_config(const char *media_type);

/*
 * Finds the manifest or index with this tag, or the only one if tag is NULL.
 * If there are several, chooses the one for `machine`, named as in uname(2).
 * Artifacts that are not images are ignored.
 * Returns 0 or, with the reason in why, -ENOENT (none, or more than one) or
 * -EBADMSG.
 */
int oci_choose(const struct oci_document *d, const char *tag,
    const char *machine, struct oci_blob *b, char why[OCI_WHY]);

/* Like oci_choose(), for the machine on which this process runs. */
int oci_choose_here(const struct oci_document *d, const char *tag,
    struct oci_blob *b, char why[OCI_WHY]);

/*
 * Lists the layers of a manifest, lowest first; *layers must be freed with
 * sys_free().  Returns 0, -EBADMSG with the reason in why, or -ENOMEM.
 */
int oci_layers(const struct oci_document *d, struct oci_blob **layers,
    size_t *count, char why[OCI_WHY]);

/*
 * Returns the annotation of a layer in a manifest, or NULL if there is none
 * with that name.  The string belongs to the document.
 */
const char *oci_annotation(const struct oci_document *d, size_t layer,
    const char *name);

/*
 * Returns the diff_id of layer n in a config, or NULL if there is none.  The
 * string belongs to the document.
 */
const char *oci_diff_id(const struct oci_document *config, size_t n);

#endif
