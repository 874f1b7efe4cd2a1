/*
 * cas_rows.c - the rows of an untrusted CVMFS catalog, in memory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * SQLite reads the database from memory.  A query cannot write, call functions,
 * or use schema objects other than tables, and the number of instructions that
 * it may execute is limited.
 *
 * Sources: "Defense Against The Dark Arts" in SQLite's documentation;
 * cvmfs/catalog_sql.cc for the tables, some of whose columns were added in
 * schema revision 7.
 */
#include "cas_read.h"

#include "base/array.h"
#include "base/hex.h"
#include "base/sys.h"
#include "lazy/format.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum {
	LENGTH_MAX = 16 << 20,		/* maximum bytes in a value or a row */
	STEPS = 1000,			/* instructions between two checks */
	ROW_LEAST = 16			/* minimum bytes in a row */
};

struct database {
	sqlite3 *db;
	sqlite3_stmt *rows, *chunks, *nested;
	uint64_t steps;			/* remaining instructions, in units of
					 * STEPS */
	uint64_t bytes;			/* remaining bytes of rows */
	char *why;
};

/* Opening */

static int
count_steps(void *arg)
{
	struct database *d = arg;

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
catalog_damaged(const struct database *d, int rc)
{
	if ((rc & 0xff) == SQLITE_NOMEM)
		return -ENOMEM;
	return layer_refuse(d->why, -EBADMSG, "a catalog is damaged: %.160s",
	    d->db == NULL ? sqlite3_errstr(rc) : sqlite3_errmsg(d->db));
}

/*
 * The columns present in every revision; the last two depend on the revision.
 */
#define COLUMNS "SELECT md5path_1, md5path_2, parent_1, parent_2, hardlinks," \
    " hash, size, mode, mtime, flags, name, symlink, uid, gid, "

/* Rows */

/* Opens the database and prepares the queries.  Returns SQLite's result. */
static int
open_database(struct database *d, const void *data, size_t len)
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
	static const char *const rows[] = {
		COLUMNS "mtimens, xattr FROM catalog",
		COLUMNS "NULL, xattr FROM catalog",
		COLUMNS "NULL, NULL FROM catalog",
	};
	unsigned char *bytes;
	int rc = sqlite3_open_v2(":memory:", &d->db, SQLITE_OPEN_READWRITE |
	    SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, NULL);

	/* SQLite only reads the data, although the parameter is not const */
	memcpy(&bytes, &data, sizeof(bytes));
	if (rc == SQLITE_OK)
		rc = sqlite3_deserialize(d->db, "main", bytes,
		    (sqlite3_int64)len, (sqlite3_int64)len,
		    SQLITE_DESERIALIZE_READONLY);
	if (rc != SQLITE_OK)
		return rc;
	/* the database has not been read yet */
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(d->db, limits[i][0], limits[i][1]);
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		sqlite3_db_config(d->db, switches[i][0], switches[i][1],
		    (int *)NULL);
	sqlite3_set_authorizer(d->db, authorize, NULL);
	sqlite3_progress_handler(d->db, STEPS, count_steps, d);
	rc = SQLITE_ERROR;
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

/* Orders */

static int
by_number(int64_t x, int64_t y)
{
	return x < y ? -1 : x > y;
}

static int
by_md5(const struct cas_path *x, const struct cas_path *y)
{
	int order = by_number(x->a, y->a);

	return order != 0 ? order : by_number(x->b, y->b);
}

static int
by_parent(const void *a, const void *b)
{
	const struct cas_row *x = a, *y = b;
	int order = by_md5(&x->parent, &y->parent);

	return order != 0 ? order : strcmp(x->name, y->name);
}

static int
by_file(const void *a, const void *b)
{
	const struct cas_chunk *x = a, *y = b;
	int order = by_md5(&x->path, &y->path);

	return order != 0 ? order : by_number(x->offset, y->offset);
}

static int
by_directory(const void *a, const void *b)
{
	const struct cas_nested_row *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Reading */

/*
 * Makes room for one more of the count items, and goes to the next row.  Counts
 * the bytes of each row: only a maliciously crafted database has rows that
 * share bytes or compute them.  Returns 1, 0 at the end, or -errno.
 */
static int
next_row(struct database *d, sqlite3_stmt *s, void **items, size_t count,
    size_t *cap, size_t size)
{
	uint64_t n = ROW_LEAST;
	int rc;

	if (count >= LAYER_ENTRIES_MAX)
		return layer_refuse(d->why, -EFBIG, "a catalog has too many "
		    "rows");
	rc = array_grow(items, count, cap, size);
	if (rc != 0)
		return rc;
	rc = sqlite3_step(s);
	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return catalog_damaged(d, rc);
	for (int i = 0; i < sqlite3_column_count(s); i++) {
		int type = sqlite3_column_type(s, i);

		if (type == SQLITE_TEXT || type == SQLITE_BLOB)
			n += (uint64_t)sqlite3_column_bytes(s, i);
	}
	if (n > d->bytes)
		return layer_refuse(d->why, -EBADMSG, "a catalog is damaged: "
		    "its rows exceed its size");
	d->bytes -= n;
	return 1;
}

static int
read_rows(struct cas_rows *r, struct database *d)
{
	sqlite3_stmt *s = d->rows;
	struct arena *a = &r->arena;
	void *rows = NULL;
	size_t cap = 0;
	int rc;

	while ((rc = next_row(d, s, &rows, r->row_count, &cap,
	    sizeof(*r->rows))) == 1) {
		struct cas_row *row;

		r->rows = rows;
		row = &r->rows[r->row_count++];
		*row = (struct cas_row){ .path = path_of(s, 0),
			.parent = path_of(s, 2),
			.hardlinks = (uint64_t)sqlite3_column_int64(s, 4),
			.size = sqlite3_column_int64(s, 6),
			.mode = sqlite3_column_int64(s, 7),
			.mtime = sqlite3_column_int64(s, 8),
			.flags = sqlite3_column_int64(s, 9),
			.name = text_of(s, 10), .link = text_of(s, 11),
			.uid = sqlite3_column_int64(s, 12),
			.gid = sqlite3_column_int64(s, 13),
			.mtime_ns = sqlite3_column_int64(s, 14) };
		row->hash = bytes_of(s, 5, &row->hash_len);
		row->xattrs = bytes_of(s, 15, &row->xattrs_len);
		if (row->name == NULL || row->link == NULL)
			return layer_refuse(d->why, -EBADMSG, "a name in a "
			    "catalog is not text or contains a NUL");
		row->name = arena_copy(a, row->name, strlen(row->name));
		row->link = arena_copy(a, row->link, strlen(row->link));
		if (row->hash_len > 0)
			row->hash = arena_copy(a, row->hash, row->hash_len);
		if (row->xattrs_len > 0)
			row->xattrs = arena_copy(a, row->xattrs,
			    row->xattrs_len);
		if (row->name == NULL || row->link == NULL ||
		    (row->hash_len > 0 && row->hash == NULL) ||
		    (row->xattrs_len > 0 && row->xattrs == NULL))
			return -ENOMEM;
	}
	r->rows = rows;
	return rc;
}

static int
read_chunks(struct cas_rows *r, struct database *d)
{
	sqlite3_stmt *s = d->chunks;
	void *chunks = NULL;
	size_t cap = 0;
	int rc;

	while ((rc = next_row(d, s, &chunks, r->chunk_count, &cap,
	    sizeof(*r->chunks))) == 1) {
		struct cas_chunk *c;
		const void *hash;
		size_t len;

		r->chunks = chunks;
		c = &r->chunks[r->chunk_count++];
		c->path = path_of(s, 0);
		c->offset = sqlite3_column_int64(s, 2);
		c->size = sqlite3_column_int64(s, 3);
		hash = bytes_of(s, 4, &len);
		if (len != CAS_HASH)
			return layer_refuse(d->why, -EBADMSG, "a chunk's hash "
			    "has %zu bytes instead of %d", len, CAS_HASH);
		memcpy(c->hash, hash, CAS_HASH);
	}
	r->chunks = chunks;
	return rc;
}

static int
read_nested(struct cas_rows *r, struct database *d)
{
	sqlite3_stmt *s = d->nested;
	void *nested = NULL;
	size_t cap = 0;
	int rc;

	while ((rc = next_row(d, s, &nested, r->nested_count, &cap,
	    sizeof(*r->nested))) == 1) {
		struct cas_nested_row *n;
		const char *hex;
		int64_t size;

		r->nested = nested;
		n = &r->nested[r->nested_count++];
		n->path = text_of(s, 0);
		hex = text_of(s, 1);
		size = sqlite3_column_int64(s, 2);
		if (n->path == NULL || hex == NULL ||
		    hex_read(n->nested.hash, CAS_HASH, hex) != 0)
			return layer_refuse(d->why, -EBADMSG, "a nested "
			    "catalog has no SHA-1 hash");
		if (size < 1 || size > LAYER_INDEX_MAX)
			return layer_refuse(d->why, -EBADMSG, "a nested "
			    "catalog's size, %lld, is not in 1..%d",
			    (long long)size, LAYER_INDEX_MAX);
		n->nested.size = (uint64_t)size;
		n->path = arena_copy(&r->arena, n->path, strlen(n->path));
		if (n->path == NULL)
			return -ENOMEM;
	}
	r->nested = nested;
	return rc;
}

int
cas_rows_read(struct cas_rows *r, const void *data, size_t len,
    char why[LAYER_WHY])
{
	/*
	 * reading all rows takes fewer instructions than the rows have bytes;
	 * text grows by half when it is converted from UTF-16
	 */
	struct database d = { .steps = 100 + len / 100,
		.bytes = 2 * (uint64_t)len, .why = why };
	int rc = open_database(&d, data, len);

	*r = (struct cas_rows){ .row_count = 0 };
	rc = rc == SQLITE_OK ? read_rows(r, &d) : catalog_damaged(&d, rc);
	if (rc == 0)
		rc = read_chunks(r, &d);
	if (rc == 0)
		rc = read_nested(r, &d);
	sqlite3_finalize(d.rows);
	sqlite3_finalize(d.chunks);
	sqlite3_finalize(d.nested);
	sqlite3_close(d.db);
	if (rc != 0)
		return rc;
	qsort(r->rows, r->row_count, sizeof(*r->rows), by_parent);
	qsort(r->chunks, r->chunk_count, sizeof(*r->chunks), by_file);
	qsort(r->nested, r->nested_count, sizeof(*r->nested), by_directory);
	return 0;
}

void
cas_rows_free(struct cas_rows *r)
{
	sys_free(r->rows);
	sys_free(r->chunks);
	sys_free(r->nested);
	arena_free(&r->arena);
}

/* Finding */

/*
 * Finds the items with this MD5, in an array that is sorted by the MD5 at
 * offset `at` of each.  Returns the first, and sets *end to the end of them.
 */
static size_t
find_md5(const void *items, size_t count, size_t size, size_t at,
    const struct cas_path *md5, size_t *end)
{
	const char *all = items;
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_md5((const void *)(all + mid * size + at), md5) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (*end = low; *end < count &&
	    by_md5((const void *)(all + *end * size + at), md5) == 0;)
		++*end;
	return low;
}

const struct cas_row *
cas_rows_in(const struct cas_rows *r, const struct cas_path *dir,
    const struct cas_row **end)
{
	size_t last, first = find_md5(r->rows, r->row_count, sizeof(*r->rows),
	    offsetof(struct cas_row, parent), dir, &last);

	*end = r->rows + last;
	return r->rows + first;
}

const struct cas_chunk *
cas_rows_chunks(const struct cas_rows *r, const struct cas_path *file,
    const struct cas_chunk **end)
{
	size_t last, first = find_md5(r->chunks, r->chunk_count,
	    sizeof(*r->chunks), offsetof(struct cas_chunk, path), file, &last);

	*end = r->chunks + last;
	return r->chunks + first;
}

const struct cas_nested *
cas_rows_nested(const struct cas_rows *r, const char *path)
{
	const struct cas_nested_row key = { .path = path }, *found;

	/* bsearch() requires an array */
	found = r->nested_count == 0 ? NULL : bsearch(&key, r->nested,
	    r->nested_count, sizeof(key), by_directory);
	return found == NULL ? NULL : &found->nested;
}
