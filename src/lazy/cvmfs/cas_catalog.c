/*
 * cas_catalog.c - dividing a merged tree among catalogs, and writing them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: cvmfs/catalog_sql.cc, schema 2.5, revision 7; catalog_counters.h.  A
 * catalog is an SQLite database, which is built in memory.
 *
 * If a directory has too many names below it, its subdirectories get separate
 * catalogs, the largest first.  CVMFS's balancer
 * (cvmfs/catalog_balancer_impl.h) does the same, and also marks them with two
 * empty files.  A directory that contains such a marker file in the archive
 * also gets a catalog.
 *
 * In a tree, parents precede their children; catalogs are written in the
 * opposite order, because each catalog contains the hashes of those below it.
 */
#include "cas_impl.h"

#include "base/bytes.h"
#include "base/hex.h"
#include "base/sys.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
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

/* A catalog's counters, for itself and for the catalogs below it. */
enum cas_count {
	CAS_REGULAR, CAS_SYMLINKS, CAS_SPECIALS, CAS_DIRS, CAS_NESTED,
	CAS_CHUNKED_FILES, CAS_CHUNKS, CAS_FILE_SIZE, CAS_CHUNKED_SIZE,
	CAS_XATTRS, CAS_EXTERNALS, CAS_EXTERNAL_SIZE, CAS_COUNTS
};

struct cas_counts {
	uint64_t self[CAS_COUNTS], subtree[CAS_COUNTS];
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
	int64_t newest;			/* latest modification time */
};

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

/* Rows */

struct cas_dirent {
	const char *path;		/* "", or with a leading "/" */
	size_t len;
	const char *name;		/* "" for the repository's root */
	const struct layer_entry *e;	/* not a hard link */
	unsigned flags;			/* CAS_MOUNTPOINT, CAS_ROOT or 0 */
	uint32_t group, links;		/* hard link group, or 0; number of
					 * names in its directory, or link count
					 * of a directory */
	/* The objects of e's units, or the empty object if e has no units. */
	const struct cas_object *objects;
	size_t xattrs_lost;		/* result: attributes left out */
};

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

static const struct cas_object *
object_of(const struct cas_dirent *d, size_t run)
{
	return d->e->run_count == 0 ? d->objects :
	    &d->objects[d->e->runs[run].unit];
}

/*
 * Adds a row.  Returns 0, -ENOMEM, -EIO or -EFBIG (the catalog is larger than 1
 * GiB).
 */
