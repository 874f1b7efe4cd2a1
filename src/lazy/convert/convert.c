/*
 * convert.c - converting the layers of all images in an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A layer is converted once, even if several images contain it.  For ztocs, the
 * images remain as they are, and each gets a SOCI index.
 *
 * Sources: OCI image specification 1.1, "Image Layer Filesystem Changeset";
 * Docker's "Image Manifest Version 2, Schema 2", which does not support zstd;
 * the package soci in awslabs/soci-snapshotter 0.11.1, "Convert" and
 * "MarshalIndex"; the documents are described in doc/layers.md.
 */
#include "lazy/convert/convert.h"

#include "base/array.h"
#include "base/hex.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/sys.h"
#include "image/oci/oci_edit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OCI_TYPE "application/vnd.oci.image."
#define OCI_LAYER OCI_TYPE "layer.v1.tar"
#define DOCKER_LAYER "application/vnd.docker.image.rootfs.diff.tar"
#define EMPTY "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
#define SOCI "com.amazon.soci."

/* The type of an image's SOCI index, and the annotation that refers to it. */
#define SOCI_TYPE "application/vnd.amazon.soci.index.v2+json"
#define SOCI_DIGEST SOCI "index-digest"

enum { NESTED_MAX = 4 };

/* A converted layer, which may be part of several images. */
struct convert_layer {
	struct oci_blob from, to;
	char diff_id[OCI_HEX + 1];
	struct pack_annotation annotations[PACK_ANNOTATIONS_MAX];
	size_t annotation_count;
};

struct convert {
	const struct convert_options *o;
	struct convert_result *result;
	struct oci_document *index;	/* of the layout */
	struct convert_layer *layers;
	size_t layer_count, layer_cap;
};

/* Media types of file layers, before and after conversion. */
static const struct {
	const char *from, *gzip, *zstd;
} types[] = {
	{ OCI_LAYER, OCI_LAYER "+gzip", OCI_LAYER "+zstd" },
	{ OCI_LAYER "+gzip", OCI_LAYER "+gzip", OCI_LAYER "+zstd" },
	{ OCI_LAYER "+zstd", OCI_LAYER "+gzip", OCI_LAYER "+zstd" },
	{ DOCKER_LAYER, DOCKER_LAYER ".gzip", NULL },
	{ DOCKER_LAYER ".gzip", DOCKER_LAYER ".gzip", NULL },
};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

/* Annotations from an earlier conversion, which describe the old layer. */
static const char *const stale[] = {
	LAYER_COMPACT,
	"containerd.io/snapshot/stargz/toc.digest",
	"io.containers.estargz.uncompressed-size",
	"io.containers.zstd-chunked.manifest-checksum",
	"io.containers.zstd-chunked.manifest-position",
	"io.github.containers.zstd-chunked.manifest-checksum",
	"io.github.containers.zstd-chunked.manifest-position",
	"io.github.containers.zstd-chunked.tarsplit-checksum",
	"io.github.containers.zstd-chunked.tarsplit-position",
};

enum { STALE = sizeof(stale) / sizeof(stale[0]) };

/* A SOCI index: a manifest whose layers are ztocs and whose config is "{}". */
static const char soci_index[] = "{\"schemaVersion\":2,"
    "\"mediaType\":\"" OCI_TYPE "manifest.v1+json\","
    "\"config\":{\"mediaType\":\"" SOCI_TYPE "\","
    "\"digest\":\"sha256:" EMPTY "\",\"size\":2},\"layers\":[],"
    "\"annotations\":{\"" SOCI "build-tool-identifier\":"
    "\"coldpress " COLDPRESS_VERSION "\"}}";

static const char oci_index[] = "{\"schemaVersion\":2,"
    "\"mediaType\":\"" OCI_TYPE "index.v1+json\",\"manifests\":[]}";

/* Documents */

/* Reports why a part of the layout is invalid.  Returns rc. */
static int
refuse_part(struct convert *c, const char *what, int rc, const char *why)
{
	c->o->report(c->o->arg, true, what, why);
	return rc;
}

/* Reports an error in the new layout, if rc is one, and returns rc. */
static int
check_new(struct convert *c, int rc)
{
	return rc == 0 ? 0 : refuse_part(c, c->o->new_path, rc,
	    strerror(-rc));
}

