/*
 * cas_catalog.c - writing a CVMFS catalog
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: cvmfs/catalog_sql.cc, schema 2.5, revision 7; catalog_counters.h.
 */
#include "cas_catalog.h"

#include "base/bytes.h"
#include "base/hex.h"
#include "base/sys.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

static const char schema[] =
    "PRAGMA journal_mode=OFF; PRAGMA page_size=4096; BEGIN;"
    "CREATE TABLE properties (key TEXT, value TEXT,"
    " CONSTRAINT pk_properties PRIMARY KEY (key));"
    "CREATE TABLE catalog (md5path_1 INTEGER, md5path_2 INTEGER,"
    " parent_1 INTEGER, parent_2 INTEGER, hardlinks INTEGER, hash BLOB,"
    " size INTEGER, mode INTEGER, mtime INTEGER, mtimens INTEGER,"
    " flags INTEGER, name TEXT, symlink TEXT, uid INTEGER, gid INTEGER,"
    " xattr BLOB, CONSTRAINT pk_catalog PRIMARY KEY (md5path_1, md5path_2));"
    "CREATE INDEX idx_catalog_parent ON catalog (parent_1, parent_2);"
    "CREATE TABLE chunks (md5path_1 INTEGER, md5path_2 INTEGER,"
    " offset INTEGER, size INTEGER, hash BLOB, CONSTRAINT pk_chunks"
    " PRIMARY KEY (md5path_1, md5path_2, offset, size), FOREIGN KEY"
    " (md5path_1, md5path_2) REFERENCES catalog(md5path_1, md5path_2));"
    "CREATE TABLE nested_catalogs (path TEXT, sha1 TEXT, size INTEGER,"
    " CONSTRAINT pk_nested_catalogs PRIMARY KEY (path));"
    "CREATE TABLE bind_mountpoints (path TEXT, sha1 TEXT, size INTEGER,"
    " CONSTRAINT pk_bind_mountpoints PRIMARY KEY (path));"
    "CREATE TABLE statistics (counter TEXT, value INTEGER,"
    " CONSTRAINT pk_statistics PRIMARY KEY (counter));";

enum statement { ROW, CHUNK, NESTED, PROPERTY, STATISTIC, STATEMENTS };

static const char *const statements[STATEMENTS] = {
	[ROW] = "INSERT INTO catalog (md5path_1, md5path_2, parent_1, parent_2,"
	    " hardlinks, hash, size, mode, mtime, mtimens, flags, name,"
	    " symlink, uid, gid, xattr)"
	    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[CHUNK] = "INSERT INTO chunks VALUES (?, ?, ?, ?, ?)",
	[NESTED] = "INSERT INTO nested_catalogs VALUES (?, ?, ?)",
	[PROPERTY] = "INSERT INTO properties VALUES (?, ?)",
	[STATISTIC] = "INSERT INTO statistics VALUES (?, ?)",
};

static const char *const counters[CAS_COUNTS] = {
	[CAS_REGULAR] = "regular", [CAS_SYMLINKS] = "symlink",
	[CAS_SPECIALS] = "special", [CAS_DIRS] = "dir",
	[CAS_NESTED] = "nested", [CAS_CHUNKED_FILES] = "chunked",
	[CAS_CHUNKS] = "chunks", [CAS_FILE_SIZE] = "file_size",
	[CAS_CHUNKED_SIZE] = "chunked_size", [CAS_XATTRS] = "xattr",
	[CAS_EXTERNALS] = "external",
	[CAS_EXTERNAL_SIZE] = "external_file_size",
};

struct cas_catalog {
	sqlite3 *db;
	sqlite3_stmt *s[STATEMENTS];
	struct digest *md5;
	struct cas_counts counts;
};

/* Opening */

static int
error_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE: return 0;
	case SQLITE_NOMEM: return -ENOMEM;
	case SQLITE_FULL:
	case SQLITE_TOOBIG: return -EFBIG;
	default: return -EIO;
	}
}

/* Executes a statement whose parameters are bound. */
static int
run_statement(sqlite3_stmt *s)
{
	int rc = sqlite3_step(s);

	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return error_of(rc);
}