static int
add_dirent(struct cas_catalog *k, struct cas_dirent *d)
{
	enum { DIR_SIZE = 4096 };
	const struct layer_entry *e = d->e;
	const char *slash = memrchr(d->path, '/', d->len);
	bool chunked = e->type == TAR_FILE && e->run_count > 1;
	uint64_t *self = k->counts.self;
	unsigned flags = d->flags | CAS_FILE;
	sqlite3_stmt *s = k->s[ROW];
	uint8_t *xattrs = NULL;
	int64_t size = 0;
	size_t len = 0;
	int rc = cas_pack_xattrs(e, &xattrs, &len, &d->xattrs_lost);

	if (rc != 0)
		goto out;
	if (e->mtime > k->newest)
		k->newest = e->mtime;
	self[CAS_XATTRS] += len > 0;
	switch (e->type) {
	case TAR_DIR:
		size = DIR_SIZE;
		flags = d->flags | CAS_DIR;
		self[CAS_DIRS]++;
		self[CAS_NESTED] += (d->flags & CAS_MOUNTPOINT) != 0;
		break;
	case TAR_SYMLINK:
		size = (int64_t)strlen(e->link);
		flags |= CAS_LINK;
		self[CAS_SYMLINKS]++;
		break;
	case TAR_FILE:
		size = (int64_t)e->size;
		flags |= CAS_ZLIB << CAS_CODING_SHIFT;
		self[CAS_REGULAR]++;
		self[CAS_FILE_SIZE] += e->size;
		if (!chunked)
			break;
		flags |= CAS_CHUNKED;
		self[CAS_CHUNKED_FILES]++;
		self[CAS_CHUNKS] += e->run_count;
		self[CAS_CHUNKED_SIZE] += e->size;
		break;
	default:
		if (e->type == TAR_CHAR || e->type == TAR_BLOCK_DEVICE)
			size = (int64_t)makedev(e->major, e->minor);
		flags |= CAS_SPECIAL;
		self[CAS_SPECIALS]++;
		break;
	}
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
	if (e->type == TAR_FILE && !chunked)
		sqlite3_bind_blob(s, 6, object_of(d, 0)->hash, CAS_HASH,
		    SQLITE_STATIC);
	sqlite3_bind_int64(s, 7, size);
	sqlite3_bind_int64(s, 8, tar_type_mode(e->type) | e->mode);
	sqlite3_bind_int64(s, 9, e->mtime);
	if (e->mtime_ns != 0)
		sqlite3_bind_int64(s, 10, e->mtime_ns);
	sqlite3_bind_int64(s, 11, flags);
	sqlite3_bind_text(s, 12, d->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 13, e->type == TAR_SYMLINK ? e->link : "", -1,
	    SQLITE_STATIC);
	sqlite3_bind_int64(s, 14, (int64_t)e->uid);
	sqlite3_bind_int64(s, 15, (int64_t)e->gid);
	if (len > 0)
		sqlite3_bind_blob(s, 16, xattrs, (int)len, SQLITE_STATIC);
	rc = run_statement(s);
	s = k->s[CHUNK];
	for (size_t i = 0; rc == 0 && chunked && i < e->run_count; i++) {
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

/* The tree */

/* A catalog that has been written. */
struct made {
	struct cas_nested nested;
	struct cas_counts counts;
};

struct trees {
	struct cas *c;
	const struct merge *t;
	struct cas_catalog k;		/* the current one */
	bool *root;			/* for each node: has a catalog, which
					 * also contains two marker files */
	uint32_t *weight;		/* for each node: number of names in its
					 * subtree and catalog, including
					 * itself */
	struct made **made;		/* for each root */
	uint32_t *same, *group;		/* for each inode: number of names in
					 * the current directory, and group */
	uint32_t groups;		/* groups in the current catalog */
	uint32_t *queue;		/* directories to be listed */
};

struct child {
	uint32_t node, weight;
};

static int
heaviest_first(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int
divide_dir(struct trees *s, uint32_t dir)
{
	const struct merge_node *n = merge_node(s->t, dir);
	uint64_t most = s->c->o->catalog, least = most / 10;
	struct child *children;
	size_t count = 0;

	if (s->weight[dir] <= most)
		return 0;
	children = sys_calloc(n->count + 1, sizeof(*children));
	if (children == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->count; i++) {
		uint32_t node = merge_child(s->t, dir, i);

		if (merge_type(merge_node(s->t, node)) == TAR_DIR &&
		    !s->root[node] && s->weight[node] > least)
			children[count++] = (struct child){ node,
				s->weight[node] };
	}
	qsort(children, count, sizeof(*children), heaviest_first);
	for (size_t i = 0; i < count && s->weight[dir] > most; i++) {
		s->weight[dir] -= children[i].weight - 1;
		s->root[children[i].node] = true;
		s->weight[children[i].node] = 1;
	}
	sys_free(children);
	return 0;
}

/* Paths */

/* Writes the path of a node, "" or with a leading "/". */
static int
path_of_node(const struct trees *s, uint32_t node, struct strbuf *path)
{
	size_t len = 0, at;

	for (uint32_t i = node; i != MERGE_ROOT;
	    i = merge_node(s->t, i)->parent)
		len += strlen(merge_node(s->t, i)->name) + 1;
	strbuf_clear(path);
	if (strbuf_room(path, len + 1) == NULL)
		return -ENOMEM;
	path->len = at = len;
	path->data[len] = '\0';
	for (uint32_t i = node; i != MERGE_ROOT;
	    i = merge_node(s->t, i)->parent) {
		const char *name = merge_node(s->t, i)->name;

		at -= strlen(name) + 1;
		path->data[at] = '/';
		memcpy(path->data + at + 1, name, strlen(name));
	}
	return 0;
}

/* Appends a name to the first len bytes of a path, which name a directory. */
static int
append_name(struct strbuf *path, size_t len, const char *name)
{
	path->len = len;
	strbuf_char(path, '/');
	strbuf_add(path, name, strlen(name) + 1);
	if (path->failed)
		return -ENOMEM;
	path->len--;
	return 0;
}

/* The rows of a tree */

/* The entry of a directory that no layer contains. */
static const struct layer_entry implied = { .type = TAR_DIR, .path = "",
	.link = "", .uname = "", .gname = "", .mode = 0755 };

/* Adds the row of a node; path is its path. */
static int
add_node(struct trees *s, uint32_t node, const struct strbuf *path,
    unsigned flags)
{
	const struct merge_node *n = merge_node(s->t, node);
	const struct layer_entry *e = n->entry == NULL ? &implied : n->entry;
	struct cas_dirent d = { .path = path->data, .len = path->len,
		.name = n->name, .e = e, .flags = flags, .links = n->links,
		.objects = &s->c->empty };
	int rc;
	if (e->type != TAR_DIR) {
		d.links = s->same[n->inode];
		if (d.links > 1 && s->group[n->inode] == 0)
			s->group[n->inode] = ++s->groups;
		d.group = s->group[n->inode];
	}
	if (e->run_count > 0)
		d.objects = s->c->layers[n->layer]->objects;
	rc = add_dirent(&s->k, &d);
	/* the root of a nested catalog has a row in its parent, too */
	if (rc == 0 && d.xattrs_lost > 0 && (flags & CAS_ROOT) == 0) {
		if (s->c->lost_path == NULL)
			s->c->lost_path = strcopy(path->len == 0 ? "/" :
			    path->data + 1);
		if (s->c->lost_path == NULL)
			return -ENOMEM;
		s->c->xattrs_lost++;
	}
	if (rc == -EFBIG)
		return layer_refuse(s->c->why, rc, "%.120s: a catalog would "
		    "be larger than 1 GiB", path->data);
	return rc;
}

/* Adds the row of a marker file, unless the directory already contains it. */
static int
add_mark(struct trees *s, uint32_t dir, struct strbuf *path, const char *name)
{
	const struct merge_node *n = merge_node(s->t, dir);
	const struct layer_entry *of = n->entry == NULL ? &implied : n->entry;
	const struct layer_entry e = { .type = TAR_FILE, .path = "",
		.link = "", .uname = "", .gname = "", .mode = 0600,
		.uid = of->uid, .gid = of->gid, .mtime = of->mtime };
	size_t len = path->len;
	struct cas_dirent d = { .name = name, .e = &e, .links = 1,
		.objects = &s->c->empty };
	int rc;

	if (merge_lookup(s->t, dir, name) != MERGE_NONE)
		return 0;
	rc = append_name(path, len, name);
	d.path = path->data;
	d.len = path->len;
	if (rc == 0)
		rc = add_dirent(&s->k, &d);
	path->len = len;
	return rc;
}

/* Counts the names of each file in a directory, or resets the counts. */
static void
count_names(struct trees *s, uint32_t dir, bool forget)
{
	const struct merge_node *n = merge_node(s->t, dir);

	for (uint32_t i = 0; i < n->count; i++) {
		uint32_t inode = merge_node(s->t, merge_child(s->t, dir,
		    i))->inode;

		s->same[inode] = forget ? 0 : s->same[inode] + 1;
		s->group[inode] = 0;
	}
}

/* Adds the rows of a directory's names; its subdirectories are queued. */
static int
list_names(struct trees *s, uint32_t dir, struct strbuf *path, size_t *queued)
{
	const struct merge_node *n = merge_node(s->t, dir);
	sqlite3_stmt *nested = s->k.s[NESTED];
	uint64_t *subtree = s->k.counts.subtree;
	char hex[2 * CAS_HASH + 1];
	int rc = path_of_node(s, dir, path);
	size_t len = path->len;

	count_names(s, dir, false);
	for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
		uint32_t node = merge_child(s->t, dir, i);
		struct made *made = s->made[node];

		rc = append_name(path, len, merge_node(s->t, node)->name);
		if (rc == 0)
			rc = add_node(s, node, path,
			    s->root[node] ? CAS_MOUNTPOINT : 0);
		if (rc != 0 || !s->root[node]) {
			if (merge_type(merge_node(s->t, node)) == TAR_DIR)
				s->queue[(*queued)++] = node;
			continue;
		}
		/* a nested catalog, with the names in it */
		hex_write(hex, made->nested.hash, CAS_HASH);
		sqlite3_bind_text(nested, 1, path->data, -1, SQLITE_STATIC);
		sqlite3_bind_text(nested, 2, hex, -1, SQLITE_STATIC);
		sqlite3_bind_int64(nested, 3, (int64_t)made->nested.size);
		for (int j = 0; j < CAS_COUNTS; j++)
			subtree[j] += made->counts.self[j] +
			    made->counts.subtree[j];
		rc = run_statement(nested);
		sys_free(made);
		s->made[node] = NULL;
	}
	count_names(s, dir, true);
	return rc;
}

/* Writes the catalog of a directory. */
static int
write_catalog(struct trees *s, uint32_t root)
{
	struct cas_object object = { .suffix = CAS_CATALOG_OBJECT };
	struct made *made = sys_calloc(1, sizeof(*made));
	struct cas_catalog *k = &s->k;
	struct strbuf path = { 0 };
	int64_t modified;
	const void *data = NULL;
	sqlite3_int64 len = 0;
	size_t queued = 0;
	bool nested = root != MERGE_ROOT;
	int rc = made == NULL ? -ENOMEM : path_of_node(s, root, &path);

	s->made[root] = made;
	s->groups = 0;
	k->counts = (struct cas_counts){ .self = { 0 } };
	k->newest = 0;
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
	/*
	 * A nested catalog does not have the revision, nor the time of the
	 * whole, so that it stays the same if nothing below it changes.
	 */
	if (rc == 0)
		rc = add_number(k, "revision", nested ? 1 :
		    (int64_t)s->c->r->revision);
	if (rc == 0 && nested)
		rc = add_property(k, "root_prefix", path.data);
	if (rc == 0)
		rc = add_node(s, root, &path, nested ? CAS_ROOT : 0);
	if (rc == 0 && nested)
		rc = add_mark(s, root, &path, CAS_MARKER);
	/* a marker from the archive was not created automatically */
	if (rc == 0 && nested &&
	    merge_lookup(s->t, root, CAS_MARKER) == MERGE_NONE)
		rc = add_mark(s, root, &path, CAS_AUTO);
	s->queue[queued++] = root;
	for (size_t i = 0; rc == 0 && i < queued; i++)
		rc = list_names(s, s->queue[i], &path, &queued);
	modified = nested && k->newest < s->c->published ? k->newest :
	    s->c->published;
	if (rc == 0)
		rc = add_number(k, "last_modified", modified);
	if (rc == 0)
		rc = add_statistics(k, "self", k->counts.self);
	if (rc == 0)
		rc = add_statistics(k, "subtree", k->counts.subtree);
	if (rc == 0)
		rc = error_of(sqlite3_exec(k->db, "COMMIT", NULL, NULL, NULL));
	if (rc != 0)
		goto out;
	data = sqlite3_serialize(k->db, "main", &len, SQLITE_SERIALIZE_NOCOPY);
	rc = data == NULL ? -EIO : cas_write(s->c->writer, data, (size_t)len,
	    &object);
	if (rc != 0)
		goto out;
	memcpy(made->nested.hash, object.hash, CAS_HASH);
	made->nested.size = (uint64_t)len;
	made->counts = k->counts;
	s->c->r->catalogs++;
	s->c->r->objects++;
	s->c->r->objects_B += object.stored;
out:
	for (int i = 0; i < STATEMENTS; i++) {
		sqlite3_finalize(k->s[i]);
		k->s[i] = NULL;
	}
	sqlite3_close(k->db);
	k->db = NULL;
	strbuf_free(&path);
	return rc;
}

int
cas_write_catalogs(struct cas *c, const struct merge *tree,
    struct cas_nested *root)
{
	struct trees s = { .c = c, .t = tree };
	size_t count = merge_count(tree), n = count + 1;
	int rc = digest_new(&s.k.md5, c->md5);

	if (rc != 0)
		return rc;
	rc = -ENOMEM;
	s.root = sys_calloc(n, sizeof(*s.root));
	s.weight = sys_calloc(n, sizeof(*s.weight));
	s.made = sys_calloc(n, sizeof(struct made *));
	s.same = sys_calloc(n, sizeof(*s.same));
	s.group = sys_calloc(n, sizeof(*s.group));
	s.queue = sys_calloc(n, sizeof(*s.queue));
	if (s.root == NULL || s.weight == NULL || s.made == NULL ||
	    s.same == NULL || s.group == NULL || s.queue == NULL)
		goto out;
	for (size_t i = count; i-- > 0;) {
		uint32_t dir = (uint32_t)i;
		const struct merge_node *node = merge_node(tree, dir);

		s.weight[i]++;
		rc = merge_type(node) == TAR_DIR ? divide_dir(&s, dir) : 0;
		if (rc != 0)
			goto out;
		if (i == MERGE_ROOT || (merge_type(node) == TAR_DIR &&
		    merge_lookup(tree, dir, CAS_MARKER) != MERGE_NONE)) {
			s.root[i] = true;
			s.weight[i] = 1;
		}
		if (i != MERGE_ROOT)
			s.weight[node->parent] += s.weight[i];
	}
	for (size_t i = count; i-- > 0;) {
		rc = s.root[i] ? write_catalog(&s, (uint32_t)i) : 0;
		if (rc != 0)
			goto out;
	}
	*root = s.made[MERGE_ROOT]->nested;
out:
	for (size_t i = 0; s.made != NULL && i < count; i++)
		sys_free(s.made[i]);
	sys_free(s.root);
	sys_free(s.weight);
	sys_free(s.made);
	sys_free(s.same);
	sys_free(s.group);
	sys_free(s.queue);
	digest_free(s.k.md5);
	return rc;
}
