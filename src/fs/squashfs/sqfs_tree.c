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

/* The tree being built, and the buffer for paths. */
struct maker {
	struct sqfs_tree *t;
	const struct fs_list *list;
	const struct fs_item **linked;	/* files with several names */
	uint32_t *ids;			/* of all items */
	size_t linked_count;
	char *path;
};

/*
 * Reads a link's target.  If the link no longer exists, uses filler of the same
 * length.
 */
static void
read_target(const struct maker *m, const struct fs_item *it, char *target)
{
	ssize_t n = readlinkat(m->list->roots[it->root], it->path, target,
	    PATH_MAX - 1);

	if (n < 0) {
		n = it->st.st_size < PATH_MAX ? (ssize_t)it->st.st_size :
		    PATH_MAX - 1;
		memset(target, '?', (size_t)n);
	}
	target[n] = '\0';
}

/*
 * Builds an item's path.  The name of the root directory itself is unknown.
 */
static int
path_of(struct maker *m, const struct fs_item *it)
{
	size_t room = strlen(it->path) + 32;

	sys_free(m->path);
	m->path = sys_malloc(room);
	if (m->path == NULL)
		return -ENOMEM;
	if (m->list->root_count == 1)
		strcpy(m->path, it->path);
	else
		snprintf(m->path, room, "root_%u%s%s", it->root,
		    *it->path == '\0' ? "" : "/", it->path);
	return 0;
}

/* Adds an item as mksquashfs -all-root -no-xattrs does. */
static int
add_item(struct maker *m, size_t i)
{
	const struct fs_item *it = &m->list->items[i];
	char target[PATH_MAX];
	struct sqw_attr attr = {
		.mode = (uint16_t)it->st.st_mode,
		.mtime = sqw_time(it->st.st_mtime),
		.rdev = major(it->st.st_rdev) << 8 | minor(it->st.st_rdev),
		.xattr = SQUASHFS_NONE,
		.size = (uint64_t)it->st.st_size,
	};
	int rc = path_of(m, it);

	if (S_ISLNK(it->st.st_mode)) {
		read_target(m, it, target);
		attr.target = target;
		attr.size = strlen(target);
	}
	if (rc == 0)
		rc = sqw_tree_add(&m->t->tree, m->path, &attr, &m->ids[i]);
	if (rc == 0 && !S_ISDIR(it->st.st_mode) && it->st.st_nlink > 1)
		m->linked[m->linked_count++] = it;
	return rc;
}

static int
by_inode(const void *a, const void *b)
{
	const struct fs_item *m = *(const struct fs_item *const *)a,
	    *n = *(const struct fs_item *const *)b;

	if (m->st.st_dev != n->st.st_dev)
		return m->st.st_dev < n->st.st_dev ? -1 : 1;
	if (m->st.st_ino != n->st.st_ino)
		return m->st.st_ino < n->st.st_ino ? -1 : 1;
	return m < n ? -1 : m > n;
}

static void
link_items(struct maker *m)
{
	qsort(m->linked, m->linked_count, sizeof(*m->linked), by_inode);
	for (size_t i = 1; i < m->linked_count; i++) {
		const struct fs_item *x = m->linked[i - 1], *y = m->linked[i];

		if (x->st.st_dev == y->st.st_dev &&
		    x->st.st_ino == y->st.st_ino)
			sqw_tree_link(&m->t->tree,
			    m->ids[y - m->list->items],
			    m->ids[x - m->list->items]);
	}
}

static int
make(struct maker *m)
{
	size_t added = 0;
	int rc = sqw_tree_open(&m->t->tree);

	for (size_t i = 0; rc == 0 && i < m->list->count; i++)
		if (m->list->items[i].err == 0) {
			rc = add_item(m, i);
			added++;
		}
	if (rc != 0 || added == 0)
		return rc != 0 ? rc : -ENOENT;
	m->t->items = sys_calloc(m->t->tree.count, sizeof(*m->t->items));
	if (m->t->items == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < m->list->count; i++)
		if (m->list->items[i].err == 0)
			m->t->items[m->ids[i]] = &m->list->items[i];
	link_items(m);
	return sqw_tree_finish(&m->t->tree);
}

int
sqfs_tree_make(struct sqfs_tree *t, const struct fs_list *l)
{
	struct maker m = {
		.t = t,
		.list = l,
		.linked = sys_calloc(l->count + 1, sizeof(*m.linked)),
		.ids = sys_calloc(l->count + 1, sizeof(*m.ids)),
	};
	int rc;

	*t = (struct sqfs_tree){ .items = NULL };
	rc = m.linked == NULL || m.ids == NULL ? -ENOMEM : make(&m);
	sys_free(m.linked);
	sys_free(m.ids);
	sys_free(m.path);
	return rc;
}

void
sqfs_tree_free(struct sqfs_tree *t)
{
	sqw_tree_close(&t->tree);
	sys_free(t->items);
}
