/*
 * cas_db.c - reading an untrusted catalog from a CVMFS repository
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: "Defense Against The Dark Arts" in SQLite's documentation;
 * cvmfs/catalog_sql.cc for the tables, some of whose columns were added in
 * schema revision 7.
 */
#include "cas_db.h"

#include "base/hex.h"
#include "base/sys.h"
#include "lazy/format.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

enum {
	LENGTH_MAX = 16 << 20,		/* maximum bytes in a value or a row */
	STEPS = 1000,			/* instructions between two checks */
	ROW_LEAST = 16			/* minimum bytes in a row */
};

struct cas_db {
	sqlite3 *db;
	sqlite3_stmt *rows, *chunks, *nested;
	uint64_t steps;			/* remaining instructions, in units of
					 * STEPS */
	uint64_t bytes;			/* remaining bytes of rows */
};

/* Opening */

static int
count_steps(void *arg)
{
	struct cas_db *d = arg;

	return d->steps == 0 || --d->steps == 0;
}

/* Allows only table queries that call no functions. */
static int
authorize(void *arg, int action, const char *a, const char *b, const char *c,
    const char *e)
{
	(void)arg;
	(void)a;
	(void)b;
	(void)c;
	(void)e;
	return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK :
	    SQLITE_DENY;
}

static int
refuse(const struct cas_db *d, int rc, char why[LAYER_WHY])
{
	if ((rc & 0xff) == SQLITE_NOMEM)
		return -ENOMEM;
	return layer_refuse(why, -EBADMSG, "a catalog is damaged: %.160s",
	    d->db == NULL ? sqlite3_errstr(rc) : sqlite3_errmsg(d->db));
}

static void
limit(struct cas_db *d)
{
	static const int limits[][2] = {
		{ SQLITE_LIMIT_LENGTH, LENGTH_MAX },
		{ SQLITE_LIMIT_SQL_LENGTH, 64 << 10 },
		{ SQLITE_LIMIT_COLUMN, 64 }, { SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 20 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 2 },
		{ SQLITE_LIMIT_VDBE_OP, 10000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 8 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};
	static const int switches[][2] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0 },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(d->db, limits[i][0], limits[i][1]);
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		sqlite3_db_config(d->db, switches[i][0], switches[i][1],
		    (int *)NULL);
	sqlite3_set_authorizer(d->db, authorize, NULL);
	sqlite3_progress_handler(d->db, STEPS, count_steps, d);
}

/*
 * The columns present in every revision; the last two depend on the revision.
 */
#define COLUMNS "SELECT md5path_1, md5path_2, parent_1, parent_2, hardlinks," \
    " hash, size, mode, mtime, flags, name, symlink, uid, gid, "