/*
 * Reads a document of the old layout: index.json if b is NULL.  Returns 0, or
 * -errno after reporting the error, like the functions below.
 */
static int
read_document(struct convert *c, const struct oci_blob *b,
    struct oci_document **d)
{
	char why[OCI_WHY] = "";
	int rc = oci_document_open(c->o->dir, b, d, why);

	return rc == 0 ? 0 : refuse_part(c, b == NULL ? "index.json" :
	    b->hex, rc, why);
}

/* Writes a document to the new layout. */
static int
write_document(struct convert *c, const struct oci_document *d,
    struct oci_blob *b)
{
	char *text = NULL;
	size_t len;
	int rc = oci_write(d, &text, &len);

	if (rc == 0)
		rc = oci_new_text(c->o->new, text, len, b);
	sys_free(text);
	return check_new(c, rc);
}

static int
copy_blob(struct convert *c, const struct oci_blob *b)
{
	int rc = oci_new_copy(c->o->new, c->o->dir, b);

	return rc == 0 ? 0 : refuse_part(c, b->hex, rc, rc == -EBADMSG ?
	    OCI_NOT_ITS : strerror(-rc));
}

/* Layers */

/*
 * Returns the converted layer, which may already have been converted for
 * another image.  Returns NULL after an error; a layer that cannot have a ztoc
 * is reported as a warning, with -EINVAL.
 */
static const struct convert_layer *
find_layer(struct convert *c, const struct oci_blob *b, int *error)
{
	const struct pack_options *pack = c->o->pack;
	void *layers = c->layers;
	struct convert_layer *l;
	struct pack_result r;
	struct output o;
	char why[LAYER_WHY];
	int in, rc;

	for (size_t i = 0; i < c->layer_count; i++)
		if (strcmp(c->layers[i].from.hex, b->hex) == 0)
			return &c->layers[i];
	rc = array_grow(&layers, c->layer_count, &c->layer_cap, sizeof(*l));
	c->layers = layers;
	in = rc != 0 ? rc : oci_blob_open(c->o->dir, b);
	if (in < 0) {
		*error = refuse_part(c, b->hex, in, strerror(-in));
		return NULL;
	}
	l = &c->layers[c->layer_count];
	*l = (struct convert_layer){ .from = *b };
	rc = oci_blob_verify(in, b);
	if (rc != 0) {
		refuse_part(c, b->hex, rc, rc == -EBADMSG ? OCI_NOT_ITS :
		    strerror(-rc));
		goto out;
	}
	rc = check_new(c, oci_new_begin(c->o->new, &o));
	if (rc != 0)
		goto out;
	progress_start(pack->progress, STDERR_FILENO, b->size, c->o->quiet);
	rc = pack_layer(pack, in, o.fd, &r, why);
	progress_erase(pack->progress);
	if (rc != 0) {
		output_abort(&o);
		c->o->report(c->o->arg, rc != -EINVAL ||
		    pack->kind != LAYER_ZTOC, b->hex, why);
		goto out;
	}
	hex_write(l->to.hex, r.blob_digest, LAYER_DIGEST);
	l->to.size = r.blob_size;
	hex_write(l->diff_id, r.content_digest, LAYER_DIGEST);
	l->annotation_count = pack_annotations(pack, &r, l->annotations);
	c->result->from_B += b->size;
	c->result->to_B += l->to.size;
	c->o->made(c->o->arg, b, &l->to, &r);
	rc = check_new(c, oci_new_end(c->o->new, &o, &l->to));
	if (rc == 0)
		c->result->layers = ++c->layer_count;
out:
	sys_close(in);
	*error = rc;
	return rc == 0 ? l : NULL;
}

/* The manifest and the config */

/* Returns the new media type, or NULL if `type` is not a layer of files. */
static const char *
new_type(const struct convert *c, const char *type, bool *refused)
{
	*refused = false;
	for (size_t i = 0; i < TYPES; i++)
		if (strcmp(types[i].from, type) == 0) {
			const char *to = types[i].gzip;

			if (c->o->pack->kind == LAYER_ZSTD_CHUNKED)
				to = types[i].zstd;
			*refused = to == NULL;
			return to;
		}
	return NULL;
}

/*
 * Converts layer n of a manifest if it is a layer of files, and updates the
 * manifest and the config (NULL: none) to refer to the result.
 */
