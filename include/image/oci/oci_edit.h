/*
 * oci_edit.h - changing the documents of an OCI image, and writing them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What is not changed is written as it was read, in the same order, without
 * white space.  A struct oci_document belongs to one thread at a time.
 */
#ifndef COLDPRESS_OCI_EDIT_H
#define COLDPRESS_OCI_EDIT_H

#include "image/oci/oci.h"

/*
 * A descriptor: its text is the document's, valid until that is changed; ""
 * where there is none.
 */
struct oci_descriptor {
	struct oci_blob blob;
	const char *media_type;
	const char *artifact_type;
	const char *os, *architecture, *variant;	/* of its platform */
	const char *tag;
};

/* The lists of descriptors: of a manifest, and of an index. */
#define OCI_LAYERS "layers"
#define OCI_MANIFESTS "manifests"
/* Instead of a list: the document itself, to set its text or annotations. */
#define OCI_SELF ""

/* How many descriptors a list has; 0 if the document has no such list. */
size_t oci_count(const struct oci_document *d, const char *list);

/*
 * Descriptor n of a list, or with the list NULL the manifest's config.  0;
 * -EBADMSG with a clause in why; -ENOENT: a manifest without config.
 */
int oci_get(const struct oci_document *d, const char *list, size_t n,
    struct oci_descriptor *x, char why[OCI_WHY]);

/*
 * Makes that descriptor, which oci_get() has found, refer to another blob, and
 * sets its media type unless that is NULL.  0 or -ENOMEM.
 */
int oci_set(struct oci_document *d, const char *list, size_t n,
    const struct oci_blob *b, const char *media_type);

/* Sets or, with value NULL, removes an annotation of it.  0 or -ENOMEM. */
int oci_annotate(struct oci_document *d, const char *list, size_t n,
    const char *name, const char *value);

/* Sets another member of it.  0 or -ENOMEM. */
int oci_set_text(struct oci_document *d, const char *list, size_t n,
    const char *name, const char *text);

/* Sets its platform to that of x.  0 or -ENOMEM. */
int oci_set_platform(struct oci_document *d, const char *list, size_t n,
    const struct oci_descriptor *x);

/* Fills in the platform of x as an image's config states it. */
void oci_config_platform(const struct oci_document *config,
    struct oci_descriptor *x);

/*
 * Adds a descriptor at the end of a list.  0, -EBADMSG (the document has no
 * such list) or -ENOMEM.
 */
int oci_add(struct oci_document *d, const char *list, const struct oci_blob *b,
    const char *media_type);

/* Removes a descriptor from its list. */
void oci_remove(struct oci_document *d, const char *list, size_t n);

/*
 * Sets the SHA-256, in hexadecimal, of layer n's archive in a config.  0,
 * -EBADMSG (it has none) or -ENOMEM.
 */
int oci_set_diff_id(struct oci_document *config, size_t n,
    const char hex[OCI_HEX + 1]);

/*
 * The document as *len bytes of text, to be freed with sys_free().  0 or
 * -ENOMEM.
 */
int oci_write(const struct oci_document *d, char **text, size_t *len);

#endif
