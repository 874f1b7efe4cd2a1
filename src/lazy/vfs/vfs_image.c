/*
 * vfs_image.c - images, in registries and in OCI layouts
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_private.h"

#include "lazy/vfs/cache.h"
#include "lazy/vfs/vfs_image.h"

#include "base/hex.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "image/oci/oci_edit.h"
#include "image/oci/oci_layout.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Names */

#define ALPHANUMERIC "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789"

static const char expected[] =
    "expected docker://HOST/NAME[:TAG][@sha256:DIGEST]";

static bool
is_made_of(const char *s, const char *characters)
{
	return *s != '\0' && s[strspn(s, characters)] == '\0';
}

bool
vfs_image_host(const char *name, bool *loopback)
{
	char host[VFS_IMAGE_HOST];
	bool brackets = *name == '[';
	size_t len = strcspn(name + brackets, brackets ? "]" : ":");
	const char *port = name + brackets + len;
	struct in6_addr v6;
	struct in_addr v4;

	snprintf(host, sizeof(host), "%.*s", (int)len, name + brackets);
	if (brackets && *port++ != ']')
		return false;
	if (*port != '\0' && (*port != ':' || strlen(port) > 6 ||
	    !is_made_of(port + 1, "0123456789") ||
	    atoi(port + 1) > UINT16_MAX))
		return false;
	if (brackets) {
		if (inet_pton(AF_INET6, host, &v6) != 1)
			return false;
		*loopback = IN6_IS_ADDR_LOOPBACK(&v6);
		return true;
	}
	*loopback = strcasecmp(host, "localhost") == 0 ||
	    (inet_pton(AF_INET, host, &v4) == 1 &&
	    ntohl(v4.s_addr) >> 24 == 127);
	return is_made_of(host, ALPHANUMERIC ".-_");
}

int
vfs_image_parse(const char *text, bool plain_http, struct vfs_image_name *n,
    char why[LAYER_WHY])
{
	const char *host = vfs_image_is_remote(text) ?
	    text + strlen(VFS_IMAGE_SCHEME) : text;
	const char *slash = strchr(host, '/'), *digest;
	char *name, *tag;
	uint8_t sum[LAYER_DIGEST];
	bool loopback;
	int rc = -EINVAL;

	*why = '\0';
	if (slash == NULL) {
		snprintf(why, LAYER_WHY, "%s", expected);
		return -EINVAL;
	}
	if ((size_t)(slash - host) >= sizeof(n->host))
		return -ENAMETOOLONG;
	snprintf(n->host, sizeof(n->host), "%.*s", (int)(slash - host), host);
	digest = strchr(slash, '@');
	name = strndup(slash + 1, digest == NULL ? strlen(slash) :
	    (size_t)(digest - slash - 1));
	if (name == NULL)
		return -ENOMEM;
	tag = strchr(name, ':');
	if (tag != NULL)
		*tag++ = '\0';

	if (strchr(n->host, '@') != NULL) {
		snprintf(why, LAYER_WHY, "the host contains '@'; credentials "
		    "are given with --authfile or --creds-file");
		goto out;
	}
	if (!vfs_image_host(n->host, &loopback)) {
		snprintf(why, LAYER_WHY, "'%.100s' is not HOST or HOST:PORT",
		    n->host);
		goto out;
	}
	if (!is_made_of(name, ALPHANUMERIC "._-/") || *name == '/' ||
	    strstr(name, "..") != NULL) {
		snprintf(why, LAYER_WHY, "%s", expected);
		goto out;
	}
	if ((size_t)snprintf(n->base, sizeof(n->base), "%s://%s/v2/%s",
	    plain_http || loopback ? "http" : "https", n->host, name) >=
	    sizeof(n->base)) {
		rc = -ENAMETOOLONG;
		goto out;
	}
	if (digest != NULL) {
		rc = hex_read_sha256(sum, digest + 1) == 0 ? 0 : -EINVAL;
		if (rc == 0)
			hex_write_sha256(n->reference, sum);
		else
			snprintf(why, LAYER_WHY, "the digest is not sha256: "
			    "followed by 64 hexadecimal digits");
		goto out;
	}
	if (tag != NULL && strlen(tag) >= sizeof(n->reference)) {
		rc = -ENAMETOOLONG;
		goto out;
	}
	strcpy(n->reference, tag == NULL ? "latest" : tag);
	rc = is_made_of(n->reference, ALPHANUMERIC "._-") ? 0 : -EINVAL;
	if (rc != 0)
		snprintf(why, LAYER_WHY, "%s", expected);
out:
	free(name);
	return rc;
}

bool
vfs_image_is_remote(const char *operand)
{
	return strncmp(operand, VFS_IMAGE_SCHEME, strlen(VFS_IMAGE_SCHEME)) ==
	    0;
}

/* Documents */