static int
convert_layer_of(struct convert *c, struct oci_document *manifest, size_t n,
    struct oci_document *config)
{
	const struct convert_layer *l;
	struct oci_descriptor x;
	char why[OCI_WHY];
	const char *type;
	bool refused;
	int rc = oci_get(manifest, OCI_LAYERS, n, &x, why);

	if (rc != 0)
		return refuse_part(c, "a manifest", rc, why);
	type = new_type(c, x.media_type, &refused);
	if (refused)
		return refuse_part(c, x.blob.hex, -EINVAL, "Docker's "
		    "manifests cannot contain zstd; skopeo copy --format oci "
		    "converts them");
	if (type == NULL)
		return copy_blob(c, &x.blob);
	l = find_layer(c, &x.blob, &rc);
	if (l == NULL)
		return rc;
	rc = oci_set(manifest, OCI_LAYERS, n, &l->to, type);
	for (size_t i = 0; rc == 0 && i < STALE; i++)
		rc = oci_annotate(manifest, OCI_LAYERS, n, stale[i], NULL);
	for (size_t i = 0; rc == 0 && i < l->annotation_count; i++)
		rc = oci_annotate(manifest, OCI_LAYERS, n,
		    l->annotations[i].name, l->annotations[i].value);
	if (rc == 0 && config != NULL)
		rc = oci_set_diff_id(config, n, l->diff_id);
	return rc == 0 ? 0 : refuse_part(c, x.blob.hex, rc, rc == -EBADMSG ?
	    "the config has no diff_id for the layer" : strerror(-rc));
}

/* Manifests */

/*
 * Converts the layers of an image, and its config, which lists the digests of
 * the archives.
 */
static int
convert_manifest(struct convert *c, struct oci_document *d)
{
	struct oci_document *config = NULL;
	struct oci_descriptor x;
	struct oci_blob made;
	char why[OCI_WHY];
	int rc = oci_get(d, NULL, 0, &x, why);

	if (rc == -EBADMSG)
		return refuse_part(c, "a manifest", rc, why);
	if (rc == 0) {
		rc = oci_is_config(x.media_type) ?
		    read_document(c, &x.blob, &config) :
		    copy_blob(c, &x.blob);
		if (rc != 0)
			return rc;
	}
	rc = 0;
	for (size_t n = 0; rc == 0 && n < oci_count(d, OCI_LAYERS); n++)
		rc = convert_layer_of(c, d, n, config);
	if (rc == 0 && config != NULL)
		rc = write_document(c, config, &made);
	if (rc == 0 && config != NULL)
		rc = check_new(c, oci_set(d, NULL, 0, &made, NULL));
	oci_free(config);
	return rc;
}

/* SOCI indices */

/*
 * Removes, from descriptor n of an index and from the document that it refers
 * to, all references to a SOCI index that is not kept.
 */
static int
forget_soci(struct convert *c, struct oci_document *index, size_t n,
    struct oci_document *child)
{
	int rc = oci_annotate(index, OCI_MANIFESTS, n, SOCI_DIGEST, NULL);

	if (rc == 0)
		rc = oci_annotate(child, OCI_SELF, 0, SOCI_DIGEST, NULL);
	return check_new(c, rc);
}

/* Annotates descriptor n of a list with the digest of a blob. */
static int
annotate_digest(struct oci_document *d, const char *list, size_t n,
    const char *name, const struct oci_blob *b)
{
	char digest[8 + OCI_HEX];

	snprintf(digest, sizeof(digest), "sha256:%s", b->hex);
	return oci_annotate(d, list, n, name, digest);
}

/*
 * Keeps a layer unchanged, and adds its ztoc to the SOCI index if it can have
 * one.
 */
static int
index_layer(struct convert *c, const struct oci_descriptor *x,
    struct oci_document *soci)
{
	const struct convert_layer *l;
	size_t n = oci_count(soci, OCI_LAYERS);
	bool refused;
	int rc = copy_blob(c, &x->blob);

