/*
 * convert_soci.c - adding a SOCI index to an unchanged image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the package soci in awslabs/soci-snapshotter 0.11.1, "Convert" and
 * "MarshalIndex"; the documents are described in doc/layers.md.
 */
#include "convert_impl.h"

#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OCI_TYPE "application/vnd.oci.image."
#define EMPTY "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
#define SOCI "com.amazon.soci."

/* A SOCI index: a manifest whose layers are ztocs and whose config is "{}". */
static const char soci_index[] = "{\"schemaVersion\":2,"
    "\"mediaType\":\"" OCI_TYPE "manifest.v1+json\","
    "\"config\":{\"mediaType\":\"" SOCI_TYPE "\","
    "\"digest\":\"sha256:" EMPTY "\",\"size\":2},\"layers\":[],"
    "\"annotations\":{\"" SOCI "build-tool-identifier\":"
    "\"coldpress " COLDPRESS_VERSION "\"}}";

static const char oci_index[] = "{\"schemaVersion\":2,"
    "\"mediaType\":\"" OCI_TYPE "index.v1+json\",\"manifests\":[]}";

static int
new_document(struct convert *c, const char *text, struct oci_document **d)
{
	char why[OCI_WHY];
	int rc = oci_parse(d, text, strlen(text), why);

	return rc == 0 ? 0 : convert_refuse(c, c->o->new_path, rc,
	    strerror(-rc));
}

int
convert_forget_soci(struct convert *c, struct oci_document *index, size_t n,
    struct oci_document *child)
{
	int rc = oci_annotate(index, OCI_MANIFESTS, n, SOCI_DIGEST, NULL);

	if (rc == 0)
		rc = oci_annotate(child, OCI_SELF, 0, SOCI_DIGEST, NULL);
	return convert_edited(c, rc);
}

/* Adds a layer's ztoc to the SOCI index. */
static int
add_ztoc(struct convert *c, struct oci_document *soci,
    const struct oci_descriptor *layer, const struct oci_blob *ztoc)
{
	char digest[8 + OCI_HEX];
	size_t n = oci_count(soci, OCI_LAYERS);
	int rc = oci_add(soci, OCI_LAYERS, ztoc, "application/octet-stream");

	snprintf(digest, sizeof(digest), "sha256:%s", layer->blob.hex);
	if (rc == 0)
		rc = oci_annotate(soci, OCI_LAYERS, n,
		    SOCI "image-layer-digest", digest);
	if (rc == 0)
		rc = oci_annotate(soci, OCI_LAYERS, n,
		    SOCI "image-layer-mediaType", layer->media_type);
	return convert_edited(c, rc);
}

