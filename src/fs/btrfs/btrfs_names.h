/*
 * btrfs_names.h - what btrfs stores of a tree besides its data
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_BTRFS_NAMES_H
#define COLDPRESS_BTRFS_NAMES_H

#include "walk/fs_list.h"

#include <stddef.h>
#include <stdint.h>

/* An extended attribute; an ACL is one. */
struct btrfs_xattr {
	uint32_t hash, size;		/* of the name; of name and value */
};

/* Does not change once it has been read; any thread may then use it. */
struct btrfs_names {
	const struct fs_list *list;
	size_t *order;			/* items in the order of a copy */
	struct btrfs_place *places;	/* one for each item of the list */
	struct btrfs_xattr *xattrs;
	size_t xattr_count, xattr_cap;
};

struct btrfs_place {
	size_t dir;			/* index of its directory */
	size_t rank;			/* in the order */
	size_t object;			/* the first rank of this file, which
					 * may have several names */
	size_t xattr, xattr_end;	/* indices of its attributes */
};

/*
 * Determines the order in which cp(1) and tar(1) copy a list, which must
 * outlast n: a directory, then its contents by inode number.  Reads the
 * attributes, leaving out those that cannot be read.  Returns 0 or -ENOMEM;
 * call btrfs_names_free() even then.
 */
int btrfs_names_read(struct btrfs_names *n, const struct fs_list *list);
void btrfs_names_free(struct btrfs_names *n);

/* Returns the hash by which directories are sorted: crc32c of the name. */
uint32_t btrfs_name_hash(const char *name);

#endif
