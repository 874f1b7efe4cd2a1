/*
 * sqpack_archive.h - a tar archive as a stream, and its entries
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_ARCHIVE_H
#define COLDPRESS_SQPACK_ARCHIVE_H

#include "sqpack.h"

#include "format/convert.h"
#include "format/tar/tar.h"

#include <pthread.h>
#include <stdatomic.h>

/* A compressed archive being decompressed into a pipe. */
struct unpack {
	pthread_t thread;
	bool running;
	struct input in;
	struct convert convert;
	struct convert_result result;
	int out;			/* the pipe's write end */
	atomic_int rc;			/* set before that is closed */
};

struct archive {
	struct sqpack *p;
	const char *name;		/* in messages */
	/*
	 * Of a layer: whether a path is no entry of its own.  Attributes are
	 * taken later then.
	 */
	bool (*filter)(void *arg, const char *path);
	void *filter_arg;
	int fd;				/* the file, or standard input */
	int data;			/* what is read: fd, or the pipe */
	struct unpack unpack;
	struct tar *tar;
	/* the current file */
	struct tar_entry entry;
	size_t extent;			/* the next */
	uint64_t at;			/* in the file, holes included */
};

/*
 * Begins to read fd, which it owns, or the -errno of opening it; starts to
 * decompress what is compressed.  It is to be closed in any case.  0 or
 * -errno, and it is said.
 */
int archive_open(struct archive *a, struct sqpack *p, const char *name,
    int fd);
void archive_close(struct archive *a);

/*
 * Takes the entry in hand into the tree: *id is its node, or SQW_NOWHERE.  1
 * if it has data to be stored, 0, or -errno, and it is said.
 */
int archive_take(struct archive *a, uint32_t *id);

/* Its extended attributes, as sqw_attr.xattr: 0 or -errno. */
int archive_take_xattrs(struct archive *a, uint32_t *index);

/* Its data are what archive_read() gives next, as sqb_source.read(). */
void archive_give(struct archive *a, struct sqb_file *f);
int archive_read(void *arg, void *buf, size_t len);

/*
 * After the last entry: what comes behind it is read, so that it is whole.  0
 * or -errno, and it is said.
 */
int archive_end(struct archive *a);

/* Reports why the archive cannot be read; returns rc. */
int archive_fail(struct archive *a, int rc);

#endif
