/*
 * layermount_image.c - the layers of an operand
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI distribution specification 1.1, "Pulling manifests".
 */
#include "layermount.h"

#include "base/hex.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "image/oci/oci_edit.h"
#include "image/oci/oci_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char accepted[] =
    "application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

/* Documents */

/* Gets a document from a server.  The caller frees the text. */
static int
fetch_text(struct layermount *m, const char *url, const char *media_types,
    char **text, size_t *len, char why[LAYER_WHY])
{
	struct http_document d;
	int rc = http_get(m->http, url, media_types, OCI_DOCUMENT_MAX, &d,
	    why);

	if (rc == 0) {
		*text = d.body.data;
		*len = d.body.len;
		d.body = (struct strbuf){ .len = 0 };
	}
	http_document_free(&d);
	return rc;
}

/*
 * Parses a document, which must match the given digest unless that is NULL, and
 * writes its SHA-256.
 */
static int
parse(const char *text, size_t len, const char *digest,
    struct oci_document **d, char hex[OCI_HEX + 1], char why[LAYER_WHY])
{
	uint8_t sum[DIGEST_MAX];
	int rc = digest_sha256(text, len, sum);

	hex_write(hex, sum, sizeof(sum));
	if (rc == 0 && digest != NULL &&
	    strcmp(strchr(digest, ':') + 1, hex) != 0) {
		snprintf(why, LAYER_WHY, OCI_NOT_ITS);
		rc = -EBADMSG;
	}
	return rc != 0 ? rc : oci_parse(d, text, len, why);
}

/*
 * Gets a manifest by its reference, or a blob by its digest, from the cache if
 * possible, and writes its SHA-256.
 */
static int
get_document(struct layermount *m, const struct image_name *n,
    const char *kind, const char *reference, struct oci_document **d,
    char hex[OCI_HEX + 1])
{
	char url[sizeof(n->base) + sizeof(n->reference) + 16];
	char key[OCI_HEX + 16], why[LAYER_WHY] = "", *text = NULL;
	const char *digest = strchr(reference, ':') == NULL ? NULL : reference;
	bool cached = m->o.cache != NULL, found;
	size_t len;
	int rc = 0;

	snprintf(url, sizeof(url), "%s/%s/%s", n->base, kind, reference);
	found = cached && digest != NULL && cache_text_read(m->cache_dir,
	    digest, OCI_DOCUMENT_MAX, &text, &len) == 0;
	if (!found)
		rc = fetch_text(m, url, strcmp(kind, "manifests") == 0 ?
		    accepted : NULL, &text, &len, why);
	if (rc == 0)
		rc = parse(text, len, digest, d, hex, why);
	if (rc == 0 && cached && !found) {
		snprintf(key, sizeof(key), "sha256:%s", hex);
		(void)cache_text_write(m->cache_dir, key, text, len);
	}
	sys_free(text);
	return rc == 0 ? 0 : layermount_refuse(m, url, rc, why);
}

/* Chooses the manifest for this machine from an index. */
static int
choose(struct layermount *m, const char *name, struct oci_document *index,
    struct oci_blob *b)
{
	char why[OCI_WHY] = "";
	int rc = oci_choose_here(index, NULL, b, why);

	return rc == 0 ? 0 : layermount_refuse(m, name, rc, why);
}

static int
get_blob(struct layermount *m, const struct image_name *n, const char *kind,
    const struct oci_blob *b, struct oci_document **d)
{
	char reference[OCI_HEX + 16], hex[OCI_HEX + 1];

	snprintf(reference, sizeof(reference), "sha256:%s", b->hex);
	return get_document(m, n, kind, reference, d, hex);
}

int
image_manifest(struct layermount *m, const struct image_name *n,
    struct oci_document **d, char hex[OCI_HEX + 1])
{
	struct oci_document *index;
	struct oci_blob b;
	int rc = get_document(m, n, "manifests", n->reference, d, hex);

	if (rc != 0 || !oci_is_index(*d))
		return rc;
	index = *d;
	*d = NULL;
	rc = choose(m, n->base, index, &b);
	oci_free(index);
	if (rc == 0)
		rc = get_blob(m, n, "manifests", &b, d);
	if (rc == 0)
		strcpy(hex, b.hex);
	if (rc == 0 && oci_is_index(*d)) {
		oci_free(*d);
		*d = NULL;
		rc = layermount_refuse(m, n->base, -EBADMSG,
		    "an index contains another index");
	}
	return rc;
}

