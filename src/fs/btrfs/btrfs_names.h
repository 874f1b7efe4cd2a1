/*
 * btrfs_names.h - the names and extended attributes of a tree on btrfs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_BTRFS_NAMES_H
#define COLDPRESS_BTRFS_NAMES_H

#include "walk/fs_list.h"

#include <stddef.h>
#include <stdint.h>

/* An extended attribute, which may be an ACL. */
struct btrfs_xattr {
	uint32_t hash, size;		/* hash of the name; size of name and
					 * value */
};

/* Constant once it has been read, so that any thread may use it. */
struct btrfs_names {
	const struct fs_list *list;
	uint32_t *order;		/* items in the order of a copy */
	struct btrfs_place *places;	/* one for each item of the list, and
					 * one more */
	struct btrfs_xattr *xattrs;
	size_t xattr_count, xattr_cap;
};

struct btrfs_place {
	uint32_t rank;			/* position in the order */
	uint32_t object;		/* lowest rank among the names of this
					 * file */
	size_t xattr;			/* index of the first of its attributes;
					 * those of the next item follow */
};

/*
 * Determines the order in which cp(1) and tar(1) copy a list, which must
 * outlast n: a directory, then its contents by inode number.  Reads the
 * attributes, omitting any that cannot be read.  Returns 0 or -ENOMEM; call
 * btrfs_names_free() even after an error.
 */
int btrfs_names_read(struct btrfs_names *n, const struct fs_list *list);
void btrfs_names_free(struct btrfs_names *n);

/* Returns the hash by which directories are sorted: crc32c of the name. */
uint32_t btrfs_name_hash(const char *name);

#endif