static int
add_property(struct cas_catalog *k, const char *key, const char *value)
{
	sqlite3_bind_text(k->s[PROPERTY], 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_text(k->s[PROPERTY], 2, value, -1, SQLITE_STATIC);
	return run_statement(k->s[PROPERTY]);
}

static int
add_number(struct cas_catalog *k, const char *key, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return add_property(k, key, text);
}

int
cas_catalog_open(struct cas_catalog **out, const char *directory,
    const struct digest_algo *md5)
{
	struct cas_catalog *k = sys_calloc(1, sizeof(*k));
	int rc;

	if (k == NULL)
		return -ENOMEM;
	rc = digest_new(&k->md5, md5);
	/* a database in memory, whose bytes can be read in place */
	if (rc == 0)
		rc = error_of(sqlite3_open_v2("catalog", &k->db,
		    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		    SQLITE_OPEN_NOMUTEX, "memdb"));
	if (rc == 0)
		rc = error_of(sqlite3_exec(k->db, schema, NULL, NULL, NULL));
	for (int i = 0; rc == 0 && i < STATEMENTS; i++)
		rc = error_of(sqlite3_prepare_v2(k->db, statements[i], -1,
		    &k->s[i], NULL));
	if (rc == 0)
		rc = add_property(k, "schema", CAS_SCHEMA);
	if (rc == 0)
		rc = add_number(k, "schema_revision", CAS_SCHEMA_REVISION);
	if (rc == 0)
		rc = add_number(k, "revision", 1);
	if (rc == 0 && *directory != '\0')
		rc = add_property(k, "root_prefix", directory);
	if (rc != 0)
		cas_catalog_close(k);
	else
		*out = k;
	return rc;
}

void
cas_catalog_close(struct cas_catalog *k)
{
	if (k == NULL)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(k->s[i]);
	sqlite3_close(k->db);
	digest_free(k->md5);
	sys_free(k);
}

/* Rows */

/* Binds the two halves of a path's MD5 to parameters n and n + 1. */
static int
bind_path(struct cas_catalog *k, sqlite3_stmt *s, int n, const char *path,
    size_t len)
{
	uint8_t sum[DIGEST_MAX];
	int rc = digest_once(k->md5, path, len, sum);

	sqlite3_bind_int64(s, n, (int64_t)load_le64(sum));
	sqlite3_bind_int64(s, n + 1, (int64_t)load_le64(sum + 8));
	return rc;
}

static int64_t
row_size(const struct layer_entry *e)
{
	enum { DIR_SIZE = 4096 };

	switch (e->type) {
	case TAR_FILE: return (int64_t)e->size;
	case TAR_SYMLINK: return (int64_t)strlen(e->link);
	case TAR_CHAR:
	case TAR_BLOCK_DEVICE: return (int64_t)makedev(e->major, e->minor);
	case TAR_DIR: return DIR_SIZE;
	default: return 0;
	}
}

static unsigned
flags_of(const struct layer_entry *e)
{
	switch (e->type) {
	case TAR_DIR: return CAS_DIR;
	case TAR_SYMLINK: return CAS_FILE | CAS_LINK;
	case TAR_FILE:
		return CAS_FILE | CAS_ZLIB << CAS_CODING_SHIFT |
		    (e->run_count > 1 ? CAS_CHUNKED : 0);
	default: return CAS_FILE | CAS_SPECIAL;
	}
}

static const struct cas_object *
object_of(const struct cas_dirent *d, size_t run)
{
	return d->e->run_count == 0 ? d->objects :
	    &d->objects[d->e->runs[run].unit];
}

static void
count_entry(struct cas_catalog *k, const struct cas_dirent *d)
{
	const struct layer_entry *e = d->e;
	uint64_t *self = k->counts.self;

	self[CAS_XATTRS] += e->xattr_count > 0;
	switch (e->type) {
	case TAR_DIR:
		self[CAS_DIRS]++;
		self[CAS_NESTED] += (d->flags & CAS_MOUNTPOINT) != 0;
		break;
	case TAR_SYMLINK: self[CAS_SYMLINKS]++; break;
	case TAR_FILE:
		self[CAS_REGULAR]++;
		self[CAS_FILE_SIZE] += e->size;
		if (e->run_count <= 1)
			break;
		self[CAS_CHUNKED_FILES]++;
		self[CAS_CHUNKS] += e->run_count;
		self[CAS_CHUNKED_SIZE] += e->size;
		break;
	default: self[CAS_SPECIALS]++; break;
	}
}

int
cas_catalog_add(struct cas_catalog *k, const struct cas_dirent *d)
{
	const struct layer_entry *e = d->e;
	const char *slash = memrchr(d->path, '/', d->len);
	sqlite3_stmt *s = k->s[ROW];
	uint8_t *xattrs = NULL;
	size_t len = 0;
	int rc = cas_pack_xattrs(e, &xattrs, &len);

	if (rc != 0)
		goto out;
	rc = bind_path(k, s, 1, d->path, d->len);
	if (rc != 0)
		goto out;
	if (slash != NULL) {
		rc = bind_path(k, s, 3, d->path, (size_t)(slash - d->path));
		if (rc != 0)
			goto out;
	} else {
		sqlite3_bind_int64(s, 3, 0);
		sqlite3_bind_int64(s, 4, 0);
	}
	sqlite3_bind_int64(s, 5, (int64_t)((uint64_t)d->group << 32 |
	    d->links));
	if (e->type == TAR_FILE && e->run_count <= 1)
		sqlite3_bind_blob(s, 6, object_of(d, 0)->hash, CAS_HASH,
		    SQLITE_STATIC);
	sqlite3_bind_int64(s, 7, row_size(e));
	sqlite3_bind_int64(s, 8, tar_type_mode(e->type) | e->mode);
	sqlite3_bind_int64(s, 9, e->mtime);
	if (e->mtime_ns != 0)
		sqlite3_bind_int64(s, 10, e->mtime_ns);
	sqlite3_bind_int64(s, 11, flags_of(e) | d->flags);
	sqlite3_bind_text(s, 12, d->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 13, e->type == TAR_SYMLINK ? e->link : "", -1,
	    SQLITE_STATIC);
	sqlite3_bind_int64(s, 14, (int64_t)e->uid);
	sqlite3_bind_int64(s, 15, (int64_t)e->gid);
	if (len > 0)
		sqlite3_bind_blob(s, 16, xattrs, (int)len, SQLITE_STATIC);
	rc = run_statement(s);
	if (rc != 0)
		goto out;
	count_entry(k, d);
	s = k->s[CHUNK];
	for (size_t i = 0; rc == 0 && e->run_count > 1 && i < e->run_count;
	    i++) {
		const struct layer_run *run = &e->runs[i];

		rc = bind_path(k, s, 1, d->path, d->len);
		sqlite3_bind_int64(s, 3, (int64_t)run->offset);
		sqlite3_bind_int64(s, 4, (int64_t)run->length);
		sqlite3_bind_blob(s, 5, object_of(d, i)->hash, CAS_HASH,
		    SQLITE_STATIC);
		if (rc == 0)
			rc = run_statement(s);
	}
out:
	sys_free(xattrs);
	return rc;
}

int
cas_catalog_nest(struct cas_catalog *k, const char *path,
    const struct cas_nested *n, const struct cas_counts *counts)
{
	char hex[2 * CAS_HASH + 1];

	hex_write(hex, n->hash, CAS_HASH);
	sqlite3_bind_text(k->s[NESTED], 1, path, -1, SQLITE_STATIC);
	sqlite3_bind_text(k->s[NESTED], 2, hex, -1, SQLITE_STATIC);
	sqlite3_bind_int64(k->s[NESTED], 3, (int64_t)n->size);
	for (int i = 0; i < CAS_COUNTS; i++)
		k->counts.subtree[i] += counts->self[i] + counts->subtree[i];
	return run_statement(k->s[NESTED]);
}

/* The end */

static int
add_statistics(struct cas_catalog *k, const char *of, const uint64_t *values)
{
	sqlite3_stmt *s = k->s[STATISTIC];
	char name[40];
	int rc = 0;

	for (int i = 0; rc == 0 && i < CAS_COUNTS; i++) {
		snprintf(name, sizeof(name), "%s_%s", of, counters[i]);
		sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 2, (int64_t)values[i]);
		rc = run_statement(s);
	}
	return rc;
}

int
cas_catalog_end(struct cas_catalog *k, int64_t modified,
    const void **data, size_t *len, struct cas_counts *counts)
{
	sqlite3_int64 size = 0;
	int rc = add_number(k, "last_modified", modified);

	if (rc == 0)
		rc = add_statistics(k, "self", k->counts.self);
	if (rc == 0)
		rc = add_statistics(k, "subtree", k->counts.subtree);
	if (rc == 0)
		rc = error_of(sqlite3_exec(k->db, "COMMIT", NULL, NULL, NULL));
	if (rc != 0)
		return rc;
	*data = sqlite3_serialize(k->db, "main", &size,
	    SQLITE_SERIALIZE_NOCOPY);
	*len = (size_t)size;
	*counts = k->counts;
	return *data == NULL ? -EIO : 0;
}
