/*
 * cas_object.c - compressing, naming and writing a CVMFS repository's objects
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 1950 (zlib).  Objects are written under their final names,
 * because the repository directory itself gets its name only when it is
 * complete.
 */
#include "cas_impl.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/hex.h"
#include "base/sys.h"
#include "format/gzip/deflate_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>

enum {
	ZLIB_HEADER = 2, ZLIB_TRAILER = 4,
	BLOCK = 4 << 20			/* bytes compressed at a time */
};

struct cas_writer {
	const struct cas *c;
	struct deflate_engine *engine;
	struct digest *digest;
	struct buf out;
};

void
cas_object_path(char path[CAS_PATH], const uint8_t hash[CAS_HASH], char suffix)
{
	char hex[2 * CAS_HASH + 1];

	hex_write(hex, hash, CAS_HASH);
	snprintf(path, CAS_PATH, "data/%.2s/%s%c", hex, hex + 2, suffix);
}

int
cas_writer_open(struct cas_writer **out, const struct cas *c)
{
	struct cas_writer *w = sys_calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return -ENOMEM;
	w->c = c;
	rc = deflate_engine_open_steady(&w->engine, c->o->level);
	if (rc == 0)
		rc = digest_new(&w->digest, c->sha1);
	if (rc != 0)
		cas_writer_close(w);
	else
		*out = w;
	return rc;
}

void
cas_writer_close(struct cas_writer *w)
{
	if (w == NULL)
		return;
	if (w->engine != NULL)
		deflate_engine_close(w->engine);
	digest_free(w->digest);
	sys_free(w->out.data);
	sys_free(w);
}

int
cas_write(struct cas_writer *w, const void *data, size_t len,
    struct cas_object *object)
{
	/* 32 KiB window, default level */
	static const uint8_t header[ZLIB_HEADER] = { 0x78, 0x9c };
	uint32_t adler = libdeflate_adler32(1, data, len);
	const uint8_t *from = data;
	struct buf *out = &w->out;
	char path[CAS_PATH];
	uint8_t sum[DIGEST_MAX];
	bool last = false;
	int fd, rc = buf_reserve(out, ZLIB_HEADER);

	if (rc != 0)
		return rc;
	memcpy(out->data, header, ZLIB_HEADER);
	out->len = ZLIB_HEADER;
	while (!last) {
		size_t n = len < BLOCK ? len : BLOCK;
		size_t bound = deflate_engine_bound(n);
		ssize_t made;

		last = n == len;
		rc = buf_reserve(out, out->len + bound + ZLIB_TRAILER);
		if (rc != 0)
			return rc;
		made = deflate_engine_run(w->engine, from, n, last,
		    out->data + out->len, bound);
		if (made < 0)
			return (int)made;
		out->len += (size_t)made;
		from += n;
		len -= n;
	}
	store_be32(out->data + out->len, adler);
	out->len += ZLIB_TRAILER;
	rc = digest_once(w->digest, out->data, out->len, sum);
	if (rc != 0)
		return rc;
	memcpy(object->hash, sum, CAS_HASH);
	object->stored = out->len;
	cas_object_path(path, object->hash, object->suffix);
	fd = sys_openat(w->c->tree.dir, path, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return fd == -EEXIST ? 0 : fd;
	rc = fdio_write(fd, out->data, out->len);
	if (rc != 0) {
		sys_close(fd);
		return rc;
	}
	return sys_close(fd);
}

int
cas_remove(const struct cas *c, const struct cas_object *object)
{
	char path[CAS_PATH];

	cas_object_path(path, object->hash, object->suffix);
	return sys_unlinkat(c->tree.dir, path, 0);
}
