/*
 * oci_new.c - writing an OCI image layout, which appears complete or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/oci/oci_new.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "image/oci/oci_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define BEGUN ".begun"

static const char version[] = "{\"imageLayoutVersion\":\"1.0.0\"}";

enum { PIECE = 256 << 10 };

/* Beginning */

int
oci_new_open(struct oci_new *n, const char *path)
{
	int rc = output_tree_create(&n->tree, path);

	n->blobs = -1;
	if (rc == 0)
		rc = sys_mkdirat(n->tree.dir, "blobs", 0755);
	if (rc == 0)
		rc = sys_mkdirat(n->tree.dir, "blobs/sha256", 0755);
	if (rc == 0)
		n->blobs = sys_openat(n->tree.dir, "blobs/sha256", O_RDONLY |
		    O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	return rc != 0 ? rc : n->blobs < 0 ? n->blobs : 0;
}

/* Blobs */

int
oci_new_begin(struct oci_new *n, struct output *o)
{
	int rc = output_create_at(o, n->blobs, BEGUN, true);

	if (rc == 0)
		sys_chmod(o->fd, NULL, 0644, 0);
	return rc;
}

int
oci_new_end(struct oci_new *n, struct output *o, const struct oci_blob *b)
{
	int rc = output_commit(o, true);

	return rc != 0 ? rc : sys_renameat(n->blobs, BEGUN, n->blobs, b->hex);
}

int
oci_new_text(struct oci_new *n, const char *text, size_t len,
    struct oci_blob *b)
{
	uint8_t sum[DIGEST_MAX];
	struct output o;
	int rc = digest_sha256(text, len, sum);

	if (rc != 0)
		return rc;
	hex_write(b->hex, sum, OCI_HEX / 2);
	b->size = len;
	rc = oci_new_begin(n, &o);
	if (rc != 0)
		return rc;
	rc = fdio_write(o.fd, text, len);
	if (rc != 0) {
		output_abort(&o);
		return rc;
	}
	return oci_new_end(n, &o, b);
}

int
oci_new_copy(struct oci_new *n, int layout, const struct oci_blob *b)
{
	uint8_t *piece = NULL;
	struct output o;
	ssize_t got = 0;
	int fd = oci_blob_open(layout, b), rc;

	if (fd < 0)
		return fd;
	rc = oci_blob_verify(fd, b);
	if (rc == 0)
		rc = oci_new_begin(n, &o);
	if (rc != 0)
		goto out;
	piece = sys_malloc(PIECE);
	rc = piece == NULL ? -ENOMEM : 0;
	while (rc == 0 && (got = fdio_read(fd, piece, PIECE)) > 0)
		rc = fdio_write(o.fd, piece, (size_t)got);
	sys_free(piece);
	if (rc == 0 && got < 0)
		rc = (int)got;
	if (rc != 0)
		output_abort(&o);
	else
		rc = oci_new_end(n, &o, b);
out:
	sys_close(fd);
	return rc;
}

/* The end */

static int
write_document(struct oci_new *n, const char *name, const char *text,
    size_t len)
{
	struct output o;
	int rc = output_create_at(&o, n->tree.dir, name, false);

	if (rc != 0)
		return rc;
	rc = sys_chmod(o.fd, NULL, 0644, 0);
	if (rc == 0)
		rc = fdio_write(o.fd, text, len);
	if (rc != 0) {
		output_abort(&o);
		return rc;
	}
	return output_commit(&o, true);
}

int
oci_new_commit(struct oci_new *n, const char *index, size_t len)
{
	int rc = write_document(n, "oci-layout", version, strlen(version));

	if (rc == 0)
		rc = write_document(n, "index.json", index, len);
	if (rc == 0)
		rc = fdio_sync(n->blobs);
	if (rc == 0)
		rc = output_tree_commit(&n->tree);
	if (rc == 0)
		oci_new_abort(n);
	return rc;
}

void
oci_new_abort(struct oci_new *n)
{
	if (n->blobs >= 0)
		sys_close(n->blobs);
	n->blobs = -1;
	output_tree_abort(&n->tree);
}
