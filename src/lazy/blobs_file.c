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
read_ranges(void *arg, const struct layer_range *r, size_t count)
{
	for (; count > 0; r++, count--) {
		bool own;
		int fd = open_object(arg, r->object, &own);
		ssize_t n = -ENODATA;

		if (fd < 0)
			return fd;
		if (r->offset <= INT64_MAX &&
		    r->length <= INT64_MAX - r->offset)
			n = fdio_pread(fd, r->buf, (size_t)r->length,
			    (off_t)r->offset);
		if (own)
			sys_close(fd);
		if (n < 0)
			return (int)n;
		if ((uint64_t)n < r->length && !r->whole)
			return -ENODATA;
		memset((char *)r->buf + n, 0, (size_t)r->length - (size_t)n);
	}
	return 0;
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

int
blobs_file_open(struct blobs_file **out, const char *path, const char *side)
{
	struct blobs_file *b = sys_calloc(1, sizeof(*b));
	size_t size = strlen(path) + sizeof("." SIDE);
	char *name = NULL;
	struct stat st;
	int rc;

	if (b == NULL)
		return -ENOMEM;
	b->blobs = (struct layer_blobs){ .read = read_ranges, .size = size_of,
		.arg = b };
	b->dir = b->side = NONE;
	b->layer = sys_openat(AT_FDCWD, path, HOW, 0);
	rc = b->layer < 0 ? b->layer : sys_fstat(b->layer, &st);
	if (rc != 0)
		goto fail;
	if (S_ISDIR(st.st_mode)) {
		b->dir = b->layer;
		b->layer = NONE;
		*out = b;
		return 0;
	}
	rc = -EINVAL;
	if (!S_ISREG(st.st_mode))
		goto fail;
	if (side == NULL) {
		name = sys_malloc(size);
		rc = -ENOMEM;
		if (name == NULL)
			goto fail;
		snprintf(name, size, "%s." SIDE, path);
	}
	b->side = sys_openat(AT_FDCWD, name != NULL ? name : side, HOW, 0);
	sys_free(name);
	if (b->side == -ENOENT && side == NULL)
		b->side = NONE;
	else if (b->side < 0) {
		rc = b->side;
		goto fail;
	}
	*out = b;
	return 0;
fail:
	blobs_file_close(b);
	return rc;
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
