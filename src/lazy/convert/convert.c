/*
 * convert.c - converting the layers of all images in an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "convert_impl.h"

#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NESTED_MAX = 4 };

static int convert_index(struct convert *c, struct oci_document *d, int depth);

int
convert_refuse(struct convert *c, const char *what, int rc, const char *why)
{
	c->o->report(c->o->arg, true, what, why);
	return rc;
}

int
convert_edited(struct convert *c, int rc)
{
	return rc == 0 ? 0 : convert_refuse(c, c->o->new_path, rc,
	    strerror(-rc));
}

int
convert_read_document(struct convert *c, const struct oci_blob *b,
    struct oci_document **d)
{
	char why[OCI_WHY] = "";
	int rc = oci_document_open(c->o->dir, b, d, why);

	return rc == 0 ? 0 : convert_refuse(c, b == NULL ? "index.json" :
	    b->hex, rc, why);
}

int
convert_write_text(struct convert *c, const char *text, size_t len,
    struct oci_blob *b)
{
	int rc = oci_new_text(c->o->new, text, len, b);

	return rc == 0 ? 0 : convert_refuse(c, c->o->new_path, rc,
	    strerror(-rc));
}

int
convert_write_document(struct convert *c, const struct oci_document *d,
    struct oci_blob *b)
{
	char *text;
	size_t len;
	int rc = oci_write(d, &text, &len);

	if (rc != 0)
		return convert_refuse(c, c->o->new_path, rc, strerror(-rc));
	rc = convert_write_text(c, text, len, b);
	sys_free(text);
	return rc;
}

int
convert_copy(struct convert *c, const struct oci_blob *b)
{
	int rc = oci_new_copy(c->o->new, c->o->dir, b);

	return rc == 0 ? 0 : convert_refuse(c, b->hex, rc, rc == -EBADMSG ?
	    OCI_NOT_ITS : strerror(-rc));
}

/* Manifests */

static int
convert_layers(struct convert *c, struct oci_document *d,
    struct oci_document *config)
{
	int rc = 0;

	for (size_t n = 0; rc == 0 && n < oci_count(d, OCI_LAYERS); n++)
		rc = convert_layer_of(c, d, n, config);
	return rc;
}

/*
 * Converts the layers of an image, and its config, which lists the digests of
 * the archives.
 */
static int
convert_with_config(struct convert *c, struct oci_document *d,
    const struct oci_blob *b)
{
	struct oci_document *config = NULL;
	struct oci_blob made;
	int rc = convert_read_document(c, b, &config);

	if (rc != 0)
		goto out;
	rc = convert_layers(c, d, config);
	if (rc != 0)
		goto out;
	rc = convert_write_document(c, config, &made);
	if (rc == 0)
		rc = convert_edited(c, oci_set(d, NULL, 0, &made, NULL));
out:
	oci_free(config);
	return rc;
}

static int
convert_manifest(struct convert *c, struct oci_document *d)
{
	struct oci_descriptor x;
	char why[OCI_WHY];
	int rc = oci_get(d, NULL, 0, &x, why);

	if (rc == -EBADMSG)
		return convert_refuse(c, "a manifest", rc, why);
	if (rc == -ENOENT)
		return convert_layers(c, d, NULL);
	if (oci_is_config(x.media_type))
		return convert_with_config(c, d, &x.blob);
	rc = convert_copy(c, &x.blob);
	return rc != 0 ? rc : convert_layers(c, d, NULL);
}

/* Indices */

/* Converts the document to which descriptor n of an index refers. */
static int
convert_entry(struct convert *c, struct oci_document *d, size_t n, int depth)
{
	struct oci_document *child = NULL;
	struct oci_descriptor x;
	struct oci_blob made;
	char why[OCI_WHY];
	int rc = oci_get(d, OCI_MANIFESTS, n, &x, why);

	if (rc != 0)
		return convert_refuse(c, "an index", rc, why);
	rc = convert_read_document(c, &x.blob, &child);
	if (rc != 0)
		goto out;
	if (!oci_is_index(child) && c->o->pack->kind == LAYER_ZTOC) {
		rc = convert_add_soci(c, d, n, child, &x, depth > 0);
		goto out;
	}
	rc = convert_forget_soci(c, d, n, child);
	if (rc != 0)
		goto out;
	rc = oci_is_index(child) ? convert_index(c, child, depth + 1) :
	    convert_manifest(c, child);
	if (rc != 0)
		goto out;
	rc = convert_write_document(c, child, &made);
	if (rc == 0)
		rc = convert_edited(c, oci_set(d, OCI_MANIFESTS, n, &made,
		    NULL));
out:
	oci_free(child);
	return rc;
}

