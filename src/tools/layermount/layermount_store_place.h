/*
 * layermount_store_place.h - the meaning of inode numbers in a store
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERMOUNT_STORE_PLACE_H
#define COLDPRESS_LAYERMOUNT_STORE_PLACE_H

#include "layermount_tree.h"

#include <sys/stat.h>

enum place_kind {
	PLACE_ROOT = 1, PLACE_IMAGE, PLACE_LAYER, PLACE_INFO, PLACE_BLOB,
	PLACE_KINDS = 8
};

/*
 * The object with an inode number; layer and image are NULL if there is none.
 */
struct place {
	struct vfs_store *store;
	enum place_kind kind;		/* type of name, if not in a tree */
	uint64_t number;
	struct vfs_store_image *image;
	struct vfs_store_layer *layer;
	bool in_tree;
	uint32_t inode;			/* inode in the tree */
};

/* Returns the inode number of a name of the store itself. */
fuse_ino_t place_number(enum place_kind kind, uint64_t of);

/*
 * Finds what a number stands for, and holds its layer, until place_leave(); or
 * replies and returns false.
 */
bool place_find(fuse_req_t req, fuse_ino_t ino, struct place *p);
void place_leave(struct place *p);

/* Counts references that the kernel returned to a number. */
void place_forget(struct vfs_store *s, fuse_ino_t ino, uint64_t count);

/* Fills in the attributes of a name of the store itself, given its number. */
void place_stat(const struct place *p, fuse_ino_t ino, struct stat *st);

#endif