static const char accepted[] =
    "application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

/*
 * Gets a manifest by its reference, or a blob by its digest, from the cache if
 * possible, and writes its SHA-256, which must be the given digest.
 */
static int
get_document(const struct vfs_remote *remote, const struct vfs_image_name *n,
    const char *kind, const char *reference, struct oci_document **d,
    char hex[OCI_HEX + 1])
{
	char url[sizeof(n->from) + sizeof(n->reference) + 16];
	char key[OCI_HEX + 16], why[LAYER_WHY] = "", *text = NULL;
	const char *digest = strchr(reference, ':');
	struct http_document from = { .body = { .len = 0 } };
	uint8_t sum[DIGEST_MAX];
	bool found;
	size_t len;
	int rc = 0;

	snprintf(url, sizeof(url), "%s/%s/%s", n->from, kind, reference);
	found = remote->cache_kept && digest != NULL && cache_text_read(
	    remote->cache_dir, reference, OCI_DOCUMENT_MAX, &text, &len) == 0;
	if (!found) {
		rc = http_get(remote->http, url, strcmp(kind, "manifests") == 0
		    ? accepted : NULL, OCI_DOCUMENT_MAX, &from, why);
		text = from.body.data;
		len = from.body.len;
	}
	if (rc == 0)
		rc = digest_sha256(text, len, sum);
	if (rc != 0)
		goto out;
	hex_write(hex, sum, sizeof(sum));
	if (digest != NULL && strcmp(digest + 1, hex) != 0) {
		snprintf(why, sizeof(why), OCI_NOT_ITS);
		rc = -EBADMSG;
		goto out;
	}
	rc = oci_parse(d, text, len, why);
	if (rc == 0 && remote->cache_kept && !found) {
		snprintf(key, sizeof(key), "sha256:%s", hex);
		(void)cache_text_write(remote->cache_dir, key, text, len);
	}
out:
	if (found)
		sys_free(text);
	http_document_free(&from);
	return rc == 0 ? 0 : vfs_refuse(&remote->report, url, rc, why);
}

static int
get_blob(const struct vfs_remote *remote, const struct vfs_image_name *n,
    const char *kind, const struct oci_blob *b, struct oci_document **d)
{
	char reference[OCI_HEX + 16], hex[OCI_HEX + 1];

	snprintf(reference, sizeof(reference), "sha256:%s", b->hex);
	return get_document(remote, n, kind, reference, d, hex);
}

/* Gets the manifest from n->from. */
static int
get_manifest(const struct vfs_remote *remote, const struct vfs_image_name *n,
    struct oci_document **d, char hex[OCI_HEX + 1])
{
	struct oci_document *index;
	char why[OCI_WHY] = "";
	struct oci_blob b;
	int rc = get_document(remote, n, "manifests", n->reference, d, hex);

	if (rc != 0 || !oci_is_index(*d))
		return rc;
	/* an index: the manifest for this machine is in it */
	index = *d;
	*d = NULL;
	rc = oci_choose_here(index, NULL, &b, why);
	oci_free(index);
	if (rc != 0)
		return vfs_refuse(&remote->report, n->from, rc, why);
	rc = get_blob(remote, n, "manifests", &b, d);
	if (rc != 0)
		return rc;
	strcpy(hex, b.hex);
	if (!oci_is_index(*d))
		return 0;
	oci_free(*d);
	*d = NULL;
	return vfs_refuse(&remote->report, n->from, -EBADMSG,
	    "an index contains another index");
}

/* Has mirrors that have changed read again.  Returns their version. */
static unsigned
renew_mirrors(const struct vfs_remote *remote)
{
	const struct vfs_report *report = &remote->report;
	char why[LAYER_WHY], text[LAYER_WHY + 64];

	vfs_registries_refresh(remote->registries, why);
	snprintf(text, sizeof(text), "what was read before is used: %s", why);
	if (*why != '\0')
		report->warn(report->arg, "mirrors", text);
	return vfs_registries_version(remote->registries);
}

bool
vfs_image_is_current(const struct vfs_remote *remote,
    const struct vfs_image_name *n)
{
	return n->version == renew_mirrors(remote);
}

int
vfs_image_manifest(const struct vfs_remote *remote, struct vfs_image_name *n,
    struct oci_document **d, char hex[OCI_HEX + 1])
{
	char (*from)[VFS_BASE] = sys_calloc(VFS_ENDPOINTS, sizeof(*from));
	struct vfs_remote quiet = *remote;
	char why[LAYER_WHY] = "";
	int rc = -ENOMEM, count;

