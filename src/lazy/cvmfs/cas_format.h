/*
 * cas_format.h - constants of the CVMFS format
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: github.com/cvmfs/cvmfs, cvmfs/catalog_sql.h, crypto/hash.h,
 * manifest.cc, xattr.h.
 */
#ifndef COLDPRESS_LAZY_CVMFS_CAS_FORMAT_H
#define COLDPRESS_LAZY_CVMFS_CAS_FORMAT_H

#include "lazy/cvmfs/cas.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAS_MANIFEST ".cvmfspublished"
#define CAS_WHITELIST ".cvmfswhitelist"
#define CAS_REPLICA ".cvmfs_master_replica"
#define CAS_MARKER ".cvmfscatalog"	/* in the root of a nested catalog */
#define CAS_AUTO ".cvmfsautocatalog"	/* in the root of a nested catalog that
					 * was created automatically */

#define CAS_SCHEMA "2.5"
#define CAS_SCHEMA_REVISION 7

enum {
	CAS_MD5 = 16,			/* bytes of a path's hash */
	CAS_PATH = 48,			/* size of an object's path, including
					 * the NUL */
	CAS_XATTR_MAX = 255,		/* maximum length of a name or value,
					 * and maximum number of attributes per
					 * file */
	CAS_TTL = 240,			/* seconds */

	/* flags in a catalog's row */
	CAS_DIR = 1,
	CAS_MOUNTPOINT = 2,		/* nested catalog, in its parent */
	CAS_FILE = 4,			/* not a directory */
	CAS_LINK = 8,
	CAS_SPECIAL = 16,
	CAS_ROOT = 32,			/* root of a nested catalog */
	CAS_CHUNKED = 64,
	CAS_EXTERNAL = 128,
	CAS_HASH_SHIFT = 8,		/* 3 bits: 0 is SHA-1 */
	CAS_CODING_SHIFT = 11,		/* 3 bits: */
	CAS_ZLIB = 0, CAS_PLAIN = 1,
	CAS_BIND = 0x4000,
	CAS_HIDDEN = 0x8000,

	/* suffixes of object names; whole files have none */
	CAS_CATALOG_OBJECT = 'C', CAS_CHUNK_OBJECT = 'P',
	CAS_CERTIFICATE_OBJECT = 'X'
};

struct cas_object {
	uint8_t hash[CAS_HASH];		/* SHA-1 of the compressed bytes */
	char suffix;			/* or '\0' */
	uint64_t stored;		/* compressed bytes */
};

/* A catalog's reference to a nested catalog. */
struct cas_nested {
	uint8_t hash[CAS_HASH];
	uint64_t size;			/* bytes, uncompressed */
};

/* Writes the path of an object: "data/", 2 digits, "/", 38 and the suffix. */
void cas_object_path(char path[CAS_PATH], const uint8_t hash[CAS_HASH],
    char suffix);

/*
 * Packs extended attributes as CVMFS does; *data must be freed with sys_free().
 * *len is 0 if there are none.  Those that the format has no room for are left
 * out, as by CVMFS; *lost is their number.  Returns 0 or -ENOMEM.
 */
int cas_pack_xattrs(const struct layer_entry *e, uint8_t **data, size_t *len,
    size_t *lost);

/*
 * Unpacks extended attributes, whose strings are taken from the arena.  Returns
 * 0, -ENOMEM or -EBADMSG.
 */
struct arena;
int cas_unpack_xattrs(struct arena *arena, const uint8_t *data, size_t len,
    struct tar_xattr **xattrs, size_t *count);

#endif
