/*
 * layermount_store_image.c - the manifests that contain the layers of a store
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount_store.h"

#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { KEY = sizeof(struct image_name) + OCI_HEX + 16 };

int64_t
store_find_in_manifest(const struct store_image *i, const char *digest,
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
key_of(const struct store_layer *l, char key[KEY])
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
recall(struct layermount *m, struct store_layer *l, struct image_name *of)
{
	char key[KEY], *hex = NULL;
	size_t len;

	*of = l->image->of;
	key_of(l, key);
	if (m->o.cache != NULL && cache_text_read(m->cache_dir, key,
	    OCI_HEX, &hex, &len) == 0 && len == OCI_HEX)
		snprintf(of->reference, sizeof(of->reference), "sha256:%s",
		    hex);
	sys_free(hex);
}

void
store_remember(struct layermount *m, const struct store_layer *l)
{
	char key[KEY];

	key_of(l, key);
	if (m->o.cache != NULL)
		(void)cache_text_write(m->cache_dir, key, l->image->hex,
		    OCI_HEX);
}

int
store_get_documents(struct layermount *m, struct store_layer *l)
{
	struct store_image *i = l->image;
	struct image_name of;
	int rc = 0;

	pthread_rwlock_wrlock(&i->lock);
	if (store_find_in_manifest(i, l->digest, &l->size) < 0) {
		oci_free(i->manifest);
		oci_free(i->config);
		i->manifest = i->config = NULL;
		recall(m, l, &of);
		rc = image_manifest(m, &of, &i->manifest, i->hex);
		if (rc == 0)
			rc = image_config(m, &i->of, i->manifest,
			    &i->config);
	}
	pthread_rwlock_unlock(&i->lock);
	return rc;
}
