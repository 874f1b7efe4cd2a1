/*
 * cas_open.c - opening a CVMFS repository: manifest, catalogs and entries
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All catalogs are read, level by level, and several of a level are fetched
 * together; the index then contains all entries.  Or, if the caller wants parts,
 * only one is read: that of the root, or of a part, which is a directory with a
 * nested catalog.
 *
 * Listing a catalog's entries begins at its root directory.  A row is accepted
 * only if its MD5 is that of the path under which it was found, so there are no
 * cycles.  Two rows with the same name are rejected.
 */
#include "cas_read.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "cas_manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The entries of a catalog */

/* A group of hard links: names of one file in one directory. */
struct group {
	uint32_t dir, number;
	const char *path;		/* first path, or NULL if none yet */
};

/* A directory to be listed. */
struct dir {
	const char *path;
	struct cas_path md5;
};

struct entries {
	const struct cas_entries *of;
	struct layer *l;
	const struct cas_rows *rows;
	struct digest *md5;
	size_t skipped;			/* bytes of paths left out */
	struct dir *queue;
	size_t count, cap;
	struct arena arena;		/* for paths and attributes */
	struct strbuf path;		/* of the current row */
	struct group *groups;		/* a hash table */
	size_t slots;
	uint64_t seed;
	uint32_t dir;			/* current directory, in queue */
	char *why;
};

static int
refuse_row(struct entries *x, const char *what)
{
	return layer_refuse(x->why, -EBADMSG, "%.120s in a catalog: %s",
	    x->path.data, what);
}

static int
md5_of(struct entries *x, const char *path, struct cas_path *p)
{
	uint8_t sum[DIGEST_MAX];
	int rc = digest_once(x->md5, path, strlen(path), sum);

	p->a = (int64_t)load_le64(sum);
	p->b = (int64_t)load_le64(sum + 8);
	return rc;
}

static int
queue_dir(struct entries *x, const char *path, const struct cas_path *md5)
{
	void *dirs = x->queue;
	char *copy = arena_copy(&x->arena, path, strlen(path));
	int rc = copy == NULL ? -ENOMEM : array_grow(&dirs, x->count, &x->cap,
	    sizeof(*x->queue));

	x->queue = dirs;
	if (rc != 0)
		return rc;
	x->queue[x->count++] = (struct dir){ copy, *md5 };
	return 0;
}

static int
add_run(struct entries *x, const uint8_t *hash, char suffix, int64_t flags,
    uint64_t offset, uint64_t length)
{
	bool plain = (flags >> CAS_CODING_SHIFT & 7) == CAS_PLAIN;
	struct layer_run run = { .offset = offset, .length = length };
	int64_t unit;

	if (length > CAS_WHOLE_MAX)
		return layer_refuse(x->why, -EFBIG, "%.120s: an object of %"
		    PRIu64 " bytes is larger than 1 GiB", x->path.data,
		    length);
	unit = cas_unit_add(x->l, hash, suffix, plain, length, x->why);
	if (unit < 0)
		return (int)unit;
	run.unit = (uint32_t)unit;
	return index_run(&x->l->index, &run, x->why);
}

/* Adds the data of a file. */
static int
add_data(struct entries *x, const struct cas_row *r)
{
	const struct cas_chunk *end, *c;
	int64_t at = 0;
	int rc;

	if ((r->flags & CAS_EXTERNAL) != 0)
		return layer_refuse(x->why, -ENOTSUP, "%.120s: the content is "
		    "not in the repository", x->path.data);
	if ((r->flags >> CAS_HASH_SHIFT & 7) != 0 ||
	    (r->flags >> CAS_CODING_SHIFT & 7) > CAS_PLAIN)
		return layer_refuse(x->why, -ENOTSUP, "%.120s: only SHA-1 and "
		    "zlib are supported", x->path.data);
	if (r->size == 0)
		return 0;
	if ((r->flags & CAS_CHUNKED) == 0)
		return r->hash_len != CAS_HASH ? refuse_row(x, "no hash") :
		    add_run(x, r->hash, '\0', r->flags, 0, (uint64_t)r->size);
	for (c = cas_rows_chunks(x->rows, &r->path, &end); c < end; c++) {
		if (c->offset != at || c->size <= 0 || c->size > r->size - at)
			return refuse_row(x, "the chunks are not in sequence");
		rc = add_run(x, c->hash, CAS_CHUNK_OBJECT, r->flags,
		    (uint64_t)at, (uint64_t)c->size);
		if (rc != 0)
			return rc;
		at += c->size;
	}
	return at == r->size ? 0 : refuse_row(x, "the chunks do not cover the "
	    "whole file");
}

