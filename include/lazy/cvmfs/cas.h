/*
 * cas.h - writing a CVMFS repository
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: cvmfs/catalog_sql.cc, manifest.cc, whitelist.cc, directory_entry.h,
 * xattr.h and crypto/signature.cc in github.com/cvmfs/cvmfs (schema 2.5,
 * revision 7); see doc/layers.md.
 *
 * An image's layers are added lowest first, and merged.  The repository appears
 * complete or not at all.  The same layers, options and keys produce the same
 * bytes with any number of threads, unless a file is dated in the future.
 */
#ifndef COLDPRESS_LAZY_CVMFS_CAS_H
#define COLDPRESS_LAZY_CVMFS_CAS_H

#include "lazy/layer.h"

#include <stdbool.h>
#include <stdint.h>

struct progress;

enum {
	CAS_HASH = 20,			/* size of the SHA-1 that names an
					 * object */
	CAS_LEVEL = 6,
	CAS_LEVEL_MAX = 12,
	CAS_CHUNK = 4 << 20,
	CAS_CATALOG = 10000,
	CAS_CATALOG_MIN = 10
};

struct cas_options {
	unsigned threads;		/* at least 1 */
	int level;			/* compression level,
					 * 0..CAS_LEVEL_MAX */
	uint64_t chunk;			/* bytes; larger files are split */
	uint64_t catalog;		/* number of names, at least
					 * CAS_CATALOG_MIN; larger directories
					 * get nested catalogs */
	/*
	 * Name of the repository: letters, digits, ".", "-" and "_", with at
	 * least one ".".
	 */
	const char *name;
	/*
	 * A private RSA key in PEM, followed by a NUL; NULL: a new key, which
	 * is not kept.
	 */
	const char *key;
	/* The same, to sign the whitelist; NULL: key. */
	const char *master_key;
	/*
	 * Directory of the revision before this one, whose objects are kept
	 * (as further links, or copies); NULL: none.  It must have the same
	 * name and, unless master_key is set, the same key.
	 */
	const char *update;
	uint64_t revision;		/* 0: one more than the one before */
	bool refuse_empty;		/* see struct tar_source */
	struct progress *progress;	/* progress through the archives; may be
					 * NULL */
};

struct cas_result {
	uint8_t catalog[CAS_HASH];	/* hash of the root catalog */
	uint8_t certificate[CAS_HASH];
	uint8_t key[LAYER_DIGEST];	/* SHA-256 of the public key in DER */
	uint8_t fingerprint[CAS_HASH];	/* SHA-1 of the certificate in DER */
	uint64_t revision;
	uint64_t entries, catalogs;
	uint64_t files_B;		/* total file size, counting every hard
					 * link */
	uint64_t chunks;		/* chunks of files that were split */
	uint64_t objects, objects_B;	/* distinct objects */
	uint64_t kept;			/* others, of revisions before */
};

/*
 * Determines the digest of the key named by the user: "sha256:" and 64 digits,
 * or a file with a public key or a certificate in PEM.  Returns 0, or -errno
 * with the reason in why.
 */
int cas_key_find(const char *name, uint8_t digest[LAYER_DIGEST],
    char why[LAYER_WHY]);

struct cas;

/*
 * Starts a repository in the directory path, which must not exist.  o and
 * everything it points to must remain valid until cas_close().  Returns 0, or
 * -errno with the reason in why.
 */
int cas_open(struct cas **c, const struct cas_options *o, const char *path,
    char why[LAYER_WHY]);

/*
 * Adds the archive at the current position of `in`, which may be compressed.
 * Returns 0 or, with the reason in why, -EBADMSG or -ENODATA (the archive is
 * damaged or truncated), -EINVAL (the format cannot represent the archive),
 * -EFBIG, -ENOMEM, or -errno from a read or write.  On success, why contains a
 * warning or is empty.
 */
int cas_add(struct cas *c, int in, char why[LAYER_WHY]);

/*
 * Writes the catalogs, the manifest and the whitelist, and gives the directory
 * its final name.  Returns 0 or -errno, and sets why, as above.
 */
int cas_finish(struct cas *c, struct cas_result *r, char why[LAYER_WHY]);

/* Removes the repository unless it was finished.  c may be NULL. */
void cas_close(struct cas *c);

#endif
