/*
 * vfs_store_blob.c - a whole layer from a store, verified before use
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Pushing or saving an image reads the compressed layer.  Its only digest
 * covers the whole layer, so the layer is first fetched into an unnamed file,
 * which is deleted when the last user closes it.
 */
#include "lazy/vfs/vfs_store.h"

#include "vfs_private.h"

#include "lazy/vfs/cache.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <errno.h>
#include <string.h>

enum { PIECE = 4 << 20 };

/* Returns a descriptor for the verified data, or -errno. */
static int
fetch_verified(struct vfs_store_layer *l)
{
	const struct vfs_remote *remote = &l->stack.v->o.remote;
	uint8_t want[DIGEST_MAX], sum[DIGEST_MAX];
	struct digest *d = NULL;
	void *buf = sys_malloc(PIECE);
	int fd = cache_unnamed(remote->cache_dir);
	int rc = fd < 0 ? fd : -ENOMEM;

	if (fd < 0 || buf == NULL)
		goto out;
	rc = hex_read_sha256(want, l->digest);
	if (rc != 0)
		goto out;
	rc = digest_new_sha256(&d);
	if (rc != 0)
		goto out;
	rc = digest_start(d);
	if (rc != 0)
		goto out;
	for (uint64_t at = 0; at < l->size; at += PIECE) {
		struct layer_range r = { .offset = at, .buf = buf,
			.length = l->size - at < PIECE ? l->size - at :
			PIECE };

		rc = vfs_source_fetch(l->stack.sources[0], &r, 1, HTTP_READ);
		if (rc == 0)
			rc = digest_add(d, buf, r.length);
		if (rc == 0)
			rc = fdio_write(fd, buf, r.length);
		if (rc != 0)
			goto out;
	}
	rc = digest_end(d, sum);
	if (rc == 0 && memcmp(sum, want, sizeof(want)) != 0)
		rc = vfs_refuse(&remote->report, l->stack.sources[0]->name,
		    -EIO, "the digest does not match");
out:
	digest_free(d);
	sys_free(buf);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		sys_close(fd);
	return rc;
}

int
vfs_store_blob_open(struct vfs_store_layer *l)
{
	int rc = 0;

	pthread_mutex_lock(&l->lock);
	if (l->blob < 0) {
		rc = fetch_verified(l);
		l->blob = rc < 0 ? -1 : rc;
	}
	if (l->blob >= 0)
		l->blob_users++;
	pthread_mutex_unlock(&l->lock);
	return rc < 0 ? rc : 0;
}

void
vfs_store_blob_close(struct vfs_store_layer *l)
{
	pthread_mutex_lock(&l->lock);
	if (--l->blob_users == 0) {
		sys_close(l->blob);
		l->blob = -1;
	}
	pthread_mutex_unlock(&l->lock);
}

ssize_t
vfs_store_blob_read(struct vfs_store_layer *l, void *buf, size_t size,
    off_t offset)
{
	return fdio_pread(l->blob, buf, size, offset);
}
