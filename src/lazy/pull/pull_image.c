/*
 * pull_image.c - finding an image, and verifying its documents
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/pull/pull.h"

#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "image/oci/oci_edit.h"
#include "image/oci/oci_layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"

static const char accepted[] = OCI_MANIFEST ", "
    "application/vnd.oci.image.index.v1+json, " DOCKER_MANIFEST ", "
    "application/vnd.docker.distribution.manifest.list.v2+json";

/* A document as it was sent, and parsed. */
struct sent_document {
	char *text;			/* NUL-terminated */
	size_t len;
	char type[80];
	char hex[OCI_HEX + 1];
	struct oci_document *d;
};

static void
free_sent(struct sent_document *s)
{
	sys_free(s->text);
	oci_free(s->d);
	*s = (struct sent_document){ .text = NULL };
}

/*
 * Gets a manifest ("manifests") by a tag or digest, or a blob ("blobs") by its
 * digest.  size is what a descriptor says, or 0.  Returns 0, or -errno after
 * reporting the error to r; s must be freed only after 0.
 */
static int
get_sent(const struct pull *p, const struct vfs_report *r, const char *kind,
    const char *reference, uint64_t size, struct sent_document *s)
{
	char url[VFS_BASE + 512], why[LAYER_WHY] = "";
	const char *digest = strchr(reference, ':');
	struct http_document from;
	uint8_t sum[DIGEST_MAX];
	int rc;

	*s = (struct sent_document){ .text = NULL };
	snprintf(url, sizeof(url), "%s/%s/%s", p->name.from, kind, reference);
	rc = http_get(p->o.http, url, strcmp(kind, "manifests") == 0 ?
	    accepted : NULL, OCI_DOCUMENT_MAX, &from, why);
	if (rc == 0)
		rc = digest_sha256(from.body.data, from.body.len, sum);
	if (rc != 0)
		goto out;
	hex_write(s->hex, sum, OCI_HEX / 2);
	if ((digest != NULL && strcmp(digest + 1, s->hex) != 0) ||
	    (size != 0 && size != from.body.len)) {
		snprintf(why, sizeof(why), OCI_NOT_ITS);
		rc = -EBADMSG;
		goto out;
	}
	snprintf(s->type, sizeof(s->type), "%.*s",
	    (int)strcspn(from.type, "; "), from.type);
	s->len = from.body.len;
	s->text = strcopy_part(from.body.data, from.body.len);
	rc = s->text == NULL ? -ENOMEM :
	    oci_parse(&s->d, s->text, s->len, why);
out:
	http_document_free(&from);
	if (rc == 0)
		return 0;
	free_sent(s);
	return vfs_refuse(r, url, rc, why);
}

/* Returns whether a descriptor has the platform os/architecture[/variant]. */
static bool
fits_platform(const struct oci_descriptor *x, const char *wanted)
{
	char name[128];
	int n = snprintf(name, sizeof(name), "%s/%s", x->os, x->architecture);

	if (n < 0 || (size_t)n >= sizeof(name) ||
	    strncmp(name, wanted, (size_t)n) != 0)
		return false;
	return wanted[n] == '\0' || (wanted[n] == '/' &&
	    strcmp(wanted + n + 1, x->variant) == 0);
}

/* Finds the first manifest for --platform in an index. */
static int
choose_platform(const struct pull *p, const struct oci_document *index,
    struct oci_blob *b, char why[OCI_WHY])
{
	struct oci_descriptor x;
	int rc;

	if (p->o.platform == NULL)
		return oci_choose_here(index, NULL, b, why);
	for (size_t n = 0; n < oci_count(index, OCI_MANIFESTS); n++) {
		rc = oci_get(index, OCI_MANIFESTS, n, &x, why);
		if (rc != 0)
			return rc;
		if (fits_platform(&x, p->o.platform)) {
			*b = x.blob;
			return 0;
		}
	}
	snprintf(why, OCI_WHY, "the index has no image for %.60s",
	    p->o.platform);
	return -ENOENT;
}

/* Gets the manifest from name.from. */
static int
get_manifest_from(const struct pull *p, const struct vfs_report *r,
    struct sent_document *s)
{
	char reference[OCI_HEX + 16], why[OCI_WHY] = "";
	struct oci_blob b;
	int rc = get_sent(p, r, "manifests", p->name.reference, 0, s);

	for (int depth = 0; rc == 0 && oci_is_index(s->d); depth++) {
		rc = depth > 0 ? -EBADMSG : choose_platform(p, s->d, &b, why);
		free_sent(s);
		if (rc != 0)
			return vfs_refuse(r, p->name.from, rc, depth > 0 ?
			    "an index contains another index" : why);
		snprintf(reference, sizeof(reference), "sha256:%s", b.hex);
		rc = get_sent(p, r, "manifests", reference, b.size, s);
	}
	return rc;
}

