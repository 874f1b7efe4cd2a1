/*
 * vfs_store_image.c - the manifests and descriptions of a store's layers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_store_private.h"

#include "lazy/vfs/cache.h"

#include "base/args.h"
#include "base/hex.h"
#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KEY = sizeof(struct vfs_image_name) + OCI_HEX + 16 };

int64_t
vfs_store_find_in_manifest(const struct vfs_store_image *i, const char *digest,
    uint64_t *size)
{
	const char *hex = strchr(digest, ':') + 1;
	struct oci_blob *layers = NULL;
	char why[OCI_WHY];
	size_t count;
	int64_t found = i->config == NULL ? -ENOENT :
	    oci_layers(i->manifest, &layers, &count, why);

	if (found != 0)
		return found;
	found = -ENOENT;
	for (size_t k = 0; found < 0 && k < count; k++)
		if (strcmp(layers[k].hex, hex) == 0) {
			found = (int64_t)k;
			*size = layers[k].size;
		}
	sys_free(layers);
	return found;
}

/* Writes the cache key of the manifest in which a layer was found. */
static void
manifest_key(const struct vfs_store_layer *l, char key[KEY])
{
	snprintf(key, KEY, "%s %s %s", l->image->of.base,
	    l->image->of.reference, l->digest);
}

/*
 * Determines the name by which the manifest is requested: the name of the
 * image, or of the manifest that contained this layer when the image was
 * pulled.
 */
static void
recall_name(const struct vfs_store_layer *l, struct vfs_image_name *of)
{
	const struct vfs_remote *remote = &l->stack.v->o.remote;
	char key[KEY], *hex = NULL;
	size_t len;

	*of = l->image->of;
	manifest_key(l, key);
	if (remote->cache_kept && cache_text_read(remote->cache_dir, key,
	    OCI_HEX, &hex, &len) == 0 && len == OCI_HEX)
		snprintf(of->reference, sizeof(of->reference), "sha256:%s",
		    hex);
	sys_free(hex);
}

void
vfs_store_remember(const struct vfs_store_layer *l)
{
	const struct vfs_remote *remote = &l->stack.v->o.remote;
	char key[KEY];

	manifest_key(l, key);
	if (remote->cache_kept)
		(void)cache_text_write(remote->cache_dir, key, l->image->hex,
		    OCI_HEX);
}

int
vfs_store_get_documents(struct vfs_store_layer *l)
{
	const struct vfs_remote *remote = &l->stack.v->o.remote;
	struct vfs_store_image *i = l->image;
	struct vfs_image_name of;
	int rc = 0;

	pthread_rwlock_wrlock(&i->lock);
	if (vfs_store_find_in_manifest(i, l->digest, &l->size) >= 0)
		goto out;
	oci_free(i->manifest);
	oci_free(i->config);
	i->manifest = i->config = NULL;
	recall_name(l, &of);
	rc = vfs_image_manifest(remote, &of, &i->manifest, i->hex);
	if (rc == 0)
		rc = vfs_image_config(remote, &i->of, i->manifest, &i->config);
out:
	pthread_rwlock_unlock(&i->lock);
	return rc;
}

/* The description */

bool
vfs_store_is_digest(const char *s)
{
	uint8_t digest[LAYER_DIGEST];

	return hex_read_sha256(digest, s) == 0;
}

int
vfs_store_refuse(const struct vfs_store_layer *l, int rc, const char *why)
{
	char name[sizeof(l->image->of.base) + sizeof(l->digest) + 8];

	snprintf(name, sizeof(name), "%s/blobs/%s", l->image->of.base,
	    l->digest);
	return vfs_refuse(&l->stack.v->o.remote.report, name, rc, why);
}

/*
 * Returns the number by which containers/storage identifies the layer's
 * compression method.
 */
static int
compression_of(const struct layer *l)
{
	return layer_kind(l) == LAYER_ZSTD_CHUNKED ? 4 : 2;
}

/*
 * Returns the size of a layer's archive: the headers and data of its entries.
 * Extended headers are unknown and not counted.
 */
static int64_t
archive_size(const struct layer *l)
{
	enum { RECORD = 512 };
	uint64_t size = 2 * RECORD;
	size_t count;
	const struct layer_entry *e = layer_entries(l, &count);

	for (size_t i = 0; i < count && size < INT64_MAX / 2; i++)
		size += RECORD + (e[i].type != TAR_FILE ? 0 :
		    (e[i].size / RECORD + (e[i].size % RECORD != 0)) * RECORD);
	return size > INT64_MAX ? INT64_MAX : (int64_t)size;
}

/* See type Layer in layers.go in containers/storage. */
int
vfs_store_describe(struct vfs_store_layer *l, size_t which)
{
	const char *diff_id = oci_diff_id(l->image->config, which);
	const char *size = oci_annotation(l->image->manifest, which,
	    "io.containers.estargz.uncompressed-size");
	const struct layer *layer = l->stack.sources[0]->layer;
	int64_t length;

	if (diff_id == NULL || !vfs_store_is_digest(diff_id))
		return vfs_store_refuse(l, -EBADMSG, "the image's config has "
		    "no valid diff_id for the layer");
	if (size == NULL || args_int(size, 0, INT64_MAX, &length) != 0)
		length = archive_size(layer);
	l->info_length = (size_t)snprintf(l->info, sizeof(l->info),
	    "{\"compressed-diff-digest\":\"%s\",\"compressed-size\":%" PRIu64
	    ",\"diff-digest\":\"%s\",\"diff-size\":%" PRId64
	    ",\"compression\":%d}\n", l->digest, l->size, diff_id, length,
	    compression_of(layer));
	return 0;
}
