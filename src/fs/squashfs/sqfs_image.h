/*
 * sqfs_image.h - a squashfs image that is being measured
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Private to the parts of sqfs_image.  Belongs to one thread.
 */
#ifndef COLDPRESS_SQFS_IMAGE_H
#define COLDPRESS_SQFS_IMAGE_H

#include "sqfs.h"
#include "sqfs_table.h"

/* Types of inodes, and what a long one has more. */
enum sqfs_type {
	SQFS_DIR = 1, SQFS_REG, SQFS_LINK, SQFS_BLOCK, SQFS_CHAR, SQFS_FIFO,
	SQFS_SOCKET, SQFS_LONG = 7
};

/* Of a long listing: where to begin looking for a name. */
struct sqfs_index {
	uint32_t at;			/* in the listing */
	uint32_t block;			/* that it is in there */
	const char *name;
};

struct sqfs_image {
	const struct sqfs_tree *tree;
	const struct sqfs_units *units;
	const struct fs_job *job;
	unsigned algorithm;
	struct packer *packer;
	uint64_t *starts;		/* of the units in the image */
	struct sqfs_place *places;	/* of the nodes' inodes */
	uint16_t *types;		/* of these, none of them long */
	struct sqfs_table inodes, listings, other;
	struct sqfs_index *indices;	/* of the directory in hand */
	size_t index_count, index_cap;
	int rc;
};

/* What a unit takes; SQFS_RAW is in it where it is not compressed. */
uint32_t sqfs_size_of(const struct sqfs_image *m, size_t unit);

struct sqfs_listing {
	uint64_t size;
	uint64_t indexed;		/* up to there */
	uint32_t dirs;			/* in it */
};

/*
 * What is in a directory, whose inodes are there already, to m->listings; l
 * is zeros.  Fills m->indices and, if it runs out of memory, m->rc.
 */
void sqfs_put_listing(struct sqfs_image *m, size_t dir,
    struct sqfs_listing *l);

/* The inode of anything but a directory, to m->inodes. */
void sqfs_put_inode(struct sqfs_image *m, size_t node);

/* The listing of a directory and its inode. */
void sqfs_put_dir(struct sqfs_image *m, size_t node);

#endif