/* Adds an entry for a row whose path has been set. */
static int
add_row_entry(struct entries *x, const struct cas_row *r)
{
	struct layer_entry e = { .path = x->path.data + x->skipped, .uname = "",
		.gname = "", .link = "", .mode = (uint32_t)r->mode & 07777,
		.uid = (uint64_t)r->uid, .gid = (uint64_t)r->gid,
		.mtime = r->mtime, .mtime_ns = (uint32_t)r->mtime_ns };
	uint32_t group = (uint32_t)(r->hardlinks >> 32);
	struct tar_xattr *xattrs = NULL;
	int rc = 0;

	switch (r->mode & S_IFMT) {
	case S_IFREG: e.type = TAR_FILE; break;
	case S_IFDIR: e.type = TAR_DIR; break;
	case S_IFLNK: e.type = TAR_SYMLINK; break;
	case S_IFCHR: e.type = TAR_CHAR; break;
	case S_IFBLK: e.type = TAR_BLOCK_DEVICE; break;
	case S_IFIFO: e.type = TAR_FIFO; break;
	default: return 0;		/* a socket, which archives cannot
					 * contain either */
	}
	if ((e.type == TAR_DIR) != ((r->flags & CAS_DIR) != 0))
		return refuse_row(x, "the mode contradicts the flags");
	if (r->xattrs_len > 0)
		rc = cas_unpack_xattrs(&x->arena, r->xattrs, r->xattrs_len,
		    &xattrs, &e.xattr_count);
	if (rc == -EBADMSG)
		return refuse_row(x, "the extended attributes are damaged");
	if (r->size < 0 || r->uid < 0 || r->gid < 0 || r->mtime_ns < 0 ||
	    r->mtime_ns > 999999999)
		return refuse_row(x, "a number is out of range");
	if (rc != 0)
		return rc;
	e.xattrs = xattrs;
	if (e.type == TAR_SYMLINK)
		e.link = r->link;
	if (e.type == TAR_FILE)
		e.size = (uint64_t)r->size;
	if (e.type == TAR_CHAR || e.type == TAR_BLOCK_DEVICE) {
		e.major = major((dev_t)r->size);
		e.minor = minor((dev_t)r->size);
	}
	if (e.type != TAR_DIR && group != 0) {
		/* the group's slot in the current directory */
		size_t i = (size_t)hash_bytes(x->seed + x->dir, &group,
		    sizeof(group)) & (x->slots - 1);
		struct group *g;

		while (x->groups[i].path != NULL &&
		    (x->groups[i].number != group ||
		    x->groups[i].dir != x->dir))
			i = (i + 1) & (x->slots - 1);
		g = &x->groups[i];
		if (g->path != NULL) {
			e.type = TAR_HARDLINK;
			e.link = g->path + 1;
			e.size = 0;
		} else {
			g->path = arena_copy(&x->arena, e.path,
			    strlen(e.path));
			if (g->path == NULL)
				return -ENOMEM;
			g->dir = x->dir;
			g->number = group;
		}
	}
	rc = index_entry(&x->l->index, &e, x->why);
	return rc != 0 || e.type != TAR_FILE ? rc : add_data(x, r);
}

static bool
is_mark(const struct cas_row *r)
{
	return strcmp(r->name, CAS_MARKER) == 0 ||
	    strcmp(r->name, CAS_AUTO) == 0;
}

