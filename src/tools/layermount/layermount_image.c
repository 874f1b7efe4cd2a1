/*
 * layermount_image.c - the layers of an operand
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI distribution specification 1.1, "Pulling manifests".
 */
#include "layermount.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define DOCKER "docker://"

static const char accepted[] =
    "application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

static int
refuse(struct layermount *m, const char *name, int rc, const char *why)
{
	msg_error(&m->msg, "%s: %s", name, why);
	return rc;
}

/* Names */

static bool
is_loopback(const char *host)
{
	return strncmp(host, "localhost:", 10) == 0 ||
	    strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0;
}

int
image_parse(const struct layermount *m, const char *text,
    struct image_name *n)
{
	const char *host = strncmp(text, DOCKER, strlen(DOCKER)) == 0 ?
	    text + strlen(DOCKER) : text;
	const char *path = strchr(host, '/'), *end, *at;
	bool plain = m->o.plain_http || is_loopback(host);
	int len;

	if (path == NULL || path == host || path[1] == '\0')
		return -EINVAL;
	at = strchr(path, '@');
	end = at != NULL ? at : strrchr(path, ':');
	if (end == NULL)
		end = path + strlen(path);
	len = snprintf(n->base, sizeof(n->base), "%s://%.*s/v2%.*s",
	    plain ? "http" : "https", (int)(path - host), host,
	    (int)(end - path), path);
	if (len < 0 || (size_t)len >= sizeof(n->base) ||
	    strlen(end) >= sizeof(n->reference))
		return -ENAMETOOLONG;
	strcpy(n->reference, *end == '\0' ? "latest" : end + 1);
	return strpbrk(n->reference, "/?#") == NULL ? 0 : -EINVAL;
}

/* Documents */

/* Returns whether the bytes have the digest by which they were requested. */
static int
verify(const char *text, size_t len, const char *reference)
{
	uint8_t want[DIGEST_MAX], sum[DIGEST_MAX];
	int rc;

	if (strchr(reference, ':') == NULL)
		return 0;
	if (hex_read_sha256(want, reference) != 0)
		return -EINVAL;
	rc = digest_sha256(text, len, sum);
	return rc != 0 ? rc : memcmp(sum, want, sizeof(want)) == 0 ? 0 :
	    -EBADMSG;
}

static int
get_document(struct layermount *m, const struct image_name *n,
    struct oci_document **out)
{
	char url[sizeof(n->base) + sizeof(n->reference) + 16];
	char why[LAYER_WHY];
	struct http_document d;
	int rc;

	snprintf(url, sizeof(url), "%s/manifests/%s", n->base, n->reference);
	rc = http_get(m->http, url, accepted, OCI_DOCUMENT_MAX, &d, why);
	if (rc == 0) {
		rc = verify(d.body.data, d.body.len, n->reference);
		if (rc != 0)
			snprintf(why, sizeof(why), "%s", rc == -EBADMSG ?
			    "its digest does not match" : strerror(-rc));
	}
	if (rc == 0)
		rc = oci_parse(out, d.body.data, d.body.len, why);
	http_document_free(&d);
	return rc == 0 ? 0 : refuse(m, url, rc, why);
}

/* Chooses the manifest for this machine from an index. */
static int
choose(struct layermount *m, const char *name, struct oci_document *index,
    const char *tag, struct oci_blob *b)
{
	char why[OCI_WHY];
	struct utsname u;
	int rc = uname(&u) == 0 ? 0 : -errno;

	if (rc == 0)
		rc = oci_choose(index, tag, u.machine, b, why);
	return rc == 0 ? 0 : refuse(m, name, rc, why);
}

int
image_manifest(struct layermount *m, const struct image_name *n,
    struct oci_document **d)
{
	struct image_name one = *n;
	struct oci_document *index;
	struct oci_blob b;
	int rc = get_document(m, n, d);

