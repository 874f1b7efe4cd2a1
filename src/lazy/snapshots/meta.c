/*
 * meta.c - the database of a snapshotter
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers of snapshots are never used again, because directories are named by
 * them.  A transaction is on disk when it ends: containerd's own database, which
 * mentions the same snapshots, is, too.
 */
#include "meta.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 1, BUSY_MS = 10000 };

static const char schema[] =
    "CREATE TABLE snapshot("
    "id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "name TEXT NOT NULL UNIQUE,"
    "kind INTEGER NOT NULL,"
    "parent INTEGER REFERENCES snapshot(id),"
    "created INTEGER NOT NULL,"
    "updated INTEGER NOT NULL,"
    "bytes INTEGER NOT NULL,"
    "inodes INTEGER NOT NULL,"
    "image TEXT,"
    "digest TEXT);"
    "CREATE INDEX child ON snapshot(parent);"
    "CREATE TABLE label("
    "snapshot INTEGER NOT NULL REFERENCES snapshot(id) ON DELETE CASCADE,"
    "name TEXT NOT NULL,"
    "value TEXT NOT NULL,"
    "PRIMARY KEY(snapshot, name)) WITHOUT ROWID;"
    "PRAGMA user_version=1;";

enum statement {
	BEGIN, COMMIT, ROLLBACK, FIND, FIND_ID, EACH, CHILD, LAZY, ADD, CHANGE,
	REMOVE, LABELS, ADD_LABEL, REMOVE_LABELS, STATEMENTS
};

#define COLUMNS "SELECT s.id, s.parent, s.name, p.name, s.kind, s.created," \
	" s.updated, s.bytes, s.inodes, s.image, s.digest FROM snapshot s" \
	" LEFT JOIN snapshot p ON p.id = s.parent "

static const char *const statements[STATEMENTS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[FIND] = COLUMNS "WHERE s.name = ?",
	[FIND_ID] = COLUMNS "WHERE s.id = ?",
	[EACH] = COLUMNS "ORDER BY s.name",
	[CHILD] = "SELECT 1 FROM snapshot WHERE parent = ? LIMIT 1",
	[LAZY] = "SELECT count(*) FROM snapshot WHERE digest IS NOT NULL",
	[ADD] = "INSERT INTO snapshot(name, kind, created, updated, bytes,"
	    " inodes, image, digest, parent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[CHANGE] = "UPDATE snapshot SET name = ?, kind = ?, created = ?,"
	    " updated = ?, bytes = ?, inodes = ?, image = ?, digest = ?"
	    " WHERE id = ?",
	[REMOVE] = "DELETE FROM snapshot WHERE id = ?",
	[LABELS] = "SELECT name, value FROM label WHERE snapshot = ?",
	[ADD_LABEL] = "INSERT OR REPLACE INTO label VALUES (?, ?, ?)",
	[REMOVE_LABELS] = "DELETE FROM label WHERE snapshot = ?",
};

struct meta {
	sqlite3 *db;
	sqlite3_stmt *s[STATEMENTS];
};

static int
error_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE: return 0;
	case SQLITE_NOMEM: return -ENOMEM;
	case SQLITE_CONSTRAINT: return -EEXIST;
	case SQLITE_FULL: return -ENOSPC;
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

/* Copies a column.  NULL is a value, too. */
static int
column_text(sqlite3_stmt *s, int column, struct arena *a, const char **text)
{
	const unsigned char *value = sqlite3_column_text(s, column);

	*text = NULL;
	if (value == NULL)
		return sqlite3_column_type(s, column) == SQLITE_NULL ? 0 :
		    -ENOMEM;
	*text = arena_copy(a, value, (size_t)sqlite3_column_bytes(s, column));
	return *text == NULL ? -ENOMEM : 0;
}

static int
read_labels(struct meta *m, int64_t id, struct snapshots_labels *labels,
    struct arena *a)
{
	sqlite3_stmt *s = m->s[LABELS];
	struct snapshots_label label, *of;
	size_t cap = 0;
	int rc = 0, step;

