/*
 * convert_layer.c - converting a layer of an OCI image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: OCI image specification 1.1, "Image Layer Filesystem Changeset";
 * Docker's "Image Manifest Version 2, Schema 2", which does not support zstd.
 */
#include "convert_impl.h"

#include "base/array.h"
#include "base/hex.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define OCI_LAYER "application/vnd.oci.image.layer.v1.tar"
#define DOCKER_LAYER "application/vnd.docker.image.rootfs.diff.tar"

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

/* Converting */

/* Packs the blob open at `in`. */
static int
make_layer(struct convert *c, int in, struct convert_layer *l)
{
	const struct pack_options *pack = c->o->pack;
	struct pack_result r;
	struct output o;
	char why[LAYER_WHY];
	int rc = oci_blob_verify(in, &l->from);

	if (rc != 0)
		return convert_refuse(c, l->from.hex, rc, rc == -EBADMSG ?
		    OCI_NOT_ITS : strerror(-rc));
	rc = oci_new_begin(c->o->new, &o);
	if (rc != 0)
		return convert_refuse(c, c->o->new_path, rc, strerror(-rc));
	progress_start(pack->progress, STDERR_FILENO, l->from.size,
	    c->o->quiet);
	rc = pack_layer(pack, in, o.fd, &r, why);
	progress_erase(pack->progress);
	if (rc != 0) {
		output_abort(&o);
		if (rc != -EINVAL || pack->kind != LAYER_ZTOC)
			return convert_refuse(c, l->from.hex, rc, why);
		c->o->report(c->o->arg, false, l->from.hex, why);
		return rc;
	}
	hex_write(l->to.hex, r.blob_digest, LAYER_DIGEST);
	l->to.size = r.blob_size;
	hex_write(l->diff_id, r.content_digest, LAYER_DIGEST);
	l->annotation_count = pack_annotations(pack, &r, l->annotations);
	c->result->from_B += l->from.size;
	c->result->to_B += l->to.size;
	c->o->made(c->o->arg, &l->from, &l->to, &r);
	rc = oci_new_end(c->o->new, &o, &l->to);
	return rc == 0 ? 0 : convert_refuse(c, c->o->new_path, rc,
	    strerror(-rc));
}

/*
 * Returns the converted layer, which may already have been converted for
 * another image.  Returns NULL after an error.
 */
static const struct convert_layer *
find_layer(struct convert *c, const struct oci_blob *b, int *rc)
{
	void *layers = c->layers;
	struct convert_layer *l;
	int fd;

	for (size_t i = 0; i < c->layer_count; i++)
		if (strcmp(c->layers[i].from.hex, b->hex) == 0)
			return &c->layers[i];
	*rc = array_grow(&layers, c->layer_count, &c->layer_cap, sizeof(*l));
	c->layers = layers;
	fd = *rc != 0 ? *rc : oci_blob_open(c->o->dir, b);
	if (fd < 0) {
		*rc = convert_refuse(c, b->hex, fd, strerror(-fd));
		return NULL;
	}
	l = &c->layers[c->layer_count];
	*l = (struct convert_layer){ .from = *b };
	*rc = make_layer(c, fd, l);
	sys_close(fd);
	if (*rc != 0)
		return NULL;
	c->result->layers = ++c->layer_count;
	return l;
}

/* The manifest and the config */

static int
refer(struct oci_document *manifest, size_t n, struct oci_document *config,
    const struct convert_layer *l, const char *type)
{
	int rc = oci_set(manifest, OCI_LAYERS, n, &l->to, type);

	for (size_t i = 0; rc == 0 && i < STALE; i++)
		rc = oci_annotate(manifest, OCI_LAYERS, n, stale[i], NULL);
	for (size_t i = 0; rc == 0 && i < l->annotation_count; i++)
		rc = oci_annotate(manifest, OCI_LAYERS, n,
		    l->annotations[i].name, l->annotations[i].value);
	return rc != 0 || config == NULL ? rc :
	    oci_set_diff_id(config, n, l->diff_id);
}

/* Returns the new media type, or NULL if `type` is not a layer of files. */
static const char *
new_type(const struct convert *c, const char *type, bool *refused)
{
	*refused = false;
	for (size_t i = 0; i < TYPES; i++)
		if (strcmp(types[i].from, type) == 0) {
			const char *to = c->o->pack->kind == LAYER_ZSTD_CHUNKED ?
			    types[i].zstd : types[i].gzip;

			*refused = to == NULL;
			return to;
		}
	return NULL;
}

int
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
		return convert_refuse(c, "a manifest", rc, why);
	type = new_type(c, x.media_type, &refused);
	if (refused)
		return convert_refuse(c, x.blob.hex, -EINVAL, "Docker's "
		    "manifests cannot contain zstd; skopeo copy --format oci "
		    "converts them");
	if (type == NULL)
		return convert_copy(c, &x.blob);
	l = find_layer(c, &x.blob, &rc);
	if (l == NULL)
		return rc;
	rc = refer(manifest, n, config, l, type);
	return rc == 0 ? 0 : convert_refuse(c, x.blob.hex, rc, rc == -EBADMSG ?
	    "the config has no diff_id for the layer" : strerror(-rc));
}

/* Returns whether a SOCI index can contain a ztoc for the layer. */
static bool
is_indexable(const struct convert *c, const struct oci_descriptor *x)
{
	bool refused;

	return x->blob.size >= c->o->min_layer &&
	    new_type(c, x->media_type, &refused) != NULL &&
	    strcmp(x->media_type, OCI_LAYER "+zstd") != 0;
}

int
convert_index_layer(struct convert *c, const struct oci_descriptor *x,
    const struct oci_blob **ztoc)
{
	const struct convert_layer *l;
	int rc = convert_copy(c, &x->blob);

	*ztoc = NULL;
	if (rc != 0 || !is_indexable(c, x))
		return rc;
	l = find_layer(c, &x->blob, &rc);
	if (l != NULL)
		*ztoc = &l->to;
	return rc == -EINVAL ? 0 : rc;
}