	if (rc != 0 || !oci_is_index(*d))
		return rc;
	index = *d;
	*d = NULL;
	rc = choose(m, n->base, index, NULL, &b);
	oci_free(index);
	if (rc != 0)
		return rc;
	snprintf(one.reference, sizeof(one.reference), "sha256:%s", b.hex);
	rc = get_document(m, &one, d);
	if (rc == 0 && oci_is_index(*d)) {
		oci_free(*d);
		*d = NULL;
		rc = refuse(m, n->base, -EBADMSG, "an index in an index");
	}
	return rc;
}

/* Adds every layer; prefix precedes its digits. */
static int
add_layers(struct layermount *m, const char *name,
    const struct oci_document *d, const char *prefix)
{
	struct oci_blob *layers = NULL;
	char why[OCI_WHY], *path;
	size_t count;
	int rc = oci_layers(d, &layers, &count, why);

	if (rc != 0)
		return refuse(m, name, rc, why);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (asprintf(&path, "%s%s", prefix, layers[i].hex) == -1)
			return refuse(m, name, -ENOMEM, strerror(ENOMEM));
		rc = source_add(m, path, d, i);
		free(path);
	}
	sys_free(layers);
	return rc;
}

static int
open_registry(struct layermount *m, const char *operand)
{
	struct oci_document *d = NULL;
	struct image_name n;
	char prefix[sizeof(n.base) + 32];
	int rc = image_parse(m, operand, &n);

	if (rc != 0)
		return refuse(m, operand, rc, "expected docker://HOST/NAME:TAG");
	rc = image_manifest(m, &n, &d);
	if (rc == 0) {
		snprintf(prefix, sizeof(prefix), "%s/blobs/sha256:", n.base);
		rc = add_layers(m, operand, d, prefix);
	}
	oci_free(d);
	return rc;
}

/* Layouts */

static int
read_document(struct layermount *m, int dir, const char *layout,
    const char *name, struct oci_document **d)
{
	char why[OCI_WHY] = "", *text = NULL;
	size_t len;
	int fd = sys_openat(dir, name, O_RDONLY | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : fdio_read_all(fd, OCI_DOCUMENT_MAX, &text,
	    &len);

	if (fd >= 0)
		sys_close(fd);
	if (rc == 0)
		rc = oci_parse(d, text, len, why);
	sys_free(text);
	if (rc != 0)
		msg_error(&m->msg, "%s: %s: %s", layout, name, *why == '\0' ?
		    strerror(-rc) : why);
	return rc;
}

static int
open_layout(struct layermount *m, int dir, const char *layout,
    const char *tag)
{
	struct oci_document *d = NULL;
	char name[OCI_HEX + 16], *prefix;
	struct oci_blob b;
	int rc = read_document(m, dir, layout, "index.json", &d);

	for (int depth = 0; rc == 0 && oci_is_index(d); depth++) {
		rc = depth == 2 ? refuse(m, layout, -EBADMSG,
		    "an index in an index") : choose(m, layout, d,
		    depth == 0 ? tag : NULL, &b);
		oci_free(d);
		d = NULL;
		snprintf(name, sizeof(name), "blobs/sha256/%s", b.hex);
		if (rc == 0)
			rc = read_document(m, dir, layout, name, &d);
	}
	if (rc == 0 && asprintf(&prefix, "%s/blobs/sha256/", layout) != -1) {
		rc = add_layers(m, layout, d, prefix);
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
try_layout(struct layermount *m, const char *operand, int *rc)
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
		*rc = open_layout(m, dir, path, tag);
		sys_close(dir);
	}
	free(path);
	return dir >= 0;
}

int
image_open(struct layermount *m, const char *operand)
{
	int rc;

	if (strncmp(operand, DOCKER, strlen(DOCKER)) == 0)
		return open_registry(m, operand);
	if (strstr(operand, "://") == NULL && try_layout(m, operand, &rc))
		return rc;
	return source_add(m, operand, NULL, 0);
}
