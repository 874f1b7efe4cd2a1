/*
 * cas_impl.h - declarations shared by the parts of cas.h
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_CVMFS_CAS_IMPL_H
#define COLDPRESS_LAZY_CVMFS_CAS_IMPL_H

#include "lazy/cvmfs/cas.h"
#include "lazy/merge.h"

#include "base/output_tree.h"
#include "base/strbuf.h"
#include "cas_format.h"
#include "engine/digest/digest.h"
#include "lazy/format.h"

/* An archive that has been read: its index has a unit for each object. */
struct cas_layer {
	struct layer l;			/* only its index is used */
	struct cas_object *objects;	/* object of each unit */
	size_t object_count, object_cap;
};

/* The revision before this one. */
struct cas_before {
	int dir;			/* -1: none */
	uint64_t revision;
	int64_t time;			/* of its publication */
};

struct cas {
	const struct cas_options *o;
	struct output_tree tree;
	struct digest_algo *sha1, *md5;
	struct cas_layer **layers;	/* lowest first */
	size_t layer_count, layer_cap;
	struct cas_batch *batches;	/* one for each slot */
	size_t slots;
	struct cas_writer *writer;	/* used by the calling thread */
	struct cas_object empty;	/* for empty files */
	struct cas_signer *signer;
	struct cas_before before;
	int64_t newest;			/* latest modification time */
	int64_t published;		/* what the manifest will say; 0: no
					 * time */
	size_t xattrs_lost;		/* files that lost attributes */
	char *lost_path;		/* the first of them, or NULL */
	struct cas_result *r;
	char *why;			/* buffer of the current call */
};

/* cas.c */

/* Writes objects; each thread has its own. */
struct cas_writer;

/*
 * Compresses len bytes and writes the object, unless it already exists.  Fills
 * in object, except for the suffix, which the caller has set.  Returns 0 or
 * -errno.
 */
int cas_write(struct cas_writer *w, const void *data, size_t len,
    struct cas_object *object);

/* Writes an object that is compressed already, in the same way. */
int cas_store(struct cas_writer *w, const void *packed, size_t len,
    struct cas_object *object);

/* cas_catalog.c */

/*
 * Writes the catalogs of a tree, and sets *root to the root catalog.  Returns 0
 * or -errno.
 */
int cas_write_catalogs(struct cas *c, const struct merge *tree,
    struct cas_nested *root);

/* cas_manifest.c */

struct cas_signer;

/*
 * Reads or generates the key, and issues a certificate for it.  Returns 0,
 * -ENOMEM, or -EINVAL with a clause in why.
 */
int cas_signer_open(struct cas_signer **s, const struct cas_options *o,
    char why[LAYER_WHY]);
void cas_signer_close(struct cas_signer *s);	/* may be NULL */

/* Returns the SHA-256 of the public key in DER. */
const uint8_t *cas_signer_key(const struct cas_signer *s);

/*
 * Writes the certificate, the manifest, the whitelist, and the file that allows
 * replication.  Returns 0, or -errno like cas_finish().
 */
int cas_publish(struct cas *c, const struct cas_nested *root);

/* cas_update.c */

/*
 * Reads the manifest of the revision before, verifies it, and sets c->before.
 * Returns 0, or -errno with a clause in why.
 */
int cas_before_open(struct cas *c, char why[LAYER_WHY]);

/*
 * Links the objects of the revision before that this one does not have, and
 * counts them.  Returns 0 or -errno.
 */
int cas_before_keep(struct cas *c);

#endif