static int
index_layers(struct convert *c, struct oci_document *manifest,
    struct oci_document *soci)
{
	for (size_t n = 0; n < oci_count(manifest, OCI_LAYERS); n++) {
		const struct oci_blob *ztoc = NULL;
		struct oci_descriptor x;
		char why[OCI_WHY];
		int rc = oci_get(manifest, OCI_LAYERS, n, &x, why);

		if (rc != 0)
			return convert_refuse(c, "a manifest", rc, why);
		rc = convert_index_layer(c, &x, &ztoc);
		if (rc == 0 && ztoc != NULL)
			rc = add_ztoc(c, soci, &x, ztoc);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Writes the SOCI index, and adds a reference to it to the manifest. */
static int
write_soci(struct convert *c, const struct oci_document *soci,
    struct oci_document *manifest, struct oci_blob *made)
{
	char digest[8 + OCI_HEX];
	struct oci_blob empty;
	int rc = convert_write_text(c, "{}", 2, &empty);

	if (rc == 0)
		rc = convert_write_document(c, soci, made);
	if (rc != 0)
		return rc;
	c->result->soci++;
	snprintf(digest, sizeof(digest), "sha256:%s", made->hex);
	/* registries may refuse a mixture of Docker and OCI types */
	rc = oci_set_text(manifest, OCI_SELF, 0, "mediaType",
	    OCI_TYPE "manifest.v1+json");
	if (rc == 0)
		rc = oci_set_text(manifest, NULL, 0, "mediaType",
		    OCI_TYPE "config.v1+json");
	if (rc == 0)
		rc = oci_annotate(manifest, OCI_SELF, 0, SOCI_DIGEST, digest);
	return convert_edited(c, rc);
}

/*
 * Adds a descriptor of the SOCI index, with the platform of x, after the
 * descriptors of images.
 */
static int
list_soci(struct convert *c, struct oci_document *index,
    const struct oci_blob *soci, const struct oci_blob *manifest,
    const struct oci_descriptor *x)
{
	size_t n = oci_count(index, OCI_MANIFESTS);
	char digest[8 + OCI_HEX];
	int rc = oci_add(index, OCI_MANIFESTS, soci,
	    OCI_TYPE "manifest.v1+json");

	snprintf(digest, sizeof(digest), "sha256:%s", manifest->hex);
	if (rc == 0)
		rc = oci_annotate(index, OCI_MANIFESTS, n,
		    SOCI "image-manifest-digest", digest);
	if (rc == 0)
		rc = oci_set_platform(index, OCI_MANIFESTS, n, x);
	if (rc == 0)
		rc = oci_set_text(index, OCI_MANIFESTS, n, "artifactType",
		    SOCI_TYPE);
	return convert_edited(c, rc);
}

/* Updates descriptor n to refer to the manifest and its SOCI index. */
static int
list_image(struct convert *c, struct oci_document *index, size_t n,
    const struct oci_blob *manifest, const struct oci_blob *soci,
    const struct oci_descriptor *platform)
{
	char digest[8 + OCI_HEX];
	int rc = oci_set(index, OCI_MANIFESTS, n, manifest,
	    OCI_TYPE "manifest.v1+json");

	snprintf(digest, sizeof(digest), "sha256:%s", soci->hex);
	if (rc == 0)
		rc = oci_annotate(index, OCI_MANIFESTS, n, SOCI_DIGEST,
		    digest);
	if (rc == 0 && platform != NULL)
		rc = oci_set_platform(index, OCI_MANIFESTS, n, platform);
	return convert_edited(c, rc);
}

/*
 * Copies the config.  If it is an image's config, *platform is set to its
 * platform, whose strings belong to *config.
 */
static int
keep_config(struct convert *c, const struct oci_document *manifest,
    struct oci_document **config, struct oci_descriptor *platform)
{
	struct oci_descriptor x;
	char why[OCI_WHY];
	int rc = oci_get(manifest, NULL, 0, &x, why);

	if (rc != 0)
		return rc == -ENOENT ? 0 : convert_refuse(c, "a manifest", rc,
		    why);
	if (oci_is_config(x.media_type))
		rc = convert_read_document(c, &x.blob, config);
	if (rc == 0)
		rc = convert_copy(c, &x.blob);
	if (rc == 0 && *config != NULL)
		oci_config_platform(*config, platform);
	return rc;
}

/*
 * Writes the manifest and, if there are ztocs, the SOCI index, with
 * descriptors.
 */
static int
write_both(struct convert *c, struct oci_document *index, size_t n,
    struct oci_document *manifest, const struct oci_document *soci,
    const struct oci_descriptor *x, const struct oci_descriptor *platform)
{
	bool has_platform = *x->architecture != '\0';
	struct oci_blob made, about;
	int rc;

	if (oci_count(soci, OCI_LAYERS) == 0)
		rc = convert_forget_soci(c, index, n, manifest);
	else
		rc = write_soci(c, soci, manifest, &about);
	if (rc != 0)
		return rc;
	rc = convert_write_document(c, manifest, &made);
	if (rc != 0)
		return rc;
	if (oci_count(soci, OCI_LAYERS) == 0)
		return convert_edited(c, oci_set(index, OCI_MANIFESTS, n,
		    &made, NULL));
	rc = list_soci(c, index, &about, &made, has_platform ? x : platform);
	return rc != 0 ? rc : list_image(c, index, n, &made, &about,
	    has_platform ? NULL : platform);
}

/*
 * Indexes the image of a manifest, to which descriptor n of index, with
 * contents x, refers.
 */
static int
index_image(struct convert *c, struct oci_document *index, size_t n,
    struct oci_document *manifest, const struct oci_descriptor *x)
{
	struct oci_document *soci = NULL, *config = NULL;
	struct oci_descriptor platform = { .os = "", .architecture = "",
		.variant = "" };
	int rc = new_document(c, soci_index, &soci);

	if (rc != 0)
		return rc;
	rc = index_layers(c, manifest, soci);
	if (rc != 0)
		goto out;
	rc = keep_config(c, manifest, &config, &platform);
	if (rc == 0)
		rc = write_both(c, index, n, manifest, soci, x, &platform);
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
	int rc = new_document(c, oci_index, &index);

	if (rc != 0)
		return rc;
	rc = convert_edited(c, oci_add(index, OCI_MANIFESTS, &x->blob,
	    x->media_type));
	if (rc != 0)
		goto out;
	rc = index_image(c, index, 0, manifest, x);
	if (rc != 0)
		goto out;
	rc = convert_write_document(c, index, &made);
	if (rc == 0)
		rc = convert_edited(c, oci_set(layout, OCI_MANIFESTS, n, &made,
		    OCI_TYPE "index.v1+json"));
out:
	oci_free(index);
	return rc;
}

int
convert_add_soci(struct convert *c, struct oci_document *index, size_t n,
    struct oci_document *manifest, const struct oci_descriptor *x,
    bool in_index)
{
	return in_index ? index_image(c, index, n, manifest, x) :
	    index_alone(c, index, n, manifest, x);
}
