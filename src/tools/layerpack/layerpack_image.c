/*
 * layerpack_image.c - converting the layers of all images in an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Index", "Image Manifest" and
 * "Image Configuration".  A document is written after the documents that it
 * refers to, with their new digests; unaffected parts are not changed.
 */
#include "layerpack_image.h"

#include "base/sys.h"
#include "walk/walk_order.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NESTED_MAX = 4 };

static int convert_index(struct image *m, struct oci_document *d, int depth);

int
image_refuse(struct image *m, const char *what, int rc, const char *why)
{
	progress_erase(&m->progress);
	msg_error(&m->p->msg, "%s: %s: %s", m->path, what, why);
	return rc;
}

int
image_edited(struct image *m, int rc)
{
	return rc == 0 ? 0 : image_refuse(m, m->p->o.image, rc,
	    strerror(-rc));
}

int
image_read_document(struct image *m, const struct oci_blob *b,
    struct oci_document **d)
{
	char why[OCI_WHY] = "";
	int rc = oci_document_open(m->dir, b, d, why);

	return rc == 0 ? 0 : image_refuse(m, b == NULL ? "index.json" :
	    b->hex, rc, why);
}

int
image_write_text(struct image *m, const char *text, size_t len,
    struct oci_blob *b)
{
	int rc = oci_new_text(&m->new, text, len, b);

	return rc == 0 ? 0 : image_refuse(m, m->p->o.image, rc,
	    strerror(-rc));
}

int
image_write_document(struct image *m, const struct oci_document *d,
    struct oci_blob *b)
{
	char *text;
	size_t len;
	int rc = oci_write(d, &text, &len);

	if (rc != 0)
		return image_refuse(m, m->p->o.image, rc, strerror(-rc));
	rc = image_write_text(m, text, len, b);
	sys_free(text);
	return rc;
}

int
image_copy(struct image *m, const struct oci_blob *b)
{
	int rc = oci_new_copy(&m->new, m->dir, b);

	return rc == 0 ? 0 : image_refuse(m, b->hex, rc, rc == -EBADMSG ?
	    OCI_NOT_ITS : strerror(-rc));
}

/* Manifests */

static int
convert_layers(struct image *m, struct oci_document *d,
    struct oci_document *config)
{
	int rc = 0;

	for (size_t n = 0; rc == 0 && n < oci_count(d, OCI_LAYERS); n++)
		rc = image_convert_layer(m, d, n, config);
	return rc;
}

/*
 * Converts the layers of an image, and its config, which lists the digests of
 * the archives.
 */
static int
convert_with_config(struct image *m, struct oci_document *d,
    const struct oci_blob *b)
{
	struct oci_document *config = NULL;
	struct oci_blob made;
	int rc = image_read_document(m, b, &config);

	if (rc == 0)
		rc = convert_layers(m, d, config);
	if (rc == 0)
		rc = image_write_document(m, config, &made);
	if (rc == 0)
		rc = image_edited(m, oci_set(d, NULL, 0, &made, NULL));
	oci_free(config);
	return rc;
}

static int
convert_manifest(struct image *m, struct oci_document *d)
{
	struct oci_descriptor x;
	char why[OCI_WHY];
	int rc = oci_get(d, NULL, 0, &x, why);

	if (rc == -EBADMSG)
		return image_refuse(m, "a manifest", rc, why);
	if (rc == -ENOENT)
		return convert_layers(m, d, NULL);
	if (oci_is_config(x.media_type))
		return convert_with_config(m, d, &x.blob);
	rc = image_copy(m, &x.blob);
	return rc != 0 ? rc : convert_layers(m, d, NULL);
}

/* Indices */