int
image_config(struct layermount *m, const struct image_name *n,
    const struct oci_document *manifest, struct oci_document **d)
{
	char why[OCI_WHY] = "";
	struct oci_descriptor x;
	int rc = oci_get(manifest, NULL, 0, &x, why);

	if (rc == 0)
		return get_blob(m, n, "blobs", &x.blob, d);
	return layermount_refuse(m, n->base, rc, rc == -ENOENT ?
	    "the manifest has no config" : why);
}

/*
 * Adds all layers.  The path of a layer is prefix followed by the hex digits of
 * its digest.
 */
static int
add_layers(struct stack *s, const char *name, const struct oci_document *d,
    const char *prefix)
{
	struct oci_blob *layers = NULL;
	char why[OCI_WHY] = "", *path;
	size_t count;
	int rc = oci_layers(d, &layers, &count, why);

	if (rc == 0 && count > 1 && s->m->o.index_digest != NULL) {
		rc = -EINVAL;
		snprintf(why, sizeof(why), "--index-digest is for a single "
		    "layer, but this image has %zu", count);
	}
	if (rc != 0)
		(void)layermount_refuse(s->m, name, rc, why);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (asprintf(&path, "%s%s", prefix, layers[i].hex) == -1) {
			rc = layermount_refuse(s->m, name, -ENOMEM, "");
			break;
		}
		rc = source_add(s, path, d, i);
		free(path);
	}
	sys_free(layers);
	return rc;
}

static int
open_registry(struct stack *s, const char *operand)
{
	struct oci_document *d = NULL;
	struct image_name n;
	char prefix[sizeof(n.base) + 32], hex[OCI_HEX + 1], why[LAYER_WHY];
	int rc = image_parse(s->m, operand, &n, why);

	if (rc != 0)
		return layermount_refuse(s->m, operand, rc, why);
	rc = image_manifest(s->m, &n, &d, hex);
	if (rc == 0) {
		snprintf(prefix, sizeof(prefix), "%s/blobs/sha256:", n.base);
		rc = add_layers(s, operand, d, prefix);
	}
	oci_free(d);
	return rc;
}

/* Layouts */

static int
open_layout(struct stack *s, int dir, const char *layout, const char *tag)
{
	struct oci_document *d = NULL;
	char at[OCI_HEX + 1], why[OCI_WHY], *prefix;
	int rc = oci_manifest_open(dir, tag, &d, at, why);

	if (rc != 0) {
		msg_error(&s->m->msg, "%s: %s: %s", layout, at, why);
	} else if (asprintf(&prefix, "%s/blobs/sha256/", layout) == -1) {
		rc = layermount_refuse(s->m, layout, -ENOMEM, "");
	} else {
		rc = add_layers(s, layout, d, prefix);
		free(prefix);
	}
	oci_free(d);
	return rc;
}

/*
 * Returns 1 for DIRECTORY or DIRECTORY:TAG with an index.json, 0 for other
 * operands.
 */
static int
try_layout(struct stack *s, const char *operand, int *rc)
{
	char *path = strdup(operand), *tag = NULL;
	int dir = -1;

	if (path == NULL)
		return 0;
	dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	    0);
	if (dir < 0 && (tag = strrchr(path, ':')) != NULL) {
		*tag++ = '\0';
		dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY |
		    O_CLOEXEC, 0);
	}
	if (dir >= 0) {
		*rc = open_layout(s, dir, path, tag);
		sys_close(dir);
	}
	free(path);
	return dir >= 0;
}

/* Returns whether a directory is a repository in CVMFS format. */
static bool
is_repository(const char *path)
{
	struct stat st;
	int dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	bool is = dir >= 0 && sys_fstatat(dir, ".cvmfspublished", &st, 0) == 0;

	if (dir >= 0)
		sys_close(dir);
	return is;
}

int
image_open(struct stack *s, const char *operand)
{
	int rc;

	if (image_is_remote(operand))
		return open_registry(s, operand);
	if (strstr(operand, "://") == NULL && !is_repository(operand) &&
	    try_layout(s, operand, &rc))
		return rc;
	return source_add(s, operand, NULL, 0);
}
