/*
 * layermount_store.h - an additional layer store of containers/storage
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: containers/storage, drivers/overlay/overlay.go (of 1.43): in the
 * store, IMAGE/DIGEST/ is a layer, where IMAGE is the name of the image in
 * base64 and DIGEST the digest of the compressed layer.  In it, diff is the
 * tree of the layer with overlayfs whiteouts, info its description, and blob
 * the layer itself.  Creating a file "use" there marks the layer as in use, and
 * removing DIGEST marks it as unused; both fail with ENOENT.
 *
 * All functions except open and close are thread-safe.
 */
#ifndef COLDPRESS_LAYERMOUNT_STORE_H
#define COLDPRESS_LAYERMOUNT_STORE_H

#include "layermount.h"

enum { STORE_INFO = 512 };		/* size of the info file */

/* An image that has been looked up. */
struct store_image {
	uint64_t number;		/* from 0 */
	char *name;			/* in base64 */
	struct image_name of;
	pthread_rwlock_t lock;		/* protects the fields below */
	struct oci_document *manifest, *config;	/* or NULL */
	char hex[OCI_HEX + 1];		/* SHA-256 of the manifest */
};

/* A layer of an image. */
struct store_layer {
	struct store_image *image;
	uint64_t number;		/* from 1 */
	char digest[OCI_HEX + 8];	/* digest, including "sha256:" */
	uint64_t size;			/* size of the blob */
	struct stack stack;
	char info[STORE_INFO];
	size_t info_length;
	/* guarded by the store's lock */
	enum { STORE_OPENING, STORE_OPEN, STORE_CLOSING, STORE_CLOSED } state;
	uint64_t uses;
	unsigned held;			/* by requests being answered */
	uint64_t last_ns;		/* when it was last held or used */
	unsigned asked;			/* number of times since then that the
					 * kernel was asked to drop its
					 * references */
	uint64_t asked_ns;

	pthread_mutex_t lock;		/* protects the fields below */
	int blob;			/* the verified blob, or -1 */
	unsigned blob_users;
};

int store_open(struct store **s, struct layermount *m);
void store_close(struct store *s);		/* may be NULL */

/*
 * Stops unloading layers; s may be NULL.  Returns false if the thread cannot
 * end before the mount does; then the store must not be closed.
 */
bool store_stop(struct store *s);

/*
 * Looks up an image by its name in base64.  Returns its number, from 0; -ENOENT
 * if this is not an image name; or -ENOMEM.
 */
int64_t store_find_image(struct store *s, const char *name);

/* Returns an image, or NULL. */
struct store_image *store_image(struct store *s, uint64_t number);

/*
 * Finds an image's layer, which is opened if necessary, and holds it.  Returns
 * 0; -ENOENT if it cannot be read lazily, after reporting why; or -ENOMEM.
 */
int store_find_layer(struct store *s, uint64_t image, const char *digest,
    struct store_layer **l);

/* Holds an open layer by its number, from 1; returns NULL if there is none. */
struct store_layer *store_hold(struct store *s, uint64_t number);

/* A held layer is not unloaded. */
void store_let_go(struct store *s, struct store_layer *l);

/*
 * Counts references that the kernel returned, to an inode of a layer's tree or,
 * if inode is MERGE_NONE, to one of the layer's other inodes.
 */
void store_forget(struct store *s, uint64_t number, int64_t inode,
    uint64_t count);

/*
 * These functions add a user of a layer, and remove a user if the layer has
 * been looked up.
 */
void store_use(struct store *s, struct store_layer *l);
void store_release(struct store *s, const struct store_image *image,
    const char *digest);

/* layermount_store_image.c */

/*
 * Finds a layer in the manifest of an image.  Returns its number; -ENOENT if it
 * is not there, or if the documents have not been fetched yet; or another
 * -errno.
 */
int64_t store_find_in_manifest(const struct store_image *i,
    const char *digest, uint64_t *size);

/*
 * Fetches the manifest and the config, unless another thread has just done so.
 */
int store_get_documents(struct layermount *m, struct store_layer *l);

/* Records in the cache which manifest contains this layer. */
void store_remember(struct layermount *m, const struct store_layer *l);

/* layermount_store_info.c */

bool store_is_digest(const char *s);

/* Reports why a layer cannot be used.  Returns rc. */
int store_refuse(struct layermount *m, const struct store_layer *l, int rc,
    const char *why);

/*
 * Writes the info file of the layer with the given number in the manifest.
 * Returns 0, or -EBADMSG after reporting the reason.
 */
int store_describe(struct layermount *m, struct store_layer *l, size_t which);

/* layermount_store_blob.c */

/*
 * Fetches and verifies the whole layer, unless this has already been done.
 * store_blob_read() can then be used until store_blob_close().  Returns 0 or
 * -errno.
 */
int store_blob_open(struct store_layer *l);
void store_blob_close(struct store_layer *l);

/* Returns the number of bytes read, or -errno. */
ssize_t store_blob_read(struct store_layer *l, void *buf, size_t size,
    off_t offset);

#endif
