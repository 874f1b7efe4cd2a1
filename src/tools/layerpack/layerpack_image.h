/*
 * layerpack_image.h - declarations shared by the parts that convert an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERPACK_IMAGE_H
#define COLDPRESS_LAYERPACK_IMAGE_H

#include "layerpack_make.h"

#include "image/oci/oci_edit.h"
#include "image/oci/oci_layout.h"
#include "image/oci/oci_new.h"

/* A layer that was converted, which several images may have. */
struct image_layer {
	struct oci_blob from, to;
	char diff_id[OCI_HEX + 1];
	struct pack_annotation annotations[PACK_ANNOTATIONS_MAX];
	size_t annotation_count;
};

struct image {
	struct layerpack *p;
	struct pack_options pack;
	struct progress progress;
	char *path;			/* of the layout */
	const char *tag;		/* NULL: none was given */
	int dir;
	struct oci_new new;
	struct image_layer *layers;
	size_t layer_count, layer_cap;
	uint64_t from_B, to_B;		/* of all layers */
};

/* Reports what is wrong with a part of the layout, and returns rc. */
int image_refuse(struct image *m, const char *what, int rc, const char *why);

/*
 * Converts layer n of a manifest, unless it is no layer of files, and makes the
 * manifest and the config, NULL if there is none, refer to the result.  0, or
 * -errno after reporting the error.
 */
int image_convert_layer(struct image *m, struct oci_document *manifest,
    size_t n, struct oci_document *config);

#endif