static int
prepare(struct cas_db *d)
{
	static const char *const rows[] = {
		COLUMNS "mtimens, xattr FROM catalog",
		COLUMNS "NULL, xattr FROM catalog",
		COLUMNS "NULL, NULL FROM catalog",
	};
	int rc = SQLITE_ERROR;

	for (size_t i = 0; rc == SQLITE_ERROR && i < 3; i++)
		rc = sqlite3_prepare_v2(d->db, rows[i], -1, &d->rows, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(d->db, "SELECT md5path_1, md5path_2,"
		    " offset, size, hash FROM chunks", -1, &d->chunks, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(d->db, "SELECT path, sha1, size FROM"
		    " nested_catalogs", -1, &d->nested, NULL);
	return rc;
}

static int
attach(struct cas_db *d, const void *data, size_t len)
{
	unsigned char *bytes;
	int rc = sqlite3_open_v2(":memory:", &d->db, SQLITE_OPEN_READWRITE |
	    SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, NULL);

	/* SQLite only reads the data, although the parameter is not const */
	memcpy(&bytes, &data, sizeof(bytes));
	if (rc == SQLITE_OK)
		rc = sqlite3_deserialize(d->db, "main", bytes,
		    (sqlite3_int64)len, (sqlite3_int64)len,
		    SQLITE_DESERIALIZE_READONLY);
	/* the database has not been read yet */
	if (rc == SQLITE_OK)
		limit(d);
	return rc;
}

int
cas_db_open(struct cas_db **out, const void *data, size_t len,
    char why[LAYER_WHY])
{
	struct cas_db *d = sys_calloc(1, sizeof(*d));
	int rc;

	if (d == NULL)
		return -ENOMEM;
	/* reading all rows takes fewer instructions than the rows have bytes */
	d->steps = 100 + len / 100;
	/* text grows by half when it is converted from UTF-16 */
	d->bytes = 2 * (uint64_t)len;
	rc = attach(d, data, len);
	if (rc == SQLITE_OK)
		rc = prepare(d);
	if (rc == SQLITE_OK) {
		*out = d;
		return 0;
	}
	rc = refuse(d, rc, why);
	cas_db_close(d);
	return rc;
}

void
cas_db_close(struct cas_db *d)
{
	if (d == NULL)
		return;
	sqlite3_finalize(d->rows);
	sqlite3_finalize(d->chunks);
	sqlite3_finalize(d->nested);
	sqlite3_close(d->db);
	sys_free(d);
}

/* Rows */

/* Returns text without embedded NULs, or NULL. */
static const char *
text_of(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	if (text == NULL)
		return sqlite3_column_type(s, column) == SQLITE_NULL ? "" :
		    NULL;
	return strlen(text) == (size_t)sqlite3_column_bytes(s, column) ?
	    text : NULL;
}

/* Returns the bytes, or NULL if there are none. */
static const void *
bytes_of(sqlite3_stmt *s, int column, size_t *len)
{
	const void *data = sqlite3_column_blob(s, column);

	*len = (size_t)sqlite3_column_bytes(s, column);
	return data;
}

static struct cas_path
path_of(sqlite3_stmt *s, int column)
{
	return (struct cas_path){ sqlite3_column_int64(s, column),
		sqlite3_column_int64(s, column + 1) };
}

/*
 * Counts the bytes of the current row.  Only a maliciously crafted database has
 * rows that share bytes or compute them.
 */
static int
count_bytes(struct cas_db *d, sqlite3_stmt *s, char why[LAYER_WHY])
{
	uint64_t n = ROW_LEAST;

	for (int i = 0; i < sqlite3_column_count(s); i++) {
		int type = sqlite3_column_type(s, i);

		if (type == SQLITE_TEXT || type == SQLITE_BLOB)
			n += (uint64_t)sqlite3_column_bytes(s, i);
	}
	if (n > d->bytes)
		return layer_refuse(why, -EBADMSG, "a catalog is damaged: its "
		    "rows exceed its size");
	d->bytes -= n;
	return 1;
}

/* Returns 1, 0 at the end, or -errno. */
static int
step(struct cas_db *d, sqlite3_stmt *s, char why[LAYER_WHY])
{
	int rc = sqlite3_step(s);

	return rc == SQLITE_ROW ? count_bytes(d, s, why) :
	    rc == SQLITE_DONE ? 0 : refuse(d, rc, why);
}

int
cas_db_row(struct cas_db *d, struct cas_row *r, char why[LAYER_WHY])
{
	sqlite3_stmt *s = d->rows;
	int rc = step(d, s, why);

	if (rc != 1)
		return rc;
	*r = (struct cas_row){ .path = path_of(s, 0), .parent = path_of(s, 2),
		.hardlinks = (uint64_t)sqlite3_column_int64(s, 4),
		.size = sqlite3_column_int64(s, 6),
		.mode = sqlite3_column_int64(s, 7),
		.mtime = sqlite3_column_int64(s, 8),
		.flags = sqlite3_column_int64(s, 9),
		.name = text_of(s, 10), .link = text_of(s, 11),
		.uid = sqlite3_column_int64(s, 12),
		.gid = sqlite3_column_int64(s, 13),
		.mtime_ns = sqlite3_column_int64(s, 14) };
	r->hash = bytes_of(s, 5, &r->hash_len);
	r->xattrs = bytes_of(s, 15, &r->xattrs_len);
	if (r->name == NULL || r->link == NULL)
		return layer_refuse(why, -EBADMSG, "a name in a catalog is not "
		    "text or contains a NUL");
	return 1;
}

int
cas_db_chunk(struct cas_db *d, struct cas_chunk *c, char why[LAYER_WHY])
{
	sqlite3_stmt *s = d->chunks;
	const void *hash;
	size_t len;
	int rc = step(d, s, why);

	if (rc != 1)
		return rc;
	c->path = path_of(s, 0);
	c->offset = sqlite3_column_int64(s, 2);
	c->size = sqlite3_column_int64(s, 3);
	hash = bytes_of(s, 4, &len);
	if (len != CAS_HASH)
		return layer_refuse(why, -EBADMSG, "a chunk's hash has %zu "
		    "bytes instead of %d", len, CAS_HASH);
	memcpy(c->hash, hash, CAS_HASH);
	return 1;
}

int
cas_db_nested(struct cas_db *d, struct cas_nested_row *n, char why[LAYER_WHY])
{
	sqlite3_stmt *s = d->nested;
	const char *hex;
	int64_t size;
	int rc = step(d, s, why);

	if (rc != 1)
		return rc;
	n->path = text_of(s, 0);
	hex = text_of(s, 1);
	size = sqlite3_column_int64(s, 2);
	if (n->path == NULL || hex == NULL ||
	    hex_read(n->nested.hash, CAS_HASH, hex) != 0)
		return layer_refuse(why, -EBADMSG, "a nested catalog has no "
		    "SHA-1 hash");
	if (size < 1 || size > LAYER_INDEX_MAX)
		return layer_refuse(why, -EBADMSG, "a nested catalog's size, "
		    "%lld, is not in 1..%d", (long long)size,
		    LAYER_INDEX_MAX);
	n->nested.size = (uint64_t)size;
	return 1;
}
