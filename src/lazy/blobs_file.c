/*
 * blobs_file.c - layers in local files
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/blobs_file.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define SIDE "ztoc"

enum { HOW = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, NONE = -1 };

struct blobs_file {
	struct layer_blobs blobs;
	int layer, dir, side;		/* descriptors, or NONE */
};

/*
 * Returns a descriptor of the object, or -errno; *own is set if the caller must
 * close it.
 */
static int
open_object(const struct blobs_file *b, const char *object, bool *own)
{
	int fd = b->layer;

	*own = false;
	if (object == NULL)
		return fd == NONE ? -ENOENT : fd;
	if (b->dir != NONE) {
		*own = true;
		return tree_open(b->dir, object, 0);
	}
	return strcmp(object, SIDE) != 0 || b->side == NONE ? -ENOENT :
	    b->side;
}

static int
read_range(int fd, const struct layer_range *r)
{
	ssize_t n;

	if (r->offset > INT64_MAX || r->length > INT64_MAX - r->offset)
		return -ENODATA;
	n = fdio_pread(fd, r->buf, (size_t)r->length, (off_t)r->offset);
	if (n < 0)
		return (int)n;
	if (r->whole) {
		memset((char *)r->buf + n, 0, (size_t)r->length - (size_t)n);
		return 0;
	}
	return (uint64_t)n == r->length ? 0 : -ENODATA;
}

static int
read_ranges(void *arg, const struct layer_range *r, size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		bool own;
		int fd = open_object(arg, r[i].object, &own);

		rc = fd < 0 ? fd : read_range(fd, &r[i]);
		if (fd >= 0 && own)
			sys_close(fd);
	}
	return rc;
}

static int
size_of(void *arg, const char *object, uint64_t *size)
{
	bool own;
	struct stat st;
	int fd = open_object(arg, object, &own), rc;

	if (fd < 0)
		return fd;
	rc = sys_fstat(fd, &st);
	if (own)
		sys_close(fd);
	if (rc == 0)
		*size = (uint64_t)st.st_size;
	return rc;
}

/* Determines whether a layer or a directory of objects was opened. */
static int
open_main(struct blobs_file *b, const char *path)
{
	struct stat st;
	int fd = sys_openat(AT_FDCWD, path, HOW, 0), rc;

	if (fd < 0)
		return fd;
	rc = sys_fstat(fd, &st);
	if (rc == 0 && S_ISREG(st.st_mode))
		b->layer = fd;
	else if (rc == 0 && S_ISDIR(st.st_mode))
		b->dir = fd;
	else
		sys_close(fd);
	return rc != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ? rc :
	    -EINVAL;
}

static int
open_side(struct blobs_file *b, const char *path, const char *side)
{
	size_t size = strlen(path) + sizeof("." SIDE);
	char *name;

	if (side != NULL) {
		b->side = sys_openat(AT_FDCWD, side, HOW, 0);
		return b->side < 0 ? b->side : 0;
	}
	name = sys_malloc(size);
	if (name == NULL)
		return -ENOMEM;
	snprintf(name, size, "%s." SIDE, path);
	b->side = sys_openat(AT_FDCWD, name, HOW, 0);
	sys_free(name);
	if (b->side < 0 && b->side != -ENOENT)
		return b->side;
	if (b->side < 0)
		b->side = NONE;
	return 0;
}

int
blobs_file_open(struct blobs_file **out, const char *path, const char *side)
{
	struct blobs_file *b = sys_calloc(1, sizeof(*b));
	int rc;

	if (b == NULL)
		return -ENOMEM;
	*b = (struct blobs_file){ .layer = NONE, .dir = NONE, .side = NONE };
	b->blobs = (struct layer_blobs){ .read = read_ranges, .size = size_of,
		.arg = b };
	rc = open_main(b, path);
	if (rc == 0 && b->dir == NONE)
		rc = open_side(b, path, side);
	if (rc != 0) {
		blobs_file_close(b);
		return rc;
	}
	*out = b;
	return 0;
}

void
blobs_file_close(struct blobs_file *b)
{
	if (b == NULL)
		return;
	if (b->layer >= 0)
		sys_close(b->layer);
	if (b->dir >= 0)
		sys_close(b->dir);
	if (b->side >= 0)
		sys_close(b->side);
	sys_free(b);
}

const struct layer_blobs *
blobs_file_blobs(const struct blobs_file *b)
{
	return &b->blobs;
}

int
blobs_file_dir(const struct blobs_file *b)
{
	return b->dir;
}