/* Adds the rows of a directory; queues or requests its subdirectories. */
static int
list_dir(struct entries *x, const struct dir *dir, bool nested_root)
{
	const struct cas_row *end, *r = cas_rows_in(x->rows, &dir->md5, &end);
	const char *before = NULL;
	int rc, marks = 0;

	/* the root of an automatic catalog contains both marker files */
	for (const struct cas_row *k = r; nested_root && k < end; k++)
		marks += is_mark(k);
	for (; r < end; r++) {
		const struct cas_nested *n;
		struct cas_path md5;

		if ((r->flags & CAS_HIDDEN) != 0 || (marks == 2 && is_mark(r)))
			continue;
		strbuf_clear(&x->path);
		strbuf_str(&x->path, dir->path);
		strbuf_char(&x->path, '/');
		strbuf_add(&x->path, r->name, strlen(r->name) + 1);
		if (x->path.failed)
			return -ENOMEM;
		if (*r->name == '\0' || strchr(r->name, '/') != NULL ||
		    path_is_dots(r->name))
			return refuse_row(x, "not a valid name");
		rc = md5_of(x, x->path.data, &md5);
		if (rc != 0)
			return rc;
		if (md5.a != r->path.a || md5.b != r->path.b)
			return refuse_row(x, "the MD5 of the path is wrong");
		if (before != NULL && strcmp(before, r->name) == 0)
			return refuse_row(x, "listed twice");
		before = r->name;
		rc = add_row_entry(x, r);
		if (rc != 0)
			return rc;
		if (!S_ISDIR(r->mode))
			continue;
		if ((r->flags & CAS_BIND) != 0)
			return layer_refuse(x->why, -ENOTSUP, "%.120s: "
			    "bind-mounted catalogs are not supported",
			    x->path.data);
		if ((r->flags & CAS_MOUNTPOINT) == 0) {
			rc = queue_dir(x, x->path.data, &r->path);
		} else {
			n = cas_rows_nested(x->rows, x->path.data);
			if (n == NULL)
				return refuse_row(x, "the nested catalog is "
				    "missing");
			rc = x->of->nest(x->of->arg, x->path.data, n,
			    (uint32_t)r->hardlinks);
		}
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
cas_entries_add(const struct cas_entries *of, char why[LAYER_WHY])
{
	const struct cas_rows *rows = of->rows;
	const char *directory = of->directory;
	struct entries x = { .of = of, .l = of->l, .rows = rows,
		.skipped = of->relative ? strlen(directory) : 0,
		.seed = hash_seed(), .slots = 1, .why = why };
	const struct cas_path none = { 0, 0 };
	const struct cas_row *end, *r;
	struct cas_path of_root = { 0, 0 };
	size_t links = 0;
	int rc = digest_new(&x.md5, of->md5);

	if (rc == 0)
		rc = md5_of(&x, directory, &of_root);
	/* make the table of hard links large enough for all rows */
	for (size_t i = 0; i < rows->row_count; i++)
		links += rows->rows[i].hardlinks >> 32 != 0;
	while (x.slots <= 2 * links)
		x.slots *= 2;
	x.groups = sys_calloc(x.slots, sizeof(*x.groups));
	if (rc == 0 && x.groups == NULL)
		rc = -ENOMEM;
	if (rc != 0)
		goto out;
	/* the repository's root has no name, but may have a row */
	r = cas_rows_in(rows, &none, &end);
	while (r < end && (r->path.a != of_root.a || r->path.b != of_root.b ||
	    !S_ISDIR(r->mode)))
		r++;
	if (*directory == '\0' && r < end) {
		strbuf_add(&x.path, "", 1);
		rc = x.path.failed ? -ENOMEM : add_row_entry(&x, r);
	}
	if (rc == 0)
		rc = queue_dir(&x, directory, &of_root);
	for (size_t i = 0; rc == 0 && i < x.count; i++) {
		const struct dir dir = x.queue[i];

		x.dir = (uint32_t)i;
		rc = list_dir(&x, &dir, i == 0 && *directory != '\0');
	}
out:
	digest_free(x.md5);
	sys_free(x.queue);
	sys_free(x.groups);
	strbuf_free(&x.path);
	arena_free(&x.arena);
	return rc;
}

/* The repository */

enum {
	AT_ONCE = 16,			/* catalogs */
	AT_ONCE_B = 32 << 20		/* total bytes, if several */
};

/* A catalog to be read. */
struct pending {
	char *path;			/* path of its directory */
	struct cas_nested nested;
};

struct opening {
	struct layer *l;
	const struct layer_expect *e;
	struct cas_unpacker *unpacker;
	struct digest_algo *md5;
	struct pending *queue;
	size_t count, cap;
	uint64_t bytes;			/* total size of the catalogs */
	char *why;
};

static int
read_failed(const struct opening *x, int rc)
{
	return layer_refuse(x->why, rc, rc == -ENOENT ? "an object is "
	    "missing" : "the index cannot be read: %s", strerror(-rc));
}

/* Fetches the manifest or the certificate, without decompressing it. */
static int
fetch_whole(struct opening *x, const char *object, void *buf, size_t room)
{
	const struct layer_range r = { .object = object, .length = room,
		.buf = buf, .whole = true };
	const struct layer_blobs *b = x->l->blobs;
	int rc = b->read(b->arg, &r, 1);

	return rc == 0 ? 0 : read_failed(x, rc);
}

static int
unpack_object(struct opening *x, const uint8_t hash[CAS_HASH], const void *data,
    size_t len, void *content, size_t room, size_t *made)
{
	size_t used = 0;
	ssize_t n = cas_unpack(x->unpacker, hash, data, len, content, room,
	    &used);

	if (n < 0)
		return layer_refuse(x->why, -EBADMSG, "an index object "
		    "does not match its hash");
	x->l->index_bytes += used;
	*made = (size_t)n;
	return 0;
}

/* Notes the nested catalog of the last entry, a directory, as a part. */
static int
add_part(struct opening *x, const char *path, const struct cas_nested *n,
    uint32_t links)
{
	struct layer_part part = { .entry = x->l->index.entry_count - 1,
		.path = arena_copy(&x->l->index.arena, path, strlen(path)),
		.size = n->size, .links = links };
	struct cas_state *s = x->l->state;
	void *parts = s->parts;
	int rc = part.path == NULL ? -ENOMEM : array_grow(&parts,
	    s->part_count, &s->part_cap, sizeof(part));

	s->parts = parts;
	if (rc != 0)
		return rc;
	memcpy(part.digest, n->hash, CAS_HASH);
	s->parts[s->part_count++] = part;
	return 0;
}

static int
enqueue(struct opening *x, const char *path, const struct cas_nested *n)
{
	void *queue = x->queue;
	struct pending p = { .nested = *n };
	int rc;

	if (n->size > LAYER_INDEX_MAX - x->bytes)
		return layer_refuse(x->why, -EFBIG, "the catalogs are larger "
		    "than %d bytes", LAYER_INDEX_MAX);
	rc = array_grow(&queue, x->count, &x->cap, sizeof(*x->queue));
	x->queue = queue;
	p.path = rc == 0 ? strdup(path) : NULL;
	if (p.path == NULL)
		return -ENOMEM;
	x->bytes += n->size;
	x->queue[x->count++] = p;
	return 0;
}

static int
nest(void *arg, const char *path, const struct cas_nested *n, uint32_t links)
{
	struct opening *x = arg;

	return x->e->parts || x->e->part != NULL ?
	    add_part(x, path, n, links) : enqueue(x, path, n);
}

/* Reads some catalogs, beginning with catalog `first` of the queue. */
static int
read_batch(struct opening *x, size_t first, size_t *count)
{
	char paths[AT_ONCE][CAS_PATH];
	struct layer_range r[AT_ONCE];
	const struct layer_blobs *b = x->l->blobs;
	uint64_t bytes = 0, at = 0;
	uint8_t *buf;
	int rc;

	for (*count = 0; *count < AT_ONCE && first + *count < x->count;
	    ++*count) {
		uint64_t size = cas_stored_max(
		    x->queue[first + *count].nested.size);

		if (*count > 0 && bytes + size > AT_ONCE_B)
			break;
		bytes += size;
	}
	buf = sys_malloc((size_t)bytes);
	if (buf == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < *count; i++) {
		const struct cas_nested *n = &x->queue[first + i].nested;

		cas_object_path(paths[i], n->hash, CAS_CATALOG_OBJECT);
		r[i] = (struct layer_range){ .object = paths[i],
			.length = cas_stored_max(n->size), .buf = buf + at,
			.whole = true };
		at += r[i].length;
	}
	rc = b->read(b->arg, r, *count);
	if (rc != 0)
		rc = read_failed(x, rc);
	for (size_t i = 0; rc == 0 && i < *count; i++) {
		/* a copy, because the queue may be reallocated */
		const struct pending p = x->queue[first + i];
		size_t size = (size_t)p.nested.size, made = 0;
		uint8_t *content = sys_malloc(size);
		struct cas_rows rows = { .row_count = 0 };

		rc = content == NULL ? -ENOMEM : unpack_object(x,
		    p.nested.hash, r[i].buf, (size_t)r[i].length, content,
		    size, &made);
		if (rc == 0 && made != size)
			rc = layer_refuse(x->why, -EBADMSG, "a catalog does "
			    "not have the stated size");
		if (rc == 0)
			rc = cas_rows_read(&rows, content, made, x->why);
		if (rc == 0)
			rc = cas_entries_add(&(struct cas_entries){
			    .l = x->l, .rows = &rows, .directory = p.path,
			    .relative = x->e->part != NULL, .md5 = x->md5,
			    .nest = nest, .arg = x }, x->why);
		cas_rows_free(&rows);
		sys_free(content);
	}
	sys_free(buf);
	return rc;
}

/* Reads and verifies the manifest, which names the root catalog. */
static int
find_root(struct opening *x, struct cas_nested *root)
{
	/*
	 * the manifest, followed by space for the stored and the decompressed
	 * certificate
	 */
	uint8_t *text = sys_malloc(CAS_MANIFEST_MAX + 2 * CAS_CERTIFICATE_MAX);
	uint8_t *stored, *content;
	struct cas_manifest m;
	char path[CAS_PATH];
	size_t len = 0;
	int rc;

	if (text == NULL)
		return -ENOMEM;
	stored = text + CAS_MANIFEST_MAX;
	content = stored + CAS_CERTIFICATE_MAX;
	rc = fetch_whole(x, CAS_MANIFEST, text, CAS_MANIFEST_MAX);
	if (rc == 0)
		rc = cas_manifest_parse(&m, text, CAS_MANIFEST_MAX, x->why);
	if (rc != 0)
		goto out;
	cas_object_path(path, m.certificate, CAS_CERTIFICATE_OBJECT);
	rc = fetch_whole(x, path, stored, CAS_CERTIFICATE_MAX);
	if (rc == 0)
		rc = unpack_object(x, m.certificate, stored,
		    CAS_CERTIFICATE_MAX, content, CAS_CERTIFICATE_MAX, &len);
	if (rc == 0)
		rc = cas_manifest_verify(&m, text, content, len,
		    x->e->key_digest, x->why);
	if (rc != 0)
		goto out;
	x->l->index_bytes += m.lines;
	memcpy(root->hash, m.catalog, CAS_HASH);
	root->size = m.catalog_size;
out:
	sys_free(text);
	return rc;
}

int
cas_open_layer(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	struct opening x = { .l = l, .e = e, .why = why };
	struct cas_state *s = l->state = sys_calloc(1, sizeof(*s));
	struct cas_nested first;
	size_t n = 0;
	int rc = s == NULL ? -ENOMEM : digest_algo_open(&s->sha1, "sha1");

	if (rc == 0)
		rc = digest_algo_open(&x.md5, "md5");
	if (rc == 0)
		rc = cas_unpacker_open(&x.unpacker, s->sha1);
	if (rc == -ENOTSUP)
		layer_refuse(why, rc, "OpenSSL does not allow SHA-1 or MD5");
	if (rc != 0)
		goto out;
	l->index.unit_most = CAS_WHOLE_MAX;
	if (e->part != NULL) {
		memcpy(first.hash, e->part->digest, CAS_HASH);
		first.size = e->part->size;
	} else {
		rc = find_root(&x, &first);
	}
	if (rc == 0)
		rc = enqueue(&x, e->part != NULL ? e->part->path : "", &first);
	for (size_t i = 0; rc == 0 && i < x.count; i += n)
		rc = read_batch(&x, i, &n);
out:
	for (size_t i = 0; i < x.count; i++)
		free(x.queue[i].path);
	sys_free(x.queue);
	cas_unpacker_close(x.unpacker);
	digest_algo_close(x.md5);
	return rc;
}
