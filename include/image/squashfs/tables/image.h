/*
 * image.h - writing a squashfs 4.0 image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An image is written in three steps: sqt_image_begin() writes the part before
 * the data, sqw_data_write() the data, and sqt_image_end() the tables and the
 * superblock.  The tables of fragments, inode numbers, owners and extended
 * attributes are written by libsquashfs; inodes and listings by
 * image/squashfs/write.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_TABLES_IMAGE_H
#define COLDPRESS_IMAGE_SQUASHFS_TABLES_IMAGE_H

#include "image/squashfs/write/data.h"
#include "image/squashfs/write/tree.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The extended attributes of all inodes; each set is stored once.  Use from one
 * thread at a time.
 */
struct sqt_xattrs;

/*
 * If exact is true, the tables will have the bytes that mksquashfs writes.
 * Returns 0 or -ENOMEM.
 */
int sqt_xattrs_open(struct sqt_xattrs **x, bool exact);
void sqt_xattrs_close(struct sqt_xattrs *x);	/* x may be NULL */

/*
 * These functions add a set of attributes: begin, add each, end.  *index is set
 * to the value for sqw_attr.xattr.  They return 0, -ENOTSUP (the format does
 * not support the namespace) or -ENOMEM.
 */
int sqt_xattrs_begin(struct sqt_xattrs *x);
int sqt_xattrs_add(struct sqt_xattrs *x, const char *name,
    const void *value, size_t len);
int sqt_xattrs_end(struct sqt_xattrs *x, uint32_t *index);

/*
 * Adds an attribute to a set, or replaces its value there, and sets *index to
 * the new set's index; only if sqt_xattrs_open() got exact.  Returns the same.
 */
int sqt_xattrs_amend(struct sqt_xattrs *x, uint32_t *index, const char *name,
    const void *value, size_t len);

struct sqt_image_options {
	const struct sqw_data_options *data;
	uint32_t mtime;			/* modification time of the image */
	uint64_t offset;		/* bytes in fd before the image */
	/* do not compress these tables; raw inodes imply raw ids */
	bool raw_inodes, raw_xattrs, raw_ids;
	bool no_export;			/* omit the export table for NFS */
	bool no_pad;			/* do not pad to 4 KiB */
	bool streamed;			/* fd may be a pipe: the superblock
					 * comes last (SQUASHFS_STREAMED) */
	bool gensquashfs;		/* inodes and listings by its rules */
	bool large_dirs_long;		/* by those of its version 1.3: many
					 * entries take an extended inode */
	uint16_t more_flags;		/* for the superblock */
	unsigned strategies;		/* of gzip, to be recorded as bits */
	uint32_t xattrs_unused;		/* for the table of attributes, if it is
					 * exact */
	/*
	 * NULL, or called with each node of the tree and the reference of its
	 * inode, once these have been written
	 */
	void (*inode)(void *arg, size_t node, uint64_t ref);
	void *arg;
};

struct sqt_image_space {
	uint64_t inodes_B, listings_B, tables_B;	/* tables_B:
							 * everything else */
	uint64_t used_B, image_B;			/* without and with
							 * padding */
	uint64_t raw_inodes_B, raw_listings_B;		/* uncompressed */
	/* attributes, without the index of their sets: in the image, and their
	 * names and values; if amended or exact */
	uint64_t xattrs_B, raw_xattrs_B;
	uint32_t xattr_sets;
};

/*
 * Writes the start of an image to fd, at o->offset.  Programs do not recognize
 * it as an image until sqt_image_end().  Returns the number of bytes before the
 * data, or -errno.
 */
int64_t sqt_image_begin(int fd, const struct sqt_image_options *o);

/*
 * Fills in the data of the nodes of t, which must be complete, and writes the
 * part after the data.  Returns 0, -EUSERS (more than SQUASHFS_IDS_MAX users
 * and groups), -ENOMEM, or -errno from a write.
 */
int sqt_image_end(int fd, const struct sqt_image_options *o,
    struct sqw_tree *t, const struct sqw_data *d,
    struct sqt_xattrs *x, struct sqt_image_space *space);

#endif