/* Returns whether x has the requested platform: os/architecture[/variant]. */
static bool
is_platform(const struct oci_descriptor *x, const char *wanted)
{
	char name[128];
	int n = snprintf(name, sizeof(name), "%s/%s", x->os, x->architecture);

	if (n < 0 || (size_t)n >= sizeof(name))
		return false;
	if (strcmp(name, wanted) == 0)
		return true;
	return strncmp(name, wanted, (size_t)n) == 0 && wanted[n] == '/' &&
	    strcmp(wanted + n + 1, x->variant) == 0;
}

/*
 * Returns whether an entry has the requested tag.  Only the layout's index has
 * tags.
 */
static bool
has_tag(const struct convert *c, const struct oci_descriptor *x, int depth)
{
	return depth > 0 || c->o->tag == NULL || strcmp(x->tag, c->o->tag) == 0;
}

static bool
has_platform(const struct convert *c, const struct oci_descriptor *x)
{
	const char *platform = c->o->platform;

	return platform == NULL || *x->architecture == '\0' ||
	    is_platform(x, platform);
}

/* Removes the entries that were not requested. */
static int
keep_chosen(struct convert *c, struct oci_document *d, int depth)
{
	bool tagged = c->o->tag == NULL || depth > 0;

	for (size_t n = oci_count(d, OCI_MANIFESTS); n-- > 0;) {
		struct oci_descriptor x;
		char why[OCI_WHY];
		int rc = oci_get(d, OCI_MANIFESTS, n, &x, why);

		if (rc != 0)
			return convert_refuse(c, "an index", rc, why);
		tagged = tagged || has_tag(c, &x, depth);
		if (!has_tag(c, &x, depth) || !has_platform(c, &x) ||
		    strcmp(x.artifact_type, SOCI_TYPE) == 0)
			oci_remove(d, OCI_MANIFESTS, n);
	}
	if (oci_count(d, OCI_MANIFESTS) > 0)
		return 0;
	return convert_refuse(c, depth == 0 ? "index.json" : "an index",
	    -ENOENT, !tagged ? "no image with that tag" :
	    c->o->platform != NULL ? "no image for that platform" :
	    "no image");
}

static int
convert_index(struct convert *c, struct oci_document *d, int depth)
{
	size_t count;
	int rc;

	if (depth == NESTED_MAX)
		return convert_refuse(c, "an index", -EBADMSG, "indices are "
		    "nested too deeply");
	rc = keep_chosen(c, d, depth);
	/* SOCI indices are added at the end */
	count = oci_count(d, OCI_MANIFESTS);
	for (size_t n = 0; rc == 0 && n < count; n++)
		rc = convert_entry(c, d, n, depth);
	return rc;
}

/* The layout */

int
convert_images(struct convert **out, const struct convert_options *o,
    struct convert_result *r)
{
	struct convert *c = sys_calloc(1, sizeof(*c));
	int rc;

	*out = c;
	*r = (struct convert_result){ .layers = 0 };
	if (c == NULL) {
		o->report(o->arg, true, o->new_path, strerror(ENOMEM));
		return -ENOMEM;
	}
	c->o = o;
	c->result = r;
	rc = convert_read_document(c, NULL, &c->index);
	return rc != 0 ? rc : convert_index(c, c->index, 0);
}

int
convert_commit(struct convert *c)
{
	char *text = NULL;
	size_t len;
	int rc = oci_write(c->index, &text, &len);

	if (rc == 0)
		rc = oci_new_commit(c->o->new, text, len);
	sys_free(text);
	return convert_edited(c, rc);
}

void
convert_close(struct convert *c)
{
	if (c == NULL)
		return;
	oci_free(c->index);
	sys_free(c->layers);
	sys_free(c);
}
