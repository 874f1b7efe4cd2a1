/*
 * oci_edit.h - modifying and writing the documents of an OCI image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Unchanged members are written as they were read, in the same order, without
 * white space.  A struct oci_document belongs to one thread at a time.
 */
#ifndef COLDPRESS_OCI_EDIT_H
#define COLDPRESS_OCI_EDIT_H

#include "image/oci/oci.h"

/*
 * A descriptor.  Its strings belong to the document and are valid until the
 * document is changed; a missing string is "".
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
 * Used in place of a list for the text or annotations of the document itself.
 */
#define OCI_SELF ""

/*
 * Returns the number of descriptors in a list, or 0 if the document has no such
 * list.
 */
size_t oci_count(const struct oci_document *d, const char *list);

/*
 * Gets descriptor n of a list or, if list is NULL, the descriptor of the
 * manifest's config.  Returns 0, -EBADMSG with the reason in why, or -ENOENT if
 * the manifest has no config.
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
 * Sets an annotation of a descriptor, or removes it if value is NULL.  Returns
 * 0 or -ENOMEM.
 */
int oci_annotate(struct oci_document *d, const char *list, size_t n,
    const char *name, const char *value);

/* Sets another member of a descriptor.  Returns 0 or -ENOMEM. */
int oci_set_text(struct oci_document *d, const char *list, size_t n,
    const char *name, const char *text);

/* Sets a descriptor's platform to that of x.  Returns 0 or -ENOMEM. */
int oci_set_platform(struct oci_document *d, const char *list, size_t n,
    const struct oci_descriptor *x);

/* Copies the platform in an image's config to x. */
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
 * Sets the diff_id of layer n in a config to a SHA-256 in hexadecimal.  Returns
 * 0, -EBADMSG (the config has no diff_id for the layer) or -ENOMEM.
 */
int oci_set_diff_id(struct oci_document *config, size_t n,
    const char hex[OCI_HEX + 1]);

/*
 * Serializes the document.  *text is set to the *len bytes, which the caller
 * frees with sys_free().  Returns 0 or -ENOMEM.
 */
int oci_write(const struct oci_document *d, char **text, size_t *len);

#endif
