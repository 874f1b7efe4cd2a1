/*
 * layermount_store_place.h - what the kernel's numbers of files stand for
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERMOUNT_STORE_PLACE_H
#define COLDPRESS_LAYERMOUNT_STORE_PLACE_H

#include "layermount_store.h"

#include "layermount_tree.h"

#include <sys/stat.h>

enum place_kind {
	PLACE_ROOT = 1, PLACE_IMAGE, PLACE_LAYER, PLACE_INFO, PLACE_BLOB,
	PLACE_KINDS = 8
};

/* What a number stands for; layer and image are NULL where there is none. */
struct place {
	struct store *store;
	enum place_kind kind;		/* if not in a tree */
	uint64_t number;
	struct store_image *image;
	struct store_layer *layer;
	bool in_tree;
	uint32_t inode;			/* of the tree */
};

/* Returns the number of one of the store's own names. */
fuse_ino_t place_number(enum place_kind kind, uint64_t of);

/* Finds what a number stands for, or replies and returns false. */
bool place_find(fuse_req_t req, fuse_ino_t ino, struct place *p);

/* Fills in the attributes of one of the store's own names, by its number. */
void place_stat(const struct place *p, fuse_ino_t ino, struct stat *st);

#endif
