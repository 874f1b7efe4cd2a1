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

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BEGUN ".begun"

static const char version[] = "{\"imageLayoutVersion\":\"1.0.0\"}";

enum { PIECE = 256 << 10, TRIES = 100 };

/* Beginning */

/* Opens the directory of path, and keeps the name in it. */
static int
open_parent(struct oci_new *n, const char *path)
{
	size_t len = strlen(path);
	char *copy, *slash;

	while (len > 1 && path[len - 1] == '/')
		len--;
	copy = sys_malloc(len + 1);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, path, len);
	copy[len] = '\0';
	slash = strrchr(copy, '/');
	n->name = sys_malloc(len + 1);
	if (n->name != NULL) {
		strcpy(n->name, slash == NULL ? copy : slash + 1);
		if (slash != NULL)
			slash[slash == copy ? 1 : 0] = '\0';
		n->parent = sys_openat(AT_FDCWD, slash == NULL ? "." : copy,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	}
	sys_free(copy);
	return n->name == NULL ? -ENOMEM : n->parent < 0 ? n->parent : 0;
}

static int
make_temp(struct oci_new *n)
{
	int rc = -EEXIST;

	for (int i = 0; rc == -EEXIST && i < TRIES; i++) {
		snprintf(n->temp, sizeof(n->temp), ".layout-%ld-%d",
		    (long)getpid(), i);
		rc = sys_mkdirat(n->parent, n->temp, 0755);
	}
	if (rc != 0)
		n->temp[0] = '\0';
	return rc;
}

static int
open_dir(int at, const char *name)
{
	return sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
}

int
oci_new_open(struct oci_new *n, const char *path)
{
	struct stat st;
	int rc;

	*n = (struct oci_new){ .parent = -1, .dir = -1, .blobs = -1 };
	rc = open_parent(n, path);
	if (rc != 0)
		return rc;
	rc = sys_fstatat(n->parent, n->name, &st, AT_SYMLINK_NOFOLLOW);
	if (rc != -ENOENT)
		return rc == 0 ? -EEXIST : rc;
	rc = make_temp(n);
	if (rc != 0)
		return rc;
	n->dir = open_dir(n->parent, n->temp);
	rc = n->dir < 0 ? n->dir : sys_mkdirat(n->dir, "blobs", 0755);
	if (rc == 0)
		rc = sys_mkdirat(n->dir, "blobs/sha256", 0755);
	if (rc == 0)
		n->blobs = open_dir(n->dir, "blobs/sha256");
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

static int
write_blob(struct oci_new *n, const char *text, size_t len,
    const struct oci_blob *b)
{
	struct output o;
	int rc = oci_new_begin(n, &o);

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
oci_new_text(struct oci_new *n, const char *text, size_t len,
    struct oci_blob *b)
{
	uint8_t sum[DIGEST_MAX];
	int rc = digest_sha256(text, len, sum);

	if (rc != 0)
		return rc;
	hex_write(b->hex, sum, OCI_HEX / 2);
	b->size = len;
	return write_blob(n, text, len, b);
}

static int
copy_bytes(int from, int to)
{
	uint8_t *piece = sys_malloc(PIECE);
	ssize_t n = 0;
	int rc = piece == NULL ? -ENOMEM : 0;

	while (rc == 0 && (n = fdio_read(from, piece, PIECE)) > 0)
		rc = fdio_write(to, piece, (size_t)n);
	sys_free(piece);
	return rc != 0 ? rc : (int)n;
}

int
oci_new_copy(struct oci_new *n, int layout, const struct oci_blob *b)
{
	struct output o;
	int fd = oci_blob_open(layout, b), rc;

	if (fd < 0)
		return fd;
	rc = oci_blob_verify(fd, b);
	if (rc == 0)
		rc = oci_new_begin(n, &o);
	if (rc == 0) {
		rc = copy_bytes(fd, o.fd);
		if (rc != 0)
			output_abort(&o);
		else
			rc = oci_new_end(n, &o, b);
	}
	sys_close(fd);
	return rc;
}

/* The end */

static int
write_file(struct oci_new *n, const char *name, const char *text, size_t len)
{
	struct output o;
	int rc = output_create_at(&o, n->dir, name, false);

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
	int rc = write_file(n, "oci-layout", version, strlen(version));

	if (rc == 0)
		rc = write_file(n, "index.json", index, len);
	if (rc == 0)
		rc = fdio_sync(n->blobs);
	if (rc == 0)
		rc = fdio_sync(n->dir);
	/* fails if there is a directory of that name by now, unless empty */
	if (rc == 0)
		rc = sys_renameat(n->parent, n->temp, n->parent, n->name);
	if (rc != 0)
		return rc;
	n->temp[0] = '\0';
	fdio_sync(n->parent);
	oci_new_abort(n);
	return 0;
}

static void
remove_files(int dir)
{
	int fd = sys_dup(dir);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (list == NULL) {
		if (fd >= 0)
			sys_close(fd);
		return;
	}
	rewinddir(list);
	while ((e = readdir(list)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			sys_unlinkat(dir, e->d_name, 0);
	closedir(list);
}

void
oci_new_abort(struct oci_new *n)
{
	if (n->temp[0] != '\0') {
		if (n->blobs >= 0)
			remove_files(n->blobs);
		if (n->dir >= 0) {
			sys_unlinkat(n->dir, "blobs/sha256", AT_REMOVEDIR);
			sys_unlinkat(n->dir, "blobs", AT_REMOVEDIR);
			remove_files(n->dir);
		}
		sys_unlinkat(n->parent, n->temp, AT_REMOVEDIR);
	}
	if (n->blobs >= 0)
		sys_close(n->blobs);
	if (n->dir >= 0)
		sys_close(n->dir);
	if (n->parent >= 0)
		sys_close(n->parent);
	sys_free(n->name);
	*n = (struct oci_new){ .parent = -1, .dir = -1, .blobs = -1 };
}
