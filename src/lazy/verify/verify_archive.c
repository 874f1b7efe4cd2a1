/*
 * verify_archive.c - comparing the archive in a layer with its index
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "verify_impl.h"

#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "format/tar/tar_archive.h"

#include <errno.h>
#include <string.h>

enum { PIECE = VERIFY_ZEROS };

/* Data */

static int
hash_data(struct verify *v, const uint8_t *data, uint64_t len)
{
	int rc = 0;

	if (!v->hashed)
		return 0;
	while (rc == 0 && len > 0) {
		size_t n = len < PIECE ? (size_t)len : PIECE;

		rc = digest_add(v->digest, data == NULL ? verify_zeros : data,
		    n);
		data = data == NULL ? NULL : data + n;
		len -= n;
	}
	return rc;
}

static int
compare_piece(struct verify *v, uint64_t at, const uint8_t *data, uint64_t len)
{
	v->result->bytes += data == NULL ? 0 : len;
	if (!v->differs)
		v->differs = len > 0 && !verify_data(v, &v->entries[v->n],
		    &v->run, at, data, len);
	return hash_data(v, data, len);
}

/* Compares the data stored for [at, at + len). */
static int
compare_stored(struct verify *v, struct tar *t, uint64_t at, uint64_t len)
{
	uint8_t piece[PIECE];
	int rc = 0;

	while (rc == 0 && len > 0) {
		ssize_t n = tar_read(t, piece, len < PIECE ? (size_t)len :
		    PIECE);

		if (n <= 0)
			return n == 0 ? -ENODATA : (int)n;
		rc = compare_piece(v, at, piece, (uint64_t)n);
		at += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return rc;
}

static int
compare_content(struct verify *v, struct tar *t, const struct tar_entry *e)
{
	const struct tar_extent whole = { 0, e->size };
	const struct tar_extent *x = e->extents == NULL ? &whole : e->extents;
	size_t count = e->extents == NULL ? 1 : e->extent_count;
	uint64_t at = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = compare_piece(v, at, NULL, x[i].offset - at);
		if (rc == 0)
			rc = compare_stored(v, t, x[i].offset, x[i].length);
		at = x[i].offset + x[i].length;
	}
	return rc != 0 ? rc : compare_piece(v, at, NULL, e->size - at);
}

static int
compare_file(struct verify *v, struct tar *t, const struct tar_entry *e)
{
	const uint8_t *expected = layer_file_digest(v->l, v->n);
	const char *path = v->entries[v->n].path;
	uint8_t sum[DIGEST_MAX];
	int rc;

	v->run = 0;
	v->differs = false;
	v->hashed = expected != NULL;
	rc = digest_start(v->digest);
	if (rc == 0)
		rc = compare_content(v, t, e);
	if (rc == 0)
		rc = digest_end(v->digest, sum);
	if (rc != 0)
		return rc;
	if (v->differs)
		verify_fault(v, "%s: the archive and the index differ in data",
		    path);
	else if (expected != NULL && memcmp(sum, expected, LAYER_DIGEST) != 0)
		verify_fault(v, "%s: the digest does not match", path);
	return 0;
}

/* Entries */

/*
 * Compares times.  An index contains nanoseconds, or seconds that were rounded
 * or truncated.
 */
static bool
same_time(const struct tar_entry *t, const struct layer_entry *e)
{
	if (e->mtime_ns != 0)
		return t->mtime == e->mtime && t->mtime_ns == e->mtime_ns;
	return t->mtime == e->mtime ||
	    (t->mtime_ns > 0 && t->mtime == e->mtime - 1);
}

/*
 * Compares link targets as they are in the archive, except for trailing
 * slashes.
 */
static bool
same_link(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	while (n > 1 && a[n - 1] == '/')
		n--;
	while (m > 1 && b[m - 1] == '/')
		m--;
	return n == m && memcmp(a, b, n) == 0;
}

