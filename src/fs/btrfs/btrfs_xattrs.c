/*
 * btrfs_xattrs.c - a file's extended attributes, as btrfs would store them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/sys.h"
#include "btrfs.h"
#include "walk/walk_tree.h"

#include <string.h>
#include <sys/xattr.h>

/* The kernel's limit on the size of a list of names: XATTR_LIST_MAX. */
enum { LIST_MAX = 65536 };

void
btrfs_add_xattrs(struct btrfs_trees *t, int root, const char *path)
{
	int fd = tree_open(root, path, 0);
	char names[LIST_MAX];
	ssize_t n = fd < 0 ? 0 : flistxattr(fd, names, sizeof(names));

	for (ssize_t at = 0; at < n;) {
		size_t len = strnlen(names + at, (size_t)(n - at));
		ssize_t value = fgetxattr(fd, names + at, NULL, 0);

		if (value >= 0)
			btrfs_add_xattr(t, len, (uint64_t)value);
		at += (ssize_t)len + 1;
	}
	if (fd >= 0)
		sys_close(fd);
}
