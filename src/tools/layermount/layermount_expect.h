/*
 * layermount_expect.h - the properties expected of a layer before it is opened
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERMOUNT_EXPECT_H
#define COLDPRESS_LAYERMOUNT_EXPECT_H

#include "layermount.h"

/* The digests to which a struct layer_expect points. */
struct source_digests {
	uint8_t index[LAYER_DIGEST], compact[LAYER_DIGEST];
};

/*
 * Collects what the manifest (NULL: none) or the command line says about a
 * layer.  Returns 0, or -EINVAL if the digest given for its index is malformed.
 */
int source_expect(struct layermount *m, const struct oci_document *manifest,
    size_t which, struct layer_expect *e, struct source_digests *d);

#endif
