/*
 * tar_archive.h - a tar archive in a file or pipe, compressed or not
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An archive compressed in any format in the codec table is decompressed by
 * that format's coder, in its own threads.  A struct tar_archive belongs to one
 * thread at a time, and must not be moved while it is open.
 */
#ifndef COLDPRESS_TAR_ARCHIVE_H
#define COLDPRESS_TAR_ARCHIVE_H

#include "format/convert.h"
#include "format/tar/tar.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct tar_archive {
	struct tar *tar;		/* reader for tar_next() and
					 * tar_read() */
	/* private */
	int pipe;			/* read end of the pipe, while
					 * unpacking */
	int out;			/* write end of the pipe, used by the
					 * thread */
	bool unpacking;
	pthread_t thread;
	struct input in;
	struct convert convert;
	struct convert_result result;
	atomic_int rc;			/* set before the pipe is closed */
	int (*raw)(void *arg, const void *data, size_t len);
	void *raw_arg;
};

struct tar_archive_options {
	unsigned threads;		/* threads for decompression */
	/* as in struct tar_source */
	int (*raw)(void *arg, const void *data, size_t len);
	void *raw_arg;
	bool refuse_empty, skip_ends;
};

/*
 * Opens the archive at the current position of fd, which is not closed.  The
 * archive must be closed even after an error.  Returns 0 or -errno.
 */
int tar_archive_open(struct tar_archive *a, int fd,
    const struct tar_archive_options *o);
void tar_archive_close(struct tar_archive *a);

/*
 * Reads the rest of the input after tar_next() has returned 0, to detect damage
 * there.  Returns 0 or -errno.
 */
int tar_archive_end(struct tar_archive *a);

/*
 * Returns a description of why a call on the archive returned rc, valid until
 * tar_archive_close().
 */
const char *tar_archive_why(const struct tar_archive *a, int rc);

#endif