	if (rc != 0 || x->blob.size < c->o->min_layer ||
	    new_type(c, x->media_type, &refused) == NULL ||
	    strcmp(x->media_type, OCI_LAYER "+zstd") == 0)
		return rc;
	l = find_layer(c, &x->blob, &rc);
	if (l == NULL)
		return rc == -EINVAL ? 0 : rc;
	rc = oci_add(soci, OCI_LAYERS, &l->to, "application/octet-stream");
	if (rc == 0)
		rc = annotate_digest(soci, OCI_LAYERS, n,
		    SOCI "image-layer-digest", &x->blob);
	if (rc == 0)
		rc = oci_annotate(soci, OCI_LAYERS, n,
		    SOCI "image-layer-mediaType", x->media_type);
	return check_new(c, rc);
}

/*
 * Writes the SOCI index and the manifest, which refers to it.  Descriptor n of
 * the index then refers to the manifest, and a new one, with the platform of x,
 * after the descriptors of images to the SOCI index.
 */
static int
write_soci(struct convert *c, struct oci_document *index, size_t n,
    struct oci_document *manifest, const struct oci_document *soci,
    const struct oci_descriptor *x, const struct oci_descriptor *platform)
{
	size_t last = oci_count(index, OCI_MANIFESTS);
	struct oci_blob empty, made, about;
	int rc = check_new(c, oci_new_text(c->o->new, "{}", 2, &empty));

	if (rc == 0)
		rc = write_document(c, soci, &about);
	if (rc != 0)
		return rc;
	c->result->soci++;
	/* registries may refuse a mixture of Docker and OCI types */
	rc = oci_set_text(manifest, OCI_SELF, 0, "mediaType",
	    OCI_TYPE "manifest.v1+json");
	if (rc == 0)
		rc = oci_set_text(manifest, NULL, 0, "mediaType",
		    OCI_TYPE "config.v1+json");
	if (rc == 0)
		rc = annotate_digest(manifest, OCI_SELF, 0, SOCI_DIGEST,
		    &about);
	if (rc != 0)
		return check_new(c, rc);
	rc = write_document(c, manifest, &made);
	if (rc != 0)
		return rc;
	rc = oci_add(index, OCI_MANIFESTS, &about,
	    OCI_TYPE "manifest.v1+json");
	if (rc == 0)
		rc = annotate_digest(index, OCI_MANIFESTS, last,
		    SOCI "image-manifest-digest", &made);
	if (rc == 0)
		rc = oci_set_platform(index, OCI_MANIFESTS, last,
		    *x->architecture != '\0' ? x : platform);
	if (rc == 0)
		rc = oci_set_text(index, OCI_MANIFESTS, last, "artifactType",
		    SOCI_TYPE);
	if (rc == 0)
		rc = oci_set(index, OCI_MANIFESTS, n, &made,
		    OCI_TYPE "manifest.v1+json");
	if (rc == 0)
		rc = annotate_digest(index, OCI_MANIFESTS, n, SOCI_DIGEST,
		    &about);
	if (rc == 0 && *x->architecture == '\0')
		rc = oci_set_platform(index, OCI_MANIFESTS, n, platform);
	return check_new(c, rc);
}

/*
 * Keeps the image of a manifest unchanged, and adds its SOCI index to `index`,
 * whose descriptor n, with contents x, refers to the image.
 */
static int
index_image(struct convert *c, struct oci_document *index, size_t n,
    struct oci_document *manifest, const struct oci_descriptor *x)
{
	struct oci_document *soci = NULL, *config = NULL;
	struct oci_descriptor platform = { .os = "", .architecture = "",
		.variant = "" }, part;
	struct oci_blob made;
	char why[OCI_WHY];
	int rc = check_new(c, oci_parse(&soci, soci_index, strlen(soci_index),
	    why));

	for (size_t i = 0; rc == 0 && i < oci_count(manifest, OCI_LAYERS);
	    i++) {
		rc = oci_get(manifest, OCI_LAYERS, i, &part, why);
		rc = rc != 0 ? refuse_part(c, "a manifest", rc, why) :
		    index_layer(c, &part, soci);
	}
	if (rc != 0)
		goto out;
	rc = oci_get(manifest, NULL, 0, &part, why);
	if (rc != 0 && rc != -ENOENT) {
		refuse_part(c, "a manifest", rc, why);
		goto out;
	}
	if (rc == 0) {
		if (oci_is_config(part.media_type))
			rc = read_document(c, &part.blob, &config);
		if (rc == 0)
			rc = copy_blob(c, &part.blob);
		if (rc != 0)
			goto out;
	}
	if (config != NULL)
		oci_config_platform(config, &platform);
	if (oci_count(soci, OCI_LAYERS) > 0) {
		rc = write_soci(c, index, n, manifest, soci, x, &platform);
		goto out;
	}
	rc = forget_soci(c, index, n, manifest);
	if (rc == 0)
		rc = write_document(c, manifest, &made);
	if (rc == 0)
		rc = check_new(c, oci_set(index, OCI_MANIFESTS, n, &made,
		    NULL));
out:
	oci_free(config);
	oci_free(soci);
	return rc;
}