/* Converts the document to which descriptor n of an index refers. */
static int
convert_entry(struct image *m, struct oci_document *d, size_t n, int depth)
{
	struct oci_document *child = NULL;
	struct oci_descriptor x;
	struct oci_blob made;
	char why[OCI_WHY];
	int rc = oci_get(d, OCI_MANIFESTS, n, &x, why);

	if (rc != 0)
		return image_refuse(m, "an index", rc, why);
	rc = image_read_document(m, &x.blob, &child);
	if (rc == 0 && !oci_is_index(child) && m->pack.kind == LAYER_ZTOC) {
		rc = image_add_soci(m, d, n, child, &x, depth > 0);
		oci_free(child);
		return rc;
	}
	if (rc == 0)
		rc = image_forget_soci(m, d, n, child);
	if (rc == 0)
		rc = oci_is_index(child) ? convert_index(m, child, depth + 1) :
		    convert_manifest(m, child);
	if (rc == 0)
		rc = image_write_document(m, child, &made);
	if (rc == 0)
		rc = image_edited(m, oci_set(d, OCI_MANIFESTS, n, &made,
		    NULL));
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
has_tag(const struct image *m, const struct oci_descriptor *x, int depth)
{
	return depth > 0 || m->tag == NULL || strcmp(x->tag, m->tag) == 0;
}

static bool
has_platform(const struct image *m, const struct oci_descriptor *x)
{
	const char *platform = m->p->o.platform;

	return platform == NULL || *x->architecture == '\0' ||
	    is_platform(x, platform);
}

/* Removes the entries that were not requested. */
static int
choose(struct image *m, struct oci_document *d, int depth)
{
	bool tagged = m->tag == NULL || depth > 0;

	for (size_t n = oci_count(d, OCI_MANIFESTS); n-- > 0;) {
		struct oci_descriptor x;
		char why[OCI_WHY];
		int rc = oci_get(d, OCI_MANIFESTS, n, &x, why);

		if (rc != 0)
			return image_refuse(m, "an index", rc, why);
		tagged = tagged || has_tag(m, &x, depth);
		if (!has_tag(m, &x, depth) || !has_platform(m, &x) ||
		    strcmp(x.artifact_type, SOCI_TYPE) == 0)
			oci_remove(d, OCI_MANIFESTS, n);
	}
	if (oci_count(d, OCI_MANIFESTS) > 0)
		return 0;
	return image_refuse(m, depth == 0 ? "index.json" : "an index",
	    -ENOENT, !tagged ? "no image with that tag" :
	    m->p->o.platform != NULL ? "no image for that platform" :
	    "no image");
}

static int
convert_index(struct image *m, struct oci_document *d, int depth)
{
	size_t count;
	int rc;

	if (depth == NESTED_MAX)
		return image_refuse(m, "an index", -EBADMSG, "indices are "
		    "nested too deeply");
	rc = choose(m, d, depth);
	/* SOCI indices are added at the end */
	count = oci_count(d, OCI_MANIFESTS);
	for (size_t n = 0; rc == 0 && n < count; n++)
		rc = convert_entry(m, d, n, depth);
	return rc;
}

/* The layout */

static int
convert(struct image *m)
{
	struct oci_document *index = NULL;
	char *text = NULL;
	size_t len;
	int rc = image_read_document(m, NULL, &index);

	if (rc == 0)
		rc = convert_index(m, index, 0);
	if (rc == 0)
		rc = layerpack_check_order(m->p, m->pack.order);
	if (rc == 0 && m->pack.kind == LAYER_ZTOC && m->soci_count == 0)
		rc = image_refuse(m, m->p->o.source, -ENOENT, "no layer is a "
		    "gzip-compressed or uncompressed archive of at least "
		    "--min-layer");
	if (rc == 0) {
		rc = oci_write(index, &text, &len);
		if (rc == 0)
			rc = oci_new_commit(&m->new, text, len);
		if (rc != 0)
			msg_error(&m->p->msg, "%s: %s", m->p->o.image,
			    strerror(-rc));
	}
	sys_free(text);
	oci_free(index);
	return rc;
}

static int
open_layouts(struct image *m)
{
	struct layerpack *p = m->p;
	int rc;

	m->path = oci_split(p->o.source, &m->tag);
	if (m->path == NULL)
		return image_refuse(m, p->o.source, -ENOMEM,
		    strerror(ENOMEM));
	m->dir = sys_openat(AT_FDCWD, m->path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	if (m->dir < 0 || !oci_is_layout(m->path)) {
		msg_error(&p->msg, "%s: %s", p->o.source, m->dir < 0 ?
		    strerror(-m->dir) : "not an OCI image layout");
		return -EINVAL;
	}
	rc = oci_new_open(&m->new, p->o.image);
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", p->o.image, strerror(-rc));
	return rc;
}

static void
confine(struct image *m)
{
	struct sandbox_dirs d = { .reading = m->dir, .naming = -1,
		.making = m->new.tree.dir, .renaming = m->new.tree.parent,
		.spooling = layerpack_open_tmpdir(m->p) };

	layerpack_confine(m->p, &d);
	if (d.spooling >= 0)
		sys_close(d.spooling);
}

int
layerpack_image(struct layerpack *p)
{
	struct image m = { .p = p, .dir = -1,
		.new = { .tree = OUTPUT_TREE_NONE, .blobs = -1 } };
	int rc = layerpack_make_prepare(p, &m.pack);

	m.pack.progress = &m.progress;
	if (rc == 0)
		rc = open_layouts(&m);
	if (rc == 0)
		confine(&m);
	if (rc == 0)
		rc = convert(&m);
	if (rc == 0 && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: %zu layers, %" PRIu64 " bytes, %s %"
		    PRIu64, p->o.image, m.layer_count, m.from_B,
		    m.pack.kind == LAYER_ZTOC ? "with ztocs of" : "now",
		    m.to_B);
	oci_new_abort(&m.new);
	if (m.dir >= 0)
		sys_close(m.dir);
	walk_order_free(m.pack.order);
	sys_free(m.layers);
	sys_free(m.path);
	return rc;
}
