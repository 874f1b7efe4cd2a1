/*
 * convert_impl.h - declarations shared by the code that converts images
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_CONVERT_IMPL_H
#define COLDPRESS_LAZY_CONVERT_IMPL_H

#include "lazy/convert/convert.h"

#include "image/oci/oci_edit.h"

/* A converted layer, which may be part of several images. */
struct convert_layer {
	struct oci_blob from, to;
	char diff_id[OCI_HEX + 1];
	struct pack_annotation annotations[PACK_ANNOTATIONS_MAX];
	size_t annotation_count;
};

struct convert {
	const struct convert_options *o;
	struct convert_result *result;
	struct oci_document *index;	/* of the layout */
	struct convert_layer *layers;
	size_t layer_count, layer_cap;
};

/* The type of an image's SOCI index, and the annotation that refers to it. */
#define SOCI_TYPE "application/vnd.amazon.soci.index.v2+json"
#define SOCI_DIGEST "com.amazon.soci.index-digest"

/* Reports why a part of the layout is invalid.  Returns rc. */
int convert_refuse(struct convert *c, const char *what, int rc, const char *why);

/* Reports an error of editing a document, if rc is one, and returns rc. */
int convert_edited(struct convert *c, int rc);

/*
 * Converts layer n of a manifest if it is a layer of files, and updates the
 * manifest and the config (NULL: none) to refer to the result.  Returns 0, or
 * -errno after reporting the error.
 */
int convert_layer_of(struct convert *c, struct oci_document *manifest,
    size_t n, struct oci_document *config);

/*
 * Keeps a layer unchanged.  *ztoc is set to its ztoc, which belongs to c, or to
 * NULL if there is none.  Returns 0, or -errno after reporting the error.
 */
int convert_index_layer(struct convert *c, const struct oci_descriptor *x,
    const struct oci_blob **ztoc);

/*
 * Keeps the image of a manifest unchanged, and adds its SOCI index to `index`,
 * whose descriptor n, with contents x, refers to the image.  Unless in_index is
 * set, `index` is the index of the layout, and a separate index is created for
 * the image and its SOCI index.  Returns 0, or -errno after reporting the
 * error.
 */
int convert_add_soci(struct convert *c, struct oci_document *index, size_t n,
    struct oci_document *manifest, const struct oci_descriptor *x,
    bool in_index);

/*
 * Removes, from descriptor n of an index and from the document that it refers
 * to, all references to a SOCI index that is not kept.  Returns 0, or -errno
 * after reporting the error.
 */
int convert_forget_soci(struct convert *c, struct oci_document *index, size_t n,
    struct oci_document *child);

/*
 * These functions read a document of the old layout (index.json if b is NULL),
 * and write a document to the new layout.  They return 0, or -errno after
 * reporting the error.
 */
int convert_read_document(struct convert *c, const struct oci_blob *b,
    struct oci_document **d);
int convert_write_document(struct convert *c, const struct oci_document *d,
    struct oci_blob *b);
int convert_write_text(struct convert *c, const char *text, size_t len,
    struct oci_blob *b);

/* Copies a blob.  Returns 0, or -errno after reporting the error. */
int convert_copy(struct convert *c, const struct oci_blob *b);

#endif
