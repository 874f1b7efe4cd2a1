/*
 * cas_read.h - declarations shared by the code that reads CVMFS repositories
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cas_open.c reads the manifest and the catalogs, whose rows cas_rows.c reads,
 * and adds the entries to the index.  cas_unit.c finds and unpacks objects.
 */
#ifndef COLDPRESS_LAZY_CVMFS_CAS_READ_H
#define COLDPRESS_LAZY_CVMFS_CAS_READ_H

#include "cas_format.h"
#include "engine/digest/digest.h"
#include "lazy/format.h"

#include "base/arena.h"

/*
 * Limit on a file that is one object, which a reader holds in memory, stored and
 * decoded.  CVMFS's own publisher cuts files into chunks, except when it ingests
 * an archive.
 */
enum { CAS_WHOLE_MAX = 1 << 30 };

/* The object of a unit. */
struct cas_unit {
	char path[CAS_PATH];
	uint8_t hash[CAS_HASH];
	bool plain;			/* not compressed */
};

/* The state of a layer in this format, in addition to its index. */
struct cas_state {
	struct cas_unit *units;		/* of the index */
	size_t cap;
	uint32_t *table;		/* while opening: hash table of unit +
					 * 1 */
	size_t slots;
	uint64_t seed;
	struct digest_algo *sha1;
	struct layer_part *parts;	/* nested catalogs left out */
	size_t part_count, part_cap;
};

/* cas_unit.c */

/*
 * Returns the unit number of an object with `content` bytes of content, adding
 * the unit if it is new; or -EFBIG or -ENOMEM.
 */
int64_t cas_unit_add(struct layer *l, const uint8_t hash[CAS_HASH],
    char suffix, bool plain, uint64_t content, char why[LAYER_WHY]);

/*
 * Returns the maximum size of a compressed object with `content` bytes of
 * content.
 */
uint64_t cas_stored_max(uint64_t content);

struct cas_unpacker;

/* Opens an unpacker, one per thread.  Returns 0 or -ENOMEM. */
int cas_unpacker_open(struct cas_unpacker **u, const struct digest_algo *sha1);
void cas_unpacker_close(struct cas_unpacker *u);	/* may be NULL */

/*
 * Decompresses the object at the beginning of data, and verifies its SHA-1
 * unless hash is NULL.  Returns the length of its content, and sets *used to
 * the length of the object; or returns -EBADMSG, after which content must not
 * be used.
 */
ssize_t cas_unpack(struct cas_unpacker *u, const uint8_t hash[CAS_HASH],
    const void *data, size_t len, void *content, size_t room, size_t *used);

/* cas_rows.c */

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

/* A catalog's rows, sorted for lookup. */
struct cas_rows {
	struct cas_row *rows;		/* by parent and name */
	struct cas_chunk *chunks;	/* by path and offset */
	struct cas_nested_row *nested;	/* by path */
	size_t row_count, chunk_count, nested_count;
	struct arena arena;		/* for their strings */
};

/*
 * Reads a catalog of len bytes.  Returns 0, -ENOMEM, or -EBADMSG or -EFBIG with
 * a clause in why; must be freed even after an error.
 */
int cas_rows_read(struct cas_rows *r, const void *data, size_t len,
    char why[LAYER_WHY]);
void cas_rows_free(struct cas_rows *r);

/* Finds the rows of a directory; sets *end to the end of these rows. */
const struct cas_row *cas_rows_in(const struct cas_rows *r,
    const struct cas_path *dir, const struct cas_row **end);

/* Finds the chunks of a file in the same way. */
const struct cas_chunk *cas_rows_chunks(const struct cas_rows *r,
    const struct cas_path *file, const struct cas_chunk **end);

/* Returns the nested catalog at this path, or NULL. */
const struct cas_nested *cas_rows_nested(const struct cas_rows *r,
    const char *path);

/* cas_open.c */

int cas_open_layer(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY]);

/* A catalog whose entries are to be added to an index. */
struct cas_entries {
	struct layer *l;
	const struct cas_rows *rows;
	const char *directory;		/* its root; "", or "/usr/lib" */
	bool relative;			/* leave the directory out of paths */
	const struct digest_algo *md5;
	/*
	 * Called for each nested catalog after its directory's entry, with the
	 * directory's path and link count.  Returns 0 or -errno.
	 */
	int (*nest)(void *arg, const char *path, const struct cas_nested *n,
	    uint32_t links);
	void *arg;
};

/*
 * Adds the entries in a directory's catalog to the index.  Returns 0, -ENOMEM,
 * or -EBADMSG, -EFBIG or -ENOTSUP with a clause in why.
 */
int cas_entries_add(const struct cas_entries *of, char why[LAYER_WHY]);

#endif
