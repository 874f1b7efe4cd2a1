/*
 * cas_db.h - reading an untrusted catalog of a CVMFS repository
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * SQLite reads the database from memory.  A query cannot write, call functions,
 * or use schema objects other than tables, and the number of instructions that
 * it may execute is limited.
 */
#ifndef COLDPRESS_LAZY_CVMFS_CAS_DB_H
#define COLDPRESS_LAZY_CVMFS_CAS_DB_H

#include "cas_format.h"

struct cas_db;

/* The MD5 of a path, as the two numbers stored in a catalog. */
struct cas_path {
	int64_t a, b;
};

struct cas_row {
	struct cas_path path, parent;
	uint64_t hardlinks;
	int64_t size, mode, mtime, mtime_ns, flags, uid, gid;
	const char *name, *link;	/* valid until the next row */
	const void *hash, *xattrs;	/* likewise, or NULL */
	size_t hash_len, xattrs_len;
};

struct cas_chunk {
	struct cas_path path;
	int64_t offset, size;
	uint8_t hash[CAS_HASH];
};

struct cas_nested_row {
	const char *path;		/* valid until the next row */
	struct cas_nested nested;
};

/*
 * Opens a database of len bytes, which must outlive it.  Returns 0, -ENOMEM, or
 * -EBADMSG with a clause in why.
 */
int cas_db_open(struct cas_db **d, const void *data, size_t len,
    char why[LAYER_WHY]);
void cas_db_close(struct cas_db *d);		/* may be NULL */

/*
 * Each function reads the next row of a table, starting with the first row.
 * Returns 1, 0 after the last row, or -errno as above.
 */
int cas_db_row(struct cas_db *d, struct cas_row *r, char why[LAYER_WHY]);
int cas_db_chunk(struct cas_db *d, struct cas_chunk *c, char why[LAYER_WHY]);
int cas_db_nested(struct cas_db *d, struct cas_nested_row *n,
    char why[LAYER_WHY]);

#endif
