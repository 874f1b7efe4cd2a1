/*
 * imgsrc_tar.h - a tar archive as a stream, and its entries
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SOURCE_IMGSRC_TAR_H
#define COLDPRESS_IMAGE_SOURCE_IMGSRC_TAR_H

#include "format/tar/tar_archive.h"
#include "image/source/imgsrc.h"

struct imgsrc_archive {
	struct imgsrc_image *to;
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
int imgsrc_tar_open(struct imgsrc_archive *a, struct imgsrc_image *to,
    const char *name, int fd, bool refuse_empty);
void imgsrc_tar_close(struct imgsrc_archive *a);

/*
 * Adds the current entry to the tree.  *id is its node, or SQW_NOWHERE.
 * Returns 1 if the entry has data to be stored, 0 if not, or -errno after
 * reporting the error.
 */
int imgsrc_tar_add(struct imgsrc_archive *a, uint32_t *id);

/*
 * Adds the extended attributes of the entry, and sets *index for
 * sqw_attr.xattr.  Returns 0 or -errno.
 */
int imgsrc_tar_xattrs(struct imgsrc_archive *a, uint32_t *index);

/*
 * imgsrc_tar_give() fills in *f for the current file.  imgsrc_tar_read() and
 * imgsrc_tar_skip() implement struct sqw_source for its data.
 */
void imgsrc_tar_give(struct imgsrc_archive *a, struct sqw_file *f);
int imgsrc_tar_read(void *arg, void *buf, size_t len);
int64_t imgsrc_tar_skip(void *arg);

/*
 * Reads the rest of the input, after the last entry, to verify that it is
 * intact.  Returns 0, or -errno after reporting the error.
 */
int imgsrc_tar_end(struct imgsrc_archive *a);

/* After the last entry, warns if the end of the archive is missing. */
void imgsrc_tar_warn(struct imgsrc_archive *a);

/* Reports why the archive cannot be read.  Returns rc. */
int imgsrc_tar_fail(struct imgsrc_archive *a, int rc);

#endif
