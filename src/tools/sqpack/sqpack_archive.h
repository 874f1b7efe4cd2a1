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

/* A compressed archive being decompressed into a pipe. */
struct unpack {
	pthread_t thread;
	bool running;
	struct input in;
	struct convert convert;
	struct convert_result result;
	int out;			/* the pipe's write end */
	int rc;
};

struct archive {
	struct sqpack *p;
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
 * Opens the file, or standard input, and starts decompression if necessary.  0
 * or -errno.
 */
int archive_open_stream(struct archive *a);

/* Bytes of the uncompressed archive, as in tar_source.read(). */
ssize_t archive_read_raw(void *arg, void *buf, size_t len);

/* Reports why the archive cannot be read; returns rc. */
int archive_fail(struct archive *a, int rc);

#endif