	*labels = (struct snapshots_labels){ .count = 0 };
	sqlite3_bind_int64(s, 1, id);
	while ((step = sqlite3_step(s)) == SQLITE_ROW && rc == 0) {
		rc = column_text(s, 0, a, &label.name);
		if (rc == 0)
			rc = column_text(s, 1, a, &label.value);
		if (rc == 0 && labels->count == cap) {
			cap = cap == 0 ? 8 : cap * 2;
			of = arena_take(a, cap * sizeof(*of));
			if (of == NULL) {
				rc = -ENOMEM;
				break;
			}
			if (labels->count > 0)
				memcpy(of, labels->of, labels->count *
				    sizeof(*of));
			labels->of = of;
		}
		if (rc == 0)
			labels->of[labels->count++] = label;
	}
	sqlite3_reset(s);
	return rc != 0 ? rc : error_of(step);
}

static int
read_row(struct meta *m, sqlite3_stmt *s, struct meta_row *r, struct arena *a)
{
	int rc;

	*r = (struct meta_row){ .id = sqlite3_column_int64(s, 0),
		.parent = sqlite3_column_int64(s, 1),
		.info = { .kind = (enum snapshots_kind)sqlite3_column_int(s, 4),
			.created_ns = sqlite3_column_int64(s, 5),
			.updated_ns = sqlite3_column_int64(s, 6) },
		.usage = { .bytes = sqlite3_column_int64(s, 7),
			.inodes = sqlite3_column_int64(s, 8) } };
	rc = column_text(s, 2, a, &r->info.name);
	if (rc == 0)
		rc = column_text(s, 3, a, &r->info.parent);
	if (rc == 0)
		rc = column_text(s, 9, a, &r->image);
	if (rc == 0)
		rc = column_text(s, 10, a, &r->digest);
	if (rc == 0)
		rc = read_labels(m, r->id, &r->info.labels, a);
	if (r->info.parent == NULL)
		r->info.parent = "";
	return rc;
}

static int
find_row(struct meta *m, sqlite3_stmt *s, struct meta_row *r, struct arena *a)
{
	int step = sqlite3_step(s), rc = step == SQLITE_DONE ? -ENOENT :
	    step == SQLITE_ROW ? read_row(m, s, r, a) : error_of(step);

	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return rc;
}

int
meta_find(struct meta *m, const char *name, struct meta_row *r,
    struct arena *a)
{
	sqlite3_bind_text(m->s[FIND], 1, name, -1, SQLITE_STATIC);
	return find_row(m, m->s[FIND], r, a);
}

int
meta_find_id(struct meta *m, int64_t id, struct meta_row *r, struct arena *a)
{
	sqlite3_bind_int64(m->s[FIND_ID], 1, id);
	return find_row(m, m->s[FIND_ID], r, a);
}

int
meta_each(struct meta *m, struct arena *a,
    int (*take)(void *arg, const struct meta_row *r), void *arg)
{
	sqlite3_stmt *s = m->s[EACH];
	struct meta_row r;
	int rc = 0, step = SQLITE_DONE;

	while (rc == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
		rc = read_row(m, s, &r, a);
		if (rc == 0)
			rc = take(arg, &r);
	}
	sqlite3_reset(s);
	return rc != 0 ? rc : error_of(step);
}

/* Returns the number that a statement finds, or 0. */
static int64_t
find_number(sqlite3_stmt *s)
{
	int step = sqlite3_step(s);
	int64_t n = step == SQLITE_ROW ? sqlite3_column_int64(s, 0) :
	    error_of(step);

	sqlite3_reset(s);
	return n;
}

int
meta_has_child(struct meta *m, int64_t id)
{
	sqlite3_bind_int64(m->s[CHILD], 1, id);
	return (int)find_number(m->s[CHILD]);
}

int64_t
meta_lazy_count(struct meta *m)
{
	return find_number(m->s[LAZY]);
}

static void
bind_row(sqlite3_stmt *s, const struct meta_row *r)
{
	sqlite3_bind_text(s, 1, r->info.name, -1, SQLITE_STATIC);
	sqlite3_bind_int(s, 2, (int)r->info.kind);
	sqlite3_bind_int64(s, 3, r->info.created_ns);
	sqlite3_bind_int64(s, 4, r->info.updated_ns);
	sqlite3_bind_int64(s, 5, r->usage.bytes);
	sqlite3_bind_int64(s, 6, r->usage.inodes);
	sqlite3_bind_text(s, 7, r->image, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 8, r->digest, -1, SQLITE_STATIC);
}

