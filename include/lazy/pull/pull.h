/*
 * pull.h - fetching an image from a registry and unpacking it at once
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: OCI distribution specification 1.1, "Pulling manifests" and "Pulling
 * blobs"; OCI image specification 1.1.
 *
 * Layers are fetched in spans over several connections, hashed and decompressed
 * as they arrive, and unpacked in order, while the next one is fetched and
 * decompressed.  No compressed layer is stored.  Every byte is hashed on its
 * way: a digest is compared when its layer has been unpacked, so what was
 * unpacked counts only after pull_tree() has returned 0.
 *
 * A struct pull belongs to one thread at a time.
 */
#ifndef COLDPRESS_LAZY_PULL_H
#define COLDPRESS_LAZY_PULL_H

#include "base/progress.h"
#include "image/oci/oci_new.h"
#include "lazy/http/http.h"
#include "lazy/vfs/vfs_image.h"

#include <stdbool.h>
#include <stdint.h>

struct pull_options {
	struct http *http;
	struct vfs_registries *registries;	/* or NULL */
	bool plain_http;
	const char *platform;		/* os/architecture[/variant]; NULL: that
					 * of this machine */
	unsigned threads;		/* one unpacks, and the others, or it,
					 * decompress each layer */
	unsigned connections;
	uint64_t max_B;			/* of all layers, uncompressed */
	struct vfs_report report;
	struct progress *progress;	/* started by the functions below */
	bool quiet;			/* draw no progress line */
};

/* An image: its documents, verified. */
struct pull {
	struct pull_options o;
	struct vfs_image_name name;
	char *tag;			/* of the name, or NULL */
	char *manifest_text;
	size_t manifest_len;
	char manifest_type[80];		/* media type */
	char manifest_hex[OCI_HEX + 1];
	char *config_text;
	size_t config_len;
	struct oci_document *manifest, *config;
	struct oci_blob *layers;	/* lowest first */
	size_t count;
	uint64_t total_B;		/* of the layers, compressed */
	/* after pull_tree() */
	uint64_t unpacked_B;		/* of the layers' archives */
	uint64_t entries;		/* in them */
	uint64_t devices, attributes;	/* that could not be made or set */
};

/*
 * Finds the image named by ref, docker://HOST/NAME[:TAG][@DIGEST], and gets and
 * verifies its manifest and config.  Returns 0, or -errno after reporting the
 * error, as the functions below do; p must be closed even after an error.
 */
int pull_open(struct pull *p, const char *ref, const struct pull_options *o);
void pull_close(struct pull *p);

/*
 * Unpacks all layers into the empty directory root.  owner: running as root, set
 * owners and create devices.  After an error, what it contains is worthless.
 */
int pull_tree(struct pull *p, int root, bool owner);

/*
 * Stores the layers, the config and the manifest in a new layout, and commits
 * it.  tag: the name that its index gives the image, or NULL.
 */
int pull_layout(struct pull *p, struct oci_new *new, const char *path,
    const char *tag);

#endif