	/* what a mirror does not have is no error */
	quiet.report.fail = remote->report.warn;
	n->version = renew_mirrors(remote);
	count = from == NULL ? -ENOMEM : vfs_registries_find(
	    remote->registries, n->host, n->base, n->reference, from, why);
	if (count < 0)
		rc = vfs_refuse(&remote->report, n->base, count, why);
	for (int i = 0; rc != 0 && i < count; i++) {
		strcpy(n->from, from[i]);
		rc = get_manifest(i + 1 < count ? &quiet : remote, n, d, hex);
	}
	sys_free(from);
	return rc;
}

int
vfs_image_config(const struct vfs_remote *remote,
    const struct vfs_image_name *n, const struct oci_document *manifest,
    struct oci_document **d)
{
	char why[OCI_WHY] = "";
	struct oci_descriptor x;
	int rc = oci_get(manifest, NULL, 0, &x, why);

	if (rc == 0)
		return get_blob(remote, n, "blobs", &x.blob, d);
	return vfs_refuse(&remote->report, n->from, rc, rc == -ENOENT ?
	    "the manifest has no config" : why);
}

/* Layers */

/*
 * Adds all layers.  The path of a layer is prefix followed by the hex digits of
 * its digest.
 */
static int
add_layers(struct vfs_stack *s, const char *name, const struct oci_document *d,
    const char *prefix)
{
	const struct vfs_options *o = &s->v->o;
	struct oci_blob *layers = NULL;
	char why[OCI_WHY] = "", *path;
	size_t count;
	int rc = oci_layers(d, &layers, &count, why);

	if (rc == 0 && count > 1 && o->expect.index_digest != NULL) {
		rc = -EINVAL;
		snprintf(why, sizeof(why), "--index-digest is for a single "
		    "layer, but this image has %zu", count);
	}
	if (rc != 0)
		(void)vfs_refuse(&o->remote.report, name, rc, why);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (asprintf(&path, "%s%s", prefix, layers[i].hex) == -1) {
			rc = vfs_refuse(&o->remote.report, name, -ENOMEM, "");
			break;
		}
		rc = vfs_stack_add(s, path, d, i);
		free(path);
	}
	sys_free(layers);
	return rc;
}

static int
add_registry(struct vfs_stack *s, const char *operand)
{
	const struct vfs_remote *remote = &s->v->o.remote;
	struct oci_document *d = NULL;
	struct vfs_image_name n;
	char prefix[sizeof(n.from) + 32], hex[OCI_HEX + 1], why[LAYER_WHY];
	int rc = vfs_image_parse(operand, remote->plain_http, &n, why);

	if (rc != 0)
		return vfs_refuse(&remote->report, operand, rc, why);
	rc = vfs_image_manifest(remote, &n, &d, hex);
	if (rc != 0)
		return rc;
	snprintf(prefix, sizeof(prefix), "%s/blobs/sha256:", n.from);
	rc = add_layers(s, operand, d, prefix);
	oci_free(d);
	return rc;
}

static int
open_directory(const char *path)
{
	return sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	    0);
}

/*
 * Adds DIRECTORY or DIRECTORY:TAG with an index.json, and sets *rc.  Returns
 * false for other operands.
 */
static bool
add_layout(struct vfs_stack *s, const char *operand, int *rc)
{
	const struct vfs_report *report = &s->v->o.remote.report;
	char at[OCI_HEX + 1], why[OCI_WHY], text[OCI_HEX + OCI_WHY + 4];
	char *path = strdup(operand), *tag = NULL, *prefix;
	struct oci_document *d = NULL;
	int dir;

	if (path == NULL)
		return false;
	dir = open_directory(path);
	if (dir < 0 && (tag = strrchr(path, ':')) != NULL) {
		*tag++ = '\0';
		dir = open_directory(path);
	}
	if (dir < 0) {
		free(path);
		return false;
	}
	*rc = oci_manifest_open(dir, tag, &d, at, why);
	if (*rc != 0) {
		snprintf(text, sizeof(text), "%s: %s", at, why);
		(void)vfs_refuse(report, path, *rc, text);
	} else if (asprintf(&prefix, "%s/blobs/sha256/", path) == -1) {
		*rc = vfs_refuse(report, path, -ENOMEM, "");
	} else {
		*rc = add_layers(s, path, d, prefix);
		free(prefix);
	}
	oci_free(d);
	sys_close(dir);
	free(path);
	return true;
}

int
vfs_image_add(struct vfs_stack *s, const char *operand)
{
	bool repository;		/* in CVMFS format */
	struct stat st;
	int dir, rc;

	if (vfs_image_is_remote(operand))
		return add_registry(s, operand);
	if (strstr(operand, "://") == NULL) {
		dir = open_directory(operand);
		repository = dir >= 0 &&
		    sys_fstatat(dir, ".cvmfspublished", &st, 0) == 0;
		if (dir >= 0)
			sys_close(dir);
		if (!repository && add_layout(s, operand, &rc))
			return rc;
	}
	return vfs_stack_add(s, operand, NULL, 0);
}