static bool
has_xattr(const struct tar_entry *t, const struct tar_xattr *x)
{
	for (size_t i = 0; i < t->xattr_count; i++)
		if (strcmp(t->xattrs[i].name, x->name) == 0)
			return t->xattrs[i].length == x->length &&
			    memcmp(t->xattrs[i].value, x->value,
			    x->length) == 0;
	return false;
}

static bool
same_xattrs(const struct tar_entry *t, const struct layer_entry *e)
{
	if (t->xattr_count != e->xattr_count)
		return false;
	for (size_t i = 0; i < e->xattr_count; i++)
		if (!has_xattr(t, &e->xattrs[i]))
			return false;
	return true;
}

/*
 * Compares owner names.  If the index has none, only the numeric IDs are
 * compared.
 */
static bool
same_name(const char *in_archive, const char *in_index)
{
	return *in_index == '\0' || strcmp(in_archive, in_index) == 0;
}

/*
 * Compares an entry of the archive with an entry of the index, without the
 * data.  Returns NULL if they are equal, otherwise a description of the
 * difference.
 */
static const char *
entry_difference(const struct tar_entry *t, const struct layer_entry *e)
{
	bool device = e->type == TAR_CHAR || e->type == TAR_BLOCK_DEVICE;

	if (t->type != e->type)
		return "type";
	if (e->type == TAR_FILE && t->size != e->size)
		return "size";
	if ((e->type == TAR_SYMLINK || e->type == TAR_HARDLINK) &&
	    !same_link(t->link, e->link))
		return "link target";
	if (t->mode != e->mode)
		return "mode";
	if (t->uid != e->uid || t->gid != e->gid ||
	    !same_name(t->uname, e->uname) || !same_name(t->gname, e->gname))
		return "owner";
	if (!same_time(t, e))
		return "time";
	if (device && (t->major != e->major || t->minor != e->minor))
		return "device number";
	return same_xattrs(t, e) ? NULL : "extended attributes";
}

/* Compares the next entry of the archive with the next entry of the index. */
static int
compare_next(struct verify *v, struct tar *t, struct tar_entry *e, char *path)
{
	const struct layer_entry *x = &v->entries[v->n];
	const char *what;

	e->path = path;
	if (path_clean(path) == 0 && layer_is_internal(path) &&
	    layer_kind(v->l) != LAYER_ZTOC)
		return 0;
	if (v->n >= v->result->entries || strcmp(path, x->path) != 0) {
		verify_fault(v, "the archive contains %s, but the index "
		    "contains %s", path, v->n >= v->result->entries ?
		    "no more entries" : x->path);
		return -EBADMSG;
	}
	what = entry_difference(e, x);
	if (what != NULL)
		verify_fault(v, "%s: the archive and the index differ in %s",
		    path, what);
	if (what == NULL && x->type == TAR_FILE) {
		int rc = compare_file(v, t, e);

		if (rc != 0)
			return rc;
	}
	v->n++;
	return 0;
}

static int
compare_entries(struct verify *v, struct tar_archive *a)
{
	struct tar_entry e;
	int rc;

	while ((rc = tar_next(a->tar, &e)) == 1) {
		char *path = strcopy(e.path);

		rc = path == NULL ? -ENOMEM :
		    compare_next(v, a->tar, &e, path);
		sys_free(path);
		if (rc != 0)
			return rc;
	}
	if (rc == 0)
		rc = tar_archive_end(a);
	if (rc == 0 && v->n < v->result->entries) {
		verify_fault(v, "the archive ends, but the index contains %s",
		    v->entries[v->n].path);
		rc = -EBADMSG;
	}
	return rc;
}

int
verify_archive(struct verify *v)
{
	const struct tar_archive_options o = { .threads = v->o->threads };
	struct tar_archive a;
	size_t before = v->result->faults;
	int rc;

	if (v->o->archive < 0)
		return v->o->archive;
	rc = tar_archive_open(&a, v->o->archive, &o);
	if (rc == 0)
		rc = compare_entries(v, &a);
	if (rc != 0 && v->result->faults == before)
		verify_fault(v, "the archive: %s", tar_archive_why(&a, rc));
	tar_archive_close(&a);
	return 0;
}
