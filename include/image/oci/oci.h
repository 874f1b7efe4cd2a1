/*
 * oci.h - the documents of an OCI image layout: indices and manifests
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layout", "Image Index" and
 * "Image Manifest"; Docker's manifest lists and manifests of version 2 have
 * the same members.  JSON is parsed by yajl.  All thread-safe.
 */
#ifndef COLDPRESS_OCI_H
#define COLDPRESS_OCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OCI_DOCUMENT_MAX = 1 << 20,	/* bytes of one */
	OCI_HEX = 64,			/* digits of a SHA-256 */
	OCI_LAYERS_MAX = 1024,
	OCI_WHY = 256
};

/* A file below blobs/sha256. */
struct oci_blob {
	char hex[OCI_HEX + 1];		/* its digest, which is its name */
	uint64_t size;
};

struct oci_document;

/*
 * Parses len bytes of text followed by a NUL.  0, or -EBADMSG with a clause in
 * why; or -ENOMEM.
 */
int oci_parse(struct oci_document **d, const char *text, size_t len,
    char why[OCI_WHY]);
void oci_free(struct oci_document *d);		/* d may be NULL */

/* Whether it leads to manifests, not to layers. */
bool oci_is_index(const struct oci_document *d);

/*
 * The manifest, or index, of that tag; NULL: the only one.  Of several it is
 * the one for machine, as uname(2) names it.  0, -ENOENT (none, or more than
 * one) or -EBADMSG, with a clause in why.
 */
int oci_choose(const struct oci_document *d, const char *tag,
    const char *machine, struct oci_blob *b, char why[OCI_WHY]);

/*
 * The layers of a manifest, lowest first, for sys_free().  0, -EBADMSG with a
 * clause in why, or -ENOMEM.
 */
int oci_layers(const struct oci_document *d, struct oci_blob **layers,
    size_t *count, char why[OCI_WHY]);

#endif
