/*
 * cas_open.c - opening a CVMFS repository: manifest and catalogs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All catalogs are read, level by level, because the index contains all entries
 * of a layer; several catalogs of a level are fetched together.
 */
#include "cas_read.h"

#include "base/array.h"
#include "base/sys.h"
#include "cas_manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	struct cas_unpacker *unpacker;
	struct digest_algo *md5;
	struct pending *queue;
	size_t count, cap;
	uint64_t bytes;			/* total size of the catalogs */
	char *why;
};

/* Fetching */

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

static int
enqueue(void *arg, const char *path, const struct cas_nested *n)
{
	struct opening *x = arg;
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
			rc = cas_entries_add(x->l, &rows, p.path, x->md5,
			    enqueue, x, x->why);
		cas_rows_free(&rows);
		sys_free(content);
	}
	sys_free(buf);
	return rc;
}

int
cas_open_layer(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	struct opening x = { .l = l, .why = why };
	struct cas_state *s = l->state = sys_calloc(1, sizeof(*s));
	/*
	 * the manifest, followed by space for the stored and the decompressed
	 * certificate
	 */
	uint8_t *text = sys_malloc(CAS_MANIFEST_MAX + 2 * CAS_CERTIFICATE_MAX);
	uint8_t *stored, *content;
	struct cas_manifest m;
	struct cas_nested root;
	char path[CAS_PATH];
	size_t len = 0, n = 0;
	int rc = s == NULL || text == NULL ? -ENOMEM :
	    digest_algo_open(&s->sha1, "sha1");

	if (rc == 0)
		rc = digest_algo_open(&x.md5, "md5");
	if (rc == 0)
		rc = cas_unpacker_open(&x.unpacker, s->sha1);
	if (rc == -ENOTSUP)
		layer_refuse(why, rc, "OpenSSL does not allow SHA-1 or MD5");
	if (rc != 0)
		goto out;
	stored = text + CAS_MANIFEST_MAX;
	content = stored + CAS_CERTIFICATE_MAX;
	rc = fetch_whole(&x, CAS_MANIFEST, text, CAS_MANIFEST_MAX);
	if (rc == 0)
		rc = cas_manifest_parse(&m, text, CAS_MANIFEST_MAX, why);
	if (rc != 0)
		goto out;
	cas_object_path(path, m.certificate, CAS_CERTIFICATE_OBJECT);
	rc = fetch_whole(&x, path, stored, CAS_CERTIFICATE_MAX);
	if (rc == 0)
		rc = unpack_object(&x, m.certificate, stored,
		    CAS_CERTIFICATE_MAX, content, CAS_CERTIFICATE_MAX, &len);
	if (rc == 0)
		rc = cas_manifest_verify(&m, text, content, len,
		    e->key_digest, why);
	if (rc != 0)
		goto out;
	l->index_bytes += m.lines;
	memcpy(root.hash, m.catalog, CAS_HASH);
	root.size = m.catalog_size;
	rc = enqueue(&x, "", &root);
	for (size_t i = 0; rc == 0 && i < x.count; i += n)
		rc = read_batch(&x, i, &n);
out:
	for (size_t i = 0; i < x.count; i++)
		free(x.queue[i].path);
	sys_free(x.queue);
	sys_free(text);
	cas_unpacker_close(x.unpacker);
	digest_algo_close(x.md5);
	return rc;
}
