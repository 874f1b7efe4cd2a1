/*
 * convert.h - converting the layers of all images in an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: OCI image specification 1.1, "Image Index", "Image Manifest" and
 * "Image Configuration".  A document is written after the documents that it
 * refers to, with their new digests; unaffected parts are not changed.
 */
#ifndef COLDPRESS_LAZY_CONVERT_H
#define COLDPRESS_LAZY_CONVERT_H

#include "image/oci/oci_layout.h"
#include "image/oci/oci_new.h"
#include "lazy/pack/pack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct convert_options {
	/*
	 * How to make the layers.  For ztocs, the images are kept, and a SOCI
	 * index is added to each.  The progress line is started for each layer.
	 */
	const struct pack_options *pack;
	bool quiet;			/* draw no progress line */
	uint64_t min_layer;		/* smaller layers get no ztoc */
	const char *platform;		/* os/architecture[/variant]; NULL: all */
	const char *tag;		/* NULL: all */
	int dir;			/* the old layout */
	struct oci_new *new;		/* the new layout, open */
	const char *new_path;		/* its path, for messages */
	/*
	 * Reports what is wrong with a blob, a document or the new layout;
	 * fatal: it ends the conversion.
	 */
	void (*report)(void *arg, bool fatal, const char *what,
	    const char *why);
	/* Called for each new layer or ztoc. */
	void (*made)(void *arg, const struct oci_blob *from,
	    const struct oci_blob *to, const struct pack_result *r);
	void *arg;
};

struct convert_result {
	size_t layers;
	uint64_t from_B, to_B;		/* total size of all layers */
	size_t soci;			/* number of SOCI indices */
};

struct convert;

/*
 * Converts all images that have the tag and the platform.  *c must be closed
 * even after an error.  Returns 0, or -errno after reporting the error.
 */
int convert_images(struct convert **c, const struct convert_options *o,
    struct convert_result *r);

/*
 * Writes the index of the new layout, and gives it its name.  Returns 0, or
 * -errno after reporting the error.
 */
int convert_commit(struct convert *c);
void convert_close(struct convert *c);		/* may be NULL */

#endif
