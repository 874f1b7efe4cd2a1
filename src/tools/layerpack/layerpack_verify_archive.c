/*
 * layerpack_verify_archive.c - comparing the archive in a layer with its index
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack_verify.h"

#include "base/path.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum { PIECE = VERIFY_ZEROS };

/* Data */

static int
hash(struct verify *v, const uint8_t *data, uint64_t len)
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
take_piece(struct verify *v, uint64_t at, const uint8_t *data, uint64_t len)
{
	v->bytes += data == NULL ? 0 : len;
	if (!v->differs)
		v->differs = len > 0 && !verify_data(v, &v->entries[v->n],
		    &v->run, at, data, len);
	return hash(v, data, len);
}

/* Compares the data stored for [at, at + len). */
static int
take_stored(struct verify *v, struct tar *t, uint64_t at, uint64_t len)
{
	uint8_t piece[PIECE];
	int rc = 0;

	while (rc == 0 && len > 0) {
		ssize_t n = tar_read(t, piece, len < PIECE ? (size_t)len :
		    PIECE);

		if (n <= 0)
			return n == 0 ? -ENODATA : (int)n;
		rc = take_piece(v, at, piece, (uint64_t)n);
		at += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return rc;
}

static int
take_data(struct verify *v, struct tar *t, const struct tar_entry *e)
{
	const struct tar_extent whole = { 0, e->size };
	const struct tar_extent *x = e->extents == NULL ? &whole : e->extents;
	size_t count = e->extents == NULL ? 1 : e->extent_count;
	uint64_t at = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = take_piece(v, at, NULL, x[i].offset - at);
		if (rc == 0)
			rc = take_stored(v, t, x[i].offset, x[i].length);
		at = x[i].offset + x[i].length;
	}
	return rc != 0 ? rc : take_piece(v, at, NULL, e->size - at);
}

static int
compare_file(struct verify *v, struct tar *t, const struct tar_entry *e)
{
	const uint8_t *expected = layer_file_digest(v->s.l, v->n);
	const char *path = v->entries[v->n].path;
	uint8_t sum[DIGEST_MAX];
	int rc;

	v->run = 0;
	v->differs = false;
	v->hashed = expected != NULL;
	rc = digest_start(v->digest);
	if (rc == 0)
		rc = take_data(v, t, e);
	if (rc == 0)
		rc = digest_end(v->digest, sum);
	if (rc != 0)
		return rc;
	if (v->differs)
		msg_error(&v->p->msg, "%s: %s: the archive and the index "
		    "differ in data", v->p->o.source, path);
	else if (expected != NULL && memcmp(sum, expected, LAYER_DIGEST) != 0)
		msg_error(&v->p->msg, "%s: %s: the digest does not match",
		    v->p->o.source, path);
	return 0;
}

/* Entries */

/* Compares the next entry of the archive with the next entry of the index. */
static int
compare_next(struct verify *v, struct tar *t, struct tar_entry *e, char *path)
{
	const struct layer_entry *x = &v->entries[v->n];
	const char *what;

	e->path = path;
	if (path_clean(path) == 0 && layer_is_internal(path) &&
	    layer_kind(v->s.l) != LAYER_ZTOC)
		return 0;
	if (v->n >= v->count || strcmp(path, x->path) != 0) {
		msg_error(&v->p->msg, "%s: the archive contains %s, but the "
		    "index contains %s", v->p->o.source, path, v->n >= v->count ?
		    "no more entries" : x->path);
		return -EBADMSG;
	}
	what = verify_entry(e, x);
	if (what != NULL)
		msg_error(&v->p->msg, "%s: %s: the archive and the index "
		    "differ in %s", v->p->o.source, path, what);
	if (what == NULL && x->type == TAR_FILE) {
		int rc = compare_file(v, t, e);

		if (rc != 0)
			return rc;
	}
	v->n++;
	return 0;
}

static int
compare_all(struct verify *v, struct tar_archive *a)
{
	struct tar_entry e;
	int rc;

	while ((rc = tar_next(a->tar, &e)) == 1) {
		char *path = strdup(e.path);

		rc = path == NULL ? -ENOMEM :
		    compare_next(v, a->tar, &e, path);
		sys_free(path);
		if (rc != 0)
			return rc;
	}
	if (rc == 0)
		rc = tar_archive_end(a);
	if (rc == 0 && v->n < v->count) {
		msg_error(&v->p->msg, "%s: the archive ends, but the index "
		    "contains %s", v->p->o.source, v->entries[v->n].path);
		rc = -EBADMSG;
	}
	return rc;
}

int
verify_archive(struct verify *v)
{
	const struct tar_archive_options o = { .threads = v->p->o.threads };
	struct tar_archive a;
	int rc, before = v->p->msg.status;

	if (v->archive < 0)
		return v->archive;
	rc = tar_archive_open(&a, v->archive, &o);
	if (rc == 0)
		rc = compare_all(v, &a);
	if (rc != 0 && v->p->msg.status == before)
		msg_error(&v->p->msg, "%s: the archive: %s", v->p->o.source,
		    tar_archive_why(&a, rc));
	tar_archive_close(&a);
	return 0;
}
