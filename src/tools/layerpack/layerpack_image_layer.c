/*
 * layerpack_image_layer.c - converting a layer of an OCI image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: OCI image specification 1.1, "Image Layer Filesystem Changeset";
 * Docker's "Image Manifest Version 2, Schema 2", which does not support zstd.
 */
#include "layerpack_image.h"

#include "base/array.h"
#include "base/hex.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
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

static int
pack(struct image *m, int in, struct output *o, const struct oci_blob *from,
    struct pack_result *r)
{
	char why[LAYER_WHY];
	int rc;

	progress_start(&m->progress, STDERR_FILENO, from->size,
	    m->p->msg.quiet);
	rc = pack_layer(&m->pack, in, o->fd, r, why);
	progress_erase(&m->progress);
	if (rc == 0 || (rc == -EINVAL && m->pack.kind == LAYER_ZTOC)) {
		if (rc != 0)
			msg_warn(&m->p->msg, "%s: no ztoc created: %s",
			    from->hex, why);
		return rc;
	}
	return image_refuse(m, from->hex, rc, why);
}

static void
take_result(struct image *m, struct image_layer *l,
    const struct pack_result *r)
{
	hex_write(l->to.hex, r->blob_digest, LAYER_DIGEST);
	l->to.size = r->blob_size;
	hex_write(l->diff_id, r->content_digest, LAYER_DIGEST);
	l->annotation_count = pack_annotations(&m->pack, r, l->annotations);
	m->from_B += l->from.size;
	m->to_B += l->to.size;
	if (m->p->msg.verbose > 0)
		msg_note(&m->p->msg, "%s: %llu bytes, %s %llu in %llu %s",
		    l->from.hex, (unsigned long long)l->from.size,
		    m->pack.kind == LAYER_ZTOC ? "with a ztoc of" : "now",
		    (unsigned long long)l->to.size,
		    (unsigned long long)r->units,
		    m->pack.kind == LAYER_ZTOC ? "spans" : "units");
}

/* Packs the blob open at `in`. */
static int
convert(struct image *m, int in, struct image_layer *l)
{
	struct pack_result r;
	struct output o;
	int rc = oci_blob_verify(in, &l->from);

	if (rc != 0)
		return image_refuse(m, l->from.hex, rc, rc == -EBADMSG ?
		    OCI_NOT_ITS : strerror(-rc));
	rc = oci_new_begin(&m->new, &o);
	if (rc != 0)
		return image_refuse(m, m->p->o.image, rc, strerror(-rc));
	rc = pack(m, in, &o, &l->from, &r);
	if (rc != 0) {
		output_abort(&o);
		return rc;
	}
	take_result(m, l, &r);
	layerpack_warn(m->p, l->from.hex, l->to.hex, &r);
	rc = oci_new_end(&m->new, &o, &l->to);
	return rc == 0 ? 0 : image_refuse(m, m->p->o.image, rc,
	    strerror(-rc));
}

/*
 * Returns the converted layer, which may already have been converted for
 * another image.  Returns NULL after an error.
 */
static const struct image_layer *
find_layer(struct image *m, const struct oci_blob *b, int *rc)
{
	void *layers = m->layers;
	struct image_layer *l;
	int fd;

	for (size_t i = 0; i < m->layer_count; i++)
		if (strcmp(m->layers[i].from.hex, b->hex) == 0)
			return &m->layers[i];
	*rc = array_grow(&layers, m->layer_count, &m->layer_cap, sizeof(*l));
	m->layers = layers;
	fd = *rc != 0 ? *rc : oci_blob_open(m->dir, b);
	if (fd < 0) {
		*rc = image_refuse(m, b->hex, fd, strerror(-fd));
		return NULL;
	}
	l = &m->layers[m->layer_count];
	*l = (struct image_layer){ .from = *b };
	*rc = convert(m, fd, l);
	sys_close(fd);
	if (*rc != 0)
		return NULL;
	m->layer_count++;
	return l;
}

/* The manifest and the config */

static int
refer(struct oci_document *manifest, size_t n, struct oci_document *config,
    const struct image_layer *l, const char *type)
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
new_type(const struct image *m, const char *type, bool *refused)
{
	*refused = false;
	for (size_t i = 0; i < TYPES; i++)
		if (strcmp(types[i].from, type) == 0) {
			const char *to = m->pack.kind == LAYER_ZSTD_CHUNKED ?
			    types[i].zstd : types[i].gzip;

			*refused = to == NULL;
			return to;
		}
	return NULL;
}

int
image_convert_layer(struct image *m, struct oci_document *manifest, size_t n,
    struct oci_document *config)
{
	const struct image_layer *l;
	struct oci_descriptor x;
	char why[OCI_WHY];
	const char *type;
	bool refused;
	int rc = oci_get(manifest, OCI_LAYERS, n, &x, why);

	if (rc != 0)
		return image_refuse(m, "a manifest", rc, why);
	type = new_type(m, x.media_type, &refused);
	if (refused)
		return image_refuse(m, x.blob.hex, -EINVAL, "Docker's "
		    "manifests cannot contain zstd; skopeo copy --format oci "
		    "converts them");
	if (type == NULL)
		return image_copy(m, &x.blob);
	l = find_layer(m, &x.blob, &rc);
	if (l == NULL)
		return rc;
	rc = refer(manifest, n, config, l, type);
	return rc == 0 ? 0 : image_refuse(m, x.blob.hex, rc, rc == -EBADMSG ?
	    "the config has no diff_id for the layer" : strerror(-rc));
}

/* Returns whether a SOCI index can contain a ztoc for the layer. */
static bool
is_indexable(const struct image *m, const struct oci_descriptor *x)
{
	bool refused;

	return x->blob.size >= m->p->o.make.min_layer &&
	    new_type(m, x->media_type, &refused) != NULL &&
	    strcmp(x->media_type, OCI_LAYER "+zstd") != 0;
}

int
image_index_layer(struct image *m, const struct oci_descriptor *x,
    const struct oci_blob **ztoc)
{
	const struct image_layer *l;
	int rc = image_copy(m, &x->blob);

	*ztoc = NULL;
	if (rc != 0 || !is_indexable(m, x))
		return rc;
	l = find_layer(m, &x->blob, &rc);
	if (l != NULL)
		*ztoc = &l->to;
	return rc == -EINVAL ? 0 : rc;
}