/*
 * Creates an index for an image that is not part of one, and replaces the image
 * in the layout with this index.
 */
static int
index_alone(struct convert *c, struct oci_document *layout, size_t n,
    struct oci_document *manifest, const struct oci_descriptor *x)
{
	struct oci_document *index = NULL;
	struct oci_blob made;
	char why[OCI_WHY];
	int rc = oci_parse(&index, oci_index, strlen(oci_index), why);

	if (rc == 0)
		rc = oci_add(index, OCI_MANIFESTS, &x->blob, x->media_type);
	rc = check_new(c, rc);
	if (rc == 0)
		rc = index_image(c, index, 0, manifest, x);
	if (rc == 0)
		rc = write_document(c, index, &made);
	if (rc == 0)
		rc = check_new(c, oci_set(layout, OCI_MANIFESTS, n, &made,
		    OCI_TYPE "index.v1+json"));
	oci_free(index);
	return rc;
}

/* Indices */

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
 * Removes the entries that were not requested, and converts the documents to
 * which the others refer.
 */
static int
convert_index(struct convert *c, struct oci_document *d, int depth)
{
	const char *platform = c->o->platform;
	bool tagged = c->o->tag == NULL || depth > 0;
	struct oci_document *child = NULL;
	struct oci_descriptor x;
	struct oci_blob made;
	char why[OCI_WHY];
	size_t count;
	int rc = 0;

	if (depth == NESTED_MAX)
		return refuse_part(c, "an index", -EBADMSG, "indices are "
		    "nested too deeply");
	for (size_t n = oci_count(d, OCI_MANIFESTS); n-- > 0;) {
		bool named;

		rc = oci_get(d, OCI_MANIFESTS, n, &x, why);
		if (rc != 0)
			return refuse_part(c, "an index", rc, why);
		/* only the layout's index has tags */
		named = depth > 0 || c->o->tag == NULL ||
		    strcmp(x.tag, c->o->tag) == 0;
		tagged = tagged || named;
		if (!named || strcmp(x.artifact_type, SOCI_TYPE) == 0 ||
		    (platform != NULL && *x.architecture != '\0' &&
		    !is_platform(&x, platform)))
			oci_remove(d, OCI_MANIFESTS, n);
	}
	count = oci_count(d, OCI_MANIFESTS);
	if (count == 0 && !tagged)
		return refuse_part(c, "index.json", -ENOENT,
		    "no image with that tag");
	if (count == 0)
		return refuse_part(c, depth == 0 ? "index.json" : "an index",
		    -ENOENT, platform != NULL ? "no image for that platform" :
		    "no image");
	/* SOCI indices are added at the end */
	for (size_t n = 0; rc == 0 && n < count; n++) {
		rc = oci_get(d, OCI_MANIFESTS, n, &x, why);
		if (rc != 0)
			return refuse_part(c, "an index", rc, why);
		rc = read_document(c, &x.blob, &child);
		if (rc != 0)
			return rc;
		if (!oci_is_index(child) && c->o->pack->kind == LAYER_ZTOC) {
			rc = depth > 0 ? index_image(c, d, n, child, &x) :
			    index_alone(c, d, n, child, &x);
		} else {
			rc = forget_soci(c, d, n, child);
			if (rc == 0)
				rc = oci_is_index(child) ?
				    convert_index(c, child, depth + 1) :
				    convert_manifest(c, child);
			if (rc == 0)
				rc = write_document(c, child, &made);
			if (rc == 0)
				rc = check_new(c, oci_set(d, OCI_MANIFESTS, n,
				    &made, NULL));
		}
		oci_free(child);
	}
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
	rc = read_document(c, NULL, &c->index);
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
	return check_new(c, rc);
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
