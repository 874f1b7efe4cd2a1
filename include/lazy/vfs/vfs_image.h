/*
 * vfs_image.h - images, in registries and in OCI layouts
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The host in a name decides where requests go, and whether they use TLS.
 *
 * Source: OCI distribution specification 1.1, "Pulling manifests".
 */
#ifndef COLDPRESS_LAZY_VFS_VFS_IMAGE_H
#define COLDPRESS_LAZY_VFS_VFS_IMAGE_H

#include "image/oci/oci.h"
#include "lazy/vfs/vfs.h"
#include "lazy/vfs/vfs_registries.h"

#define VFS_IMAGE_SCHEME "docker://"

enum { VFS_IMAGE_HOST = 264 };

/* An image in a registry. */
struct vfs_image_name {
	char host[VFS_IMAGE_HOST];	/* HOST or HOST:PORT */
	char base[VFS_BASE];		/* scheme://HOST/v2/NAME */
	char from[VFS_BASE];		/* the same, or that of a mirror: where
					 * the manifest was found */
	char reference[256];		/* a digest or a tag */
	unsigned version;		/* of the mirrors that led there */
};

/* Examines HOST or HOST:PORT, and finds whether it is a loopback address. */
bool vfs_image_host(const char *name, bool *loopback);

/* Returns whether an operand is the name of an image in a registry. */
bool vfs_image_is_remote(const char *operand);

/*
 * Parses HOST/NAME[:TAG][@DIGEST], with or without VFS_IMAGE_SCHEME.  Without
 * plain_http, only loopback addresses are used without TLS.  Returns 0, or
 * -EINVAL, -ENAMETOOLONG or -ENOMEM with the reason, or "", in why.
 */
int vfs_image_parse(const char *text, bool plain_http,
    struct vfs_image_name *n, char why[LAYER_WHY]);

/*
 * Gets an image's manifest for this machine, and its SHA-256, from the first
 * mirror that has it, or from its registry, and sets n->from and n->version.
 * Returns 0, or
 * -errno after reporting the error; *d must be freed with oci_free().
 * Thread-safe.
 */
int vfs_image_manifest(const struct vfs_remote *remote,
    struct vfs_image_name *n, struct oci_document **d, char hex[OCI_HEX + 1]);

/*
 * Has files with mirrors that have changed read again, as does
 * vfs_image_manifest(), and returns whether n->from is where that would look.
 * Thread-safe.
 */
bool vfs_image_is_current(const struct vfs_remote *remote,
    const struct vfs_image_name *n);

/* Gets a manifest's config from n->from in the same way. */
int vfs_image_config(const struct vfs_remote *remote,
    const struct vfs_image_name *n, const struct oci_document *manifest,
    struct oci_document **d);

/*
 * Adds the layers of an operand to a stack: a URL, an image in a registry, a
 * layout, or a file.  Returns 0, or -errno after reporting the error.
 */
int vfs_image_add(struct vfs_stack *s, const char *operand);

#endif
