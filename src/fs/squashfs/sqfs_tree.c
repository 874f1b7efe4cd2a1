/*
 * sqfs_tree.c - a list of files as the tree of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqfs.h"

#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/*
 * Adds an item as mksquashfs -all-root -no-xattrs does.  The name of the root
 * directory itself is unknown.
 */
static int
add_item_node(struct sqfs_tree *t, const struct fs_list *l,
    size_t i, struct fs_path *p, uint32_t *id)
{
	const struct fs_item *it = &l->items[i];
	const char *from = fs_list_path(l, i, p);
	char target[PATH_MAX];
	struct sqw_attr attr = {
		.mode = it->mode,
		.mtime = sqw_time(it->mtime_s),
		.rdev = major(it->rdev) << 8 | minor(it->rdev),
		.xattr = SQUASHFS_NONE,
		.size = it->size,
	};
	size_t room = from == NULL ? 0 : strlen(from) + 32;
	char *path = from == NULL ? NULL : sys_malloc(room);
	ssize_t n;
	int rc;

	if (path == NULL)
		return -ENOMEM;
	if (l->root_count == 1)
		strcpy(path, from);
	else
		snprintf(path, room, "root_%u%s%s", it->root,
		    *from == '\0' ? "" : "/", from);
	if (S_ISLNK(it->mode)) {
		n = sys_readlinkat(l->roots[it->root], from, target,
		    PATH_MAX - 1);
		/* if it no longer exists, use filler of the same length */
		if (n < 0 && n != -ENOENT) {
			rc = (int)n;
			goto out;
		}
		if (n < 0) {
			n = it->size < PATH_MAX ? (ssize_t)it->size :
			    PATH_MAX - 1;
			memset(target, '?', (size_t)n);
		}
		target[n] = '\0';
		attr.target = target;
		attr.size = strlen(target);
	}
	rc = sqw_tree_add(&t->tree, path, &attr, id);
out:
	sys_free(path);
	return rc;
}

static int
by_inode(const void *a, const void *b)
{
	const struct fs_item *m = *(const struct fs_item *const *)a,
	    *n = *(const struct fs_item *const *)b;

	if (m->dev != n->dev)
		return m->dev < n->dev ? -1 : 1;
	if (m->ino != n->ino)
		return m->ino < n->ino ? -1 : 1;
	return m < n ? -1 : m > n;
}

int
sqfs_tree_make(struct sqfs_tree *t, const struct fs_list *l)
{
	/* files with several names, and the ids of all items */
	const struct fs_item **linked = sys_calloc(l->count + 1,
	    sizeof(*linked));
	uint32_t *ids = sys_calloc(l->count + 1, sizeof(*ids));
	size_t linked_count = 0, added = 0;
	struct fs_path path = { .s = NULL };
	int rc = -ENOMEM;

	*t = (struct sqfs_tree){ .items = NULL };
	if (linked == NULL || ids == NULL)
		goto out;
	rc = sqw_tree_open(&t->tree);
	for (size_t i = 0; rc == 0 && i < l->count; i++) {
		const struct fs_item *it = &l->items[i];

		if (it->err != 0)
			continue;
		rc = add_item_node(t, l, i, &path, &ids[i]);
		added++;
		if (rc == 0 && !S_ISDIR(it->mode) && it->links > 1)
			linked[linked_count++] = it;
	}
	if (rc == 0 && added == 0)
		rc = -ENOENT;
	if (rc != 0)
		goto out;
	t->items = sys_calloc(t->tree.count, sizeof(*t->items));
	if (t->items == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].err == 0)
			t->items[ids[i]] = &l->items[i];
	qsort(linked, linked_count, sizeof(*linked), by_inode);
	for (size_t i = 1; i < linked_count; i++) {
		const struct fs_item *x = linked[i - 1], *y = linked[i];

		if (x->dev == y->dev && x->ino == y->ino)
			sqw_tree_link(&t->tree, ids[y - l->items],
			    ids[x - l->items]);
	}
	rc = sqw_tree_finish(&t->tree);
out:
	sys_free(path.s);
	sys_free(linked);
	sys_free(ids);
	return rc;
}

void
sqfs_tree_free(struct sqfs_tree *t)
{
	sqw_tree_close(&t->tree);
	sys_free(t->items);
}