/* Tries the mirrors and the registry, and sets name.from. */
static int
get_manifest(struct pull *p, struct sent_document *s)
{
	char (*from)[VFS_BASE] = sys_calloc(VFS_ENDPOINTS, sizeof(*from));
	struct vfs_report quiet = p->o.report;
	char why[LAYER_WHY] = "";
	int rc = -ENOMEM, count;

	/* what a mirror does not have is no error */
	quiet.fail = quiet.warn;
	count = from == NULL ? -ENOMEM : vfs_registries_find(p->o.registries,
	    p->name.host, p->name.base, p->name.reference, from, why);
	if (count < 0)
		rc = vfs_refuse(&p->o.report, p->name.base, count, why);
	for (int i = 0; rc != 0 && i < count; i++) {
		strcpy(p->name.from, from[i]);
		rc = get_manifest_from(p, i + 1 < count ? &quiet :
		    &p->o.report, s);
	}
	sys_free(from);
	return rc;
}

/* Checks the manifest's layers, and that the config knows each of them. */
static int
check_layers(struct pull *p, char why[LAYER_WHY])
{
	int rc = oci_layers(p->manifest, &p->layers, &p->count, why);
	bool described;

	for (size_t i = 0; rc == 0 && i < p->count; i++) {
		if (p->layers[i].size > INT64_MAX / 2 - p->total_B) {
			snprintf(why, LAYER_WHY, "the layers are too large");
			return -EFBIG;
		}
		p->total_B += p->layers[i].size;
	}
	described = rc == 0 && oci_diff_id(p->config, p->count) == NULL;
	for (size_t i = 0; described && i < p->count; i++)
		described = oci_diff_id(p->config, i) != NULL;
	if (rc == 0 && !described) {
		snprintf(why, LAYER_WHY, "the config does not describe the "
		    "manifest's layers");
		rc = -EBADMSG;
	}
	return rc;
}

int
pull_open(struct pull *p, const char *ref, const struct pull_options *o)
{
	char why[LAYER_WHY] = "", reference[OCI_HEX + 16];
	const char *at = strchr(ref, '@'), *slash = strrchr(ref, '/'), *colon;
	struct sent_document s;
	struct oci_descriptor x;
	int rc;

	*p = (struct pull){ .o = *o };
	rc = vfs_image_parse(ref, o->plain_http, &p->name, why);
	if (rc != 0)
		return vfs_refuse(&o->report, ref, rc, why);
	colon = slash == NULL ? NULL : strchr(slash, ':');
	if (colon != NULL && (at == NULL || colon < at)) {
		p->tag = strcopy_part(colon + 1, at == NULL ?
		    strlen(colon + 1) : (size_t)(at - colon - 1));
		if (p->tag == NULL)
			return vfs_refuse(&o->report, ref, -ENOMEM, "");
	}
	rc = get_manifest(p, &s);
	if (rc != 0)
		return rc;
	p->manifest = s.d;
	p->manifest_text = s.text;
	p->manifest_len = s.len;
	strcpy(p->manifest_hex, s.hex);
	strcpy(p->manifest_type, strcmp(s.type, DOCKER_MANIFEST) == 0 ?
	    DOCKER_MANIFEST : OCI_MANIFEST);
	rc = oci_get(p->manifest, NULL, 0, &x, why);
	if (rc == 0 && !oci_is_config(x.media_type)) {
		rc = -EBADMSG;
		snprintf(why, sizeof(why), "it is not an image, but an "
		    "artifact whose config is of type %.80s", x.media_type);
	}
	if (rc != 0)
		return vfs_refuse(&o->report, ref, rc, rc == -ENOENT ?
		    "the manifest has no config" : why);
	snprintf(reference, sizeof(reference), "sha256:%s", x.blob.hex);
	rc = get_sent(p, &o->report, "blobs", reference, x.blob.size, &s);
	if (rc != 0)
		return rc;
	p->config = s.d;
	p->config_text = s.text;
	p->config_len = s.len;
	rc = check_layers(p, why);
	return rc == 0 ? 0 : vfs_refuse(&o->report, ref, rc, why);
}

void
pull_close(struct pull *p)
{
	sys_free(p->tag);
	sys_free(p->manifest_text);
	sys_free(p->config_text);
	oci_free(p->manifest);
	oci_free(p->config);
	sys_free(p->layers);
	*p = (struct pull){ .count = 0 };
}
