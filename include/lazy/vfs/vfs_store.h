/*
 * vfs_store.h - an additional layer store of containers/storage
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A store is a filesystem of images and their layers, each opened when it is
 * looked up, and unloaded when it is unused.
 *
 * Source: containers/storage, drivers/overlay/overlay.go (of 1.43 and 1.61): in
 * the store, IMAGE/DIGEST/ is a layer, where IMAGE is the name of the image in
 * base64 and DIGEST the digest of the compressed layer or, since 1.54, that of
 * its table of contents, as the manifest states it.  In it, diff is the tree of
 * the layer with overlayfs whiteouts, info its description, and blob the layer
 * itself.  Creating a file "use" there marks the layer as in use, and removing
 * DIGEST marks it as unused; both fail with ENOENT.
 *
 * All functions except open and close are thread-safe.
 */
#ifndef COLDPRESS_LAZY_VFS_VFS_STORE_H
#define COLDPRESS_LAZY_VFS_VFS_STORE_H

#include "lazy/vfs/vfs_image.h"

#include <pthread.h>

enum { VFS_STORE_INFO = 512 };		/* size of the info file */

/* An image that has been looked up. */
struct vfs_store_image {
	uint64_t number;		/* from 0 */
	char *name;			/* in base64 */
	struct vfs_image_name of;
	pthread_rwlock_t lock;		/* protects the fields below */
	struct oci_document *manifest, *config;	/* or NULL */
	char hex[OCI_HEX + 1];		/* SHA-256 of the manifest */
};

/* A layer of an image. */
struct vfs_store_layer {
	struct vfs_store_image *image;
	uint64_t number;		/* from 1 */
	char name[OCI_HEX + 8];		/* the digest that was looked up,
					 * including "sha256:" */
	char digest[OCI_HEX + 8];	/* that of the blob */
	uint64_t size;			/* size of the blob */
	struct vfs_stack stack;
	char info[VFS_STORE_INFO];
	size_t info_length;
	/* guarded by the store's lock */
	enum {
		VFS_STORE_OPENING, VFS_STORE_OPEN, VFS_STORE_CLOSING,
		VFS_STORE_CLOSED
	} state;
	uint64_t uses;
	unsigned held;			/* by requests being answered */
	uint64_t last_ns;		/* when it was last held or used */
	unsigned asked;			/* number of times since then that
					 * references were asked back */
	uint64_t asked_ns;

	pthread_mutex_t lock;		/* protects the fields below */
	int blob;			/* the verified blob, or -1 */
	unsigned blob_users;
};

struct vfs_store_options {
	/* the only registries used, if there are any */
	char *const *registries;
	size_t registry_count;
	unsigned idle_s;		/* an unused layer is unloaded then */
	/*
	 * Asks for the references to an idle layer back, as far as they are
	 * unused: those to its names or, if all is set, those to everything in
	 * its tree, too.  Called by one thread, without a lock.
	 */
	void (*ask_back)(void *arg, struct vfs_store_layer *l, bool all);
	/* A stack is about to be closed, and must not be used any longer. */
	void (*closing)(void *arg, struct vfs_stack *s);
	void *arg;
};

struct vfs_store;

/*
 * Opens a store whose layers are read through v; the registries must outlive
 * it.  Returns 0 or -errno.
 */
int vfs_store_open(struct vfs_store **s, struct vfs *v,
    const struct vfs_store_options *o);
void vfs_store_close(struct vfs_store *s);	/* may be NULL */

/*
 * Stops unloading layers; s may be NULL.  Returns false if the thread still
 * asks for references; then the store must not be closed.
 */
bool vfs_store_stop(struct vfs_store *s);

/*
 * Looks up an image by its name in base64.  Returns its number, from 0; -ENOENT
 * if this is not an image name; or -ENOMEM.
 */
int64_t vfs_store_find_image(struct vfs_store *s, const char *name);

/* Returns an image, or NULL. */
struct vfs_store_image *vfs_store_image(struct vfs_store *s, uint64_t number);

/*
 * Finds an image's layer, which is opened if necessary, and holds it; sets
 * *opened if it was.  Returns 0; -ENOENT if it cannot be read lazily, after
 * reporting why; or -ENOMEM.
 */
int vfs_store_find_layer(struct vfs_store *s, uint64_t image,
    const char *name, struct vfs_store_layer **l, bool *opened);

/*
 * Calls each() for each open layer, with a lock held, with the names of its image
 * and its digest: "HOST/NAME:TAG sha256:...".
 */
void vfs_store_list(struct vfs_store *s,
    void (*each)(void *arg, const char *name, const struct layer *layer),
    void *arg);

/* Holds an open layer by its number, from 1; returns NULL if there is none. */
struct vfs_store_layer *vfs_store_hold(struct vfs_store *s, uint64_t number);

/* A held layer is not unloaded. */
void vfs_store_let_go(struct vfs_store *s, struct vfs_store_layer *l);

/*
 * Counts references that were returned, to an inode of a layer's tree or, if
 * inode is MERGE_NONE, to the layer's other names.
 */
void vfs_store_forget(struct vfs_store *s, uint64_t number, int64_t inode,
    uint64_t count);

/*
 * These functions add a user of a layer, and remove a user if the layer has
 * been looked up.
 */
void vfs_store_use(struct vfs_store *s, struct vfs_store_layer *l);
void vfs_store_release(struct vfs_store *s,
    const struct vfs_store_image *image, const char *name);

/*
 * Fetches and verifies the whole layer, unless this has already been done.
 * vfs_store_blob_read() can then be used until vfs_store_blob_close().  Returns
 * 0 or -errno.
 */
int vfs_store_blob_open(struct vfs_store_layer *l);
void vfs_store_blob_close(struct vfs_store_layer *l);

/* Returns the number of bytes read, or -errno. */
ssize_t vfs_store_blob_read(struct vfs_store_layer *l, void *buf, size_t size,
    off_t offset);

#endif
