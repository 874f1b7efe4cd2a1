/*
 * sqpack_archive.h - a tar archive as a stream, and its entries
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_ARCHIVE_H
#define COLDPRESS_SQPACK_ARCHIVE_H

#include "sqpack.h"

#include "format/tar/tar_archive.h"

struct archive {
	struct sqpack *p;
	const char *name;		/* for messages */
	/*
	 * For a layer: returns whether a path is a whiteout rather than an
	 * entry.  If this is set, attributes are read later.
	 */
	bool (*filter)(void *arg, const char *path);
	void *filter_arg;
	int fd;				/* the file, or standard input */
	struct tar_archive stream;
	struct tar *tar;		/* reader of the stream */
	/* the current file */
	struct tar_entry entry;
	size_t extent;			/* the next extent */
	uint64_t at;			/* offset in the file, including
					 * holes */
};

/*
 * Starts reading fd, decompressing if necessary.  The archive then owns fd,
 * which may be the -errno of a failed open.  The archive must be closed even
 * after an error.  Returns 0, or -errno after reporting the error.
 */
int archive_open(struct archive *a, struct sqpack *p, const char *name,
    int fd, bool refuse_empty);
void archive_close(struct archive *a);

/*
 * Adds the current entry to the tree.  *id is its node, or SQW_NOWHERE.
 * Returns 1 if the entry has data to be stored, 0 if not, or -errno after
 * reporting the error.
 */
int archive_take(struct archive *a, uint32_t *id);

/*
 * Adds the extended attributes of the entry, and sets *index for
 * sqw_attr.xattr.  Returns 0 or -errno.
 */
int archive_take_xattrs(struct archive *a, uint32_t *index);

/*
 * archive_give() fills in *f for the current file.  archive_read() returns its
 * data; archive_read() and archive_skip() implement struct sqw_source.
 */
void archive_give(struct archive *a, struct sqw_file *f);
int archive_read(void *arg, void *buf, size_t len);
int64_t archive_skip(void *arg);

/*
 * Reads the rest of the input, after the last entry, to verify that it is
 * intact.  Returns 0, or -errno after reporting the error.
 */
int archive_end(struct archive *a);

/* After the last entry, warns if the end of the archive is missing. */
void archive_tell_flaw(struct archive *a);

/* Reports why the archive cannot be read.  Returns rc. */
int archive_fail(struct archive *a, int rc);

#endif
