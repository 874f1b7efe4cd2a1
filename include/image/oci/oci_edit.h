/*
 * oci_edit.h - changing the documents of an OCI image, and writing them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Unchanged members are written as they were read, in the same order, without
 * white space.  A struct oci_document belongs to one thread at a time.
 */
#ifndef COLDPRESS_OCI_EDIT_H
#define COLDPRESS_OCI_EDIT_H

#include "image/oci/oci.h"

/*
 * A descriptor.  Its strings belong to the document and are valid until it is
 * changed; a missing one is "".
 */
struct oci_descriptor {
	struct oci_blob blob;
	const char *media_type;
	const char *artifact_type;
	const char *os, *architecture, *variant;	/* its platform */
	const char *tag;
};

/* The descriptor lists of a manifest and of an index. */
#define OCI_LAYERS "layers"
#define OCI_MANIFESTS "manifests"
/*
 * Passed in place of a list to mean the document itself: its text or
 * annotations.
 */
#define OCI_SELF ""

/*
 * Returns how many descriptors a list has; 0 if the document has no such list.
 */
size_t oci_count(const struct oci_document *d, const char *list);

/*
 * Gets descriptor n of a list or, if list is NULL, the manifest's config.
 * Returns 0, -EBADMSG with a clause in why, or -ENOENT if the manifest has no
 * config.
 */
int oci_get(const struct oci_document *d, const char *list, size_t n,
    struct oci_descriptor *x, char why[OCI_WHY]);

/*
 * Makes a descriptor found by oci_get() refer to another blob, and sets its
 * media type unless that is NULL.  Returns 0 or -ENOMEM.
 */
int oci_set(struct oci_document *d, const char *list, size_t n,
    const struct oci_blob *b, const char *media_type);

/*
 * Sets one of its annotations, or removes it if value is NULL.  Returns 0 or
 * -ENOMEM.
 */
int oci_annotate(struct oci_document *d, const char *list, size_t n,
    const char *name, const char *value);

/* Sets another of its members.  Returns 0 or -ENOMEM. */
int oci_set_text(struct oci_document *d, const char *list, size_t n,
    const char *name, const char *text);

/* Sets its platform to that of x.  Returns 0 or -ENOMEM. */
int oci_set_platform(struct oci_document *d, const char *list, size_t n,
    const struct oci_descriptor *x);

/* Copies the platform stated in an image's config to x. */
void oci_config_platform(const struct oci_document *config,
    struct oci_descriptor *x);

/*
 * Appends a descriptor to a list.  Returns 0, -EBADMSG (the document has no
 * such list) or -ENOMEM.
 */
int oci_add(struct oci_document *d, const char *list, const struct oci_blob *b,
    const char *media_type);

/* Removes a descriptor from its list. */
void oci_remove(struct oci_document *d, const char *list, size_t n);

/*
 * Sets the SHA-256, in hexadecimal, of layer n's archive in a config.  Returns
 * 0, -EBADMSG (the config has none) or -ENOMEM.
 */
int oci_set_diff_id(struct oci_document *config, size_t n,
    const char hex[OCI_HEX + 1]);

/*
 * Writes the document to *text as *len bytes, to be freed with sys_free().
 * Returns 0 or -ENOMEM.
 */
int oci_write(const struct oci_document *d, char **text, size_t *len);

#endif