static int
add_labels(struct meta *m, const struct meta_row *r)
{
	sqlite3_stmt *s = m->s[ADD_LABEL];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->info.labels.count; i++) {
		const struct snapshots_label *l = &r->info.labels.of[i];

		/* a label without a value is none */
		if (*l->value == '\0')
			continue;
		sqlite3_bind_int64(s, 1, r->id);
		sqlite3_bind_text(s, 2, l->name, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 3, l->value, -1, SQLITE_STATIC);
		rc = run_statement(s);
	}
	return rc;
}

int
meta_add(struct meta *m, struct meta_row *r)
{
	sqlite3_stmt *s = m->s[ADD];
	int rc;

	bind_row(s, r);
	if (r->parent != 0)
		sqlite3_bind_int64(s, 9, r->parent);
	rc = run_statement(s);
	r->id = sqlite3_last_insert_rowid(m->db);
	return rc == 0 ? add_labels(m, r) : rc;
}

int
meta_change(struct meta *m, const struct meta_row *r)
{
	sqlite3_stmt *s = m->s[CHANGE];
	int rc;

	bind_row(s, r);
	sqlite3_bind_int64(s, 9, r->id);
	rc = run_statement(s);
	if (rc != 0)
		return rc;
	sqlite3_bind_int64(m->s[REMOVE_LABELS], 1, r->id);
	rc = run_statement(m->s[REMOVE_LABELS]);
	return rc == 0 ? add_labels(m, r) : rc;
}

int
meta_remove(struct meta *m, int64_t id)
{
	sqlite3_bind_int64(m->s[REMOVE], 1, id);
	return run_statement(m->s[REMOVE]);
}

int
meta_begin(struct meta *m)
{
	return run_statement(m->s[BEGIN]);
}

int
meta_end(struct meta *m, int rc)
{
	if (rc == 0)
		rc = run_statement(m->s[COMMIT]);
	/* a failed commit may have ended the transaction */
	if (rc != 0 && sqlite3_get_autocommit(m->db) == 0)
		(void)run_statement(m->s[ROLLBACK]);
	return rc;
}

/* Creates the tables, unless they exist. */
static int
create_tables(struct meta *m, char why[SNAPSHOTS_WHY])
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_exec(m->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	int64_t version = -1;

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(m->db, "PRAGMA user_version", -1, &s,
		    NULL);
	if (rc == SQLITE_OK)
		version = find_number(s);
	sqlite3_finalize(s);
	if (rc == SQLITE_OK && version == 0)
		rc = sqlite3_exec(m->db, schema, NULL, NULL, NULL);
	if (rc == SQLITE_OK && version > VERSION) {
		snprintf(why, SNAPSHOTS_WHY, "made by a later version");
		return -EINVAL;
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(m->db, "COMMIT", NULL, NULL, NULL);
	return error_of(rc);
}

int
meta_open(struct meta **out, const char *path, char why[SNAPSHOTS_WHY])
{
	struct meta *m = sys_calloc(1, sizeof(*m));
	int rc;

	*why = '\0';
	*out = m;
	if (m == NULL)
		return -ENOMEM;
	rc = error_of(sqlite3_open_v2(path, &m->db, SQLITE_OPEN_READWRITE |
	    SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
	    NULL));
	if (rc == 0)
		rc = error_of(sqlite3_exec(m->db, "PRAGMA journal_mode=WAL;"
		    "PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON", NULL,
		    NULL, NULL));
	if (rc == 0)
		rc = error_of(sqlite3_busy_timeout(m->db, BUSY_MS));
	if (rc == 0)
		rc = create_tables(m, why);
	for (int i = 0; rc == 0 && i < STATEMENTS; i++)
		rc = error_of(sqlite3_prepare_v2(m->db, statements[i], -1,
		    &m->s[i], NULL));
	if (rc != 0 && *why == '\0' && m->db != NULL)
		snprintf(why, SNAPSHOTS_WHY, "%s", sqlite3_errmsg(m->db));
	return rc;
}

void
meta_close(struct meta *m)
{
	if (m == NULL)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(m->s[i]);
	sqlite3_close(m->db);
	sys_free(m);
}
