/*
 * vfs_store_private.h - the parts of an additional layer store
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_VFS_VFS_STORE_PRIVATE_H
#define COLDPRESS_LAZY_VFS_VFS_STORE_PRIVATE_H

#include "lazy/vfs/vfs_store.h"

#include "vfs_private.h"

struct vfs_store {
	struct vfs *v;
	struct vfs_store_options o;
	pthread_t unloader;
	bool has_unloader;

	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t changed;		/* a layer's state, or stop */
	bool stop;
	size_t open_count;		/* of layers */
	struct vfs_store_image **images;
	size_t image_count, image_cap;
	struct vfs_store_layer **layers;
	size_t layer_count, layer_cap;
	uint64_t next_inode;
};

/* vfs_store_image.c */

bool vfs_store_is_digest(const char *s);

/* Reports why a layer cannot be used.  Returns rc. */
int vfs_store_refuse(const struct vfs_store_layer *l, int rc,
    const char *why);

/*
 * Finds a layer in the manifest of an image.  Returns its number; -ENOENT if it
 * is not there, or if the documents have not been fetched yet; or another
 * -errno.
 */
int64_t vfs_store_find_in_manifest(const struct vfs_store_image *i,
    const char *digest, uint64_t *size);

/*
 * Fetches the manifest and the config, unless another thread has just done so.
 * Returns 0, or -errno after reporting the reason.
 */
int vfs_store_get_documents(struct vfs_store_layer *l);

/* Records in the cache which manifest contains this layer. */
void vfs_store_remember(const struct vfs_store_layer *l);

/*
 * Writes the info file of the layer with the given number in the manifest.
 * Returns 0, or -EBADMSG after reporting the reason.
 */
int vfs_store_describe(struct vfs_store_layer *l, size_t which);

/* vfs_store_unload.c */

/* Starts the thread that unloads layers.  Returns 0 or -errno. */
int vfs_store_start(struct vfs_store *s);

#endif
