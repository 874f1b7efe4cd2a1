/*
 * cas_catalog.h - writing a CVMFS catalog
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A catalog is an SQLite database, which is built in memory.  A catalog belongs
 * to one thread at a time.
 */
#ifndef COLDPRESS_LAZY_CVMFS_CAS_CATALOG_H
#define COLDPRESS_LAZY_CVMFS_CAS_CATALOG_H

#include "cas_format.h"
#include "engine/digest/digest.h"

/* A catalog's counters, for itself and for the catalogs below it. */
enum cas_count {
	CAS_REGULAR, CAS_SYMLINKS, CAS_SPECIALS, CAS_DIRS, CAS_NESTED,
	CAS_CHUNKED_FILES, CAS_CHUNKS, CAS_FILE_SIZE, CAS_CHUNKED_SIZE,
	CAS_XATTRS, CAS_EXTERNALS, CAS_EXTERNAL_SIZE, CAS_COUNTS
};

struct cas_counts {
	uint64_t self[CAS_COUNTS], subtree[CAS_COUNTS];
};

struct cas_catalog;

/*
 * Starts the catalog of a directory, which is "" or begins with "/".  Returns
 * 0, -ENOMEM or -EIO.
 */
int cas_catalog_open(struct cas_catalog **k, const char *directory,
    const struct digest_algo *md5);
void cas_catalog_close(struct cas_catalog *k);	/* may be NULL */

struct cas_dirent {
	const char *path;		/* as for cas_catalog_open() */
	size_t len;
	const char *name;		/* "" for the repository's root */
	const struct layer_entry *e;	/* not a hard link */
	unsigned flags;			/* CAS_MOUNTPOINT, CAS_ROOT or 0 */
	uint32_t group, links;		/* hard link group, or 0; number of
					 * names in its directory, or link count
					 * of a directory */
	/* The objects of e's units, or the empty object if e has no units. */
	const struct cas_object *objects;
};

/*
 * Adds a row.  Returns 0, -ENOMEM, -EIO, -EFBIG (the catalog is larger than 1
 * GiB) or -EINVAL (the entry has extended attributes that the format cannot
 * represent).
 */
int cas_catalog_add(struct cas_catalog *k, const struct cas_dirent *d);

/*
 * Adds a reference to a nested catalog, with the given counters.  Returns 0 or
 * -errno as above.
 */
int cas_catalog_nest(struct cas_catalog *k, const char *path,
    const struct cas_nested *n, const struct cas_counts *counts);

/*
 * Completes the catalog, and points *data at the database, which the catalog
 * still owns.  Returns 0 or -errno as above.
 */
int cas_catalog_end(struct cas_catalog *k, int64_t modified,
    const void **data, size_t *len, struct cas_counts *counts);

/*
 * Packs extended attributes as CVMFS does; *data must be freed with sys_free().
 * *len is 0 if there are none.  Returns 0, -EINVAL or -ENOMEM.
 */
int cas_pack_xattrs(const struct layer_entry *e, uint8_t **data, size_t *len);

#endif
