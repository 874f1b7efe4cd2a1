/*
 * sqpack_dir_list.c - the contents of a directory, as the tree of an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_dir.h"

#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Names of inodes with several links, to be joined. */
struct linked {
	dev_t dev;
	ino_t ino;
	uint32_t id;
};

static int
by_inode(const void *a, const void *b)
{
	const struct linked *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void
link_all(struct dir *d, struct linked *l, size_t n)
{
	qsort(l, n, sizeof(*l), by_inode);
	for (size_t i = 1; i < n; i++)
		if (l[i].dev == l[i - 1].dev && l[i].ino == l[i - 1].ino)
			sqw_tree_link(&d->p->tree, l[i].id, l[i - 1].id);
}

static int
add_item(struct dir *d, const struct fs_item *it, bool has_xattrs,
    uint32_t *id)
{
	char target[PATH_MAX + 1];
	struct sqw_attr attr = {
		.mode = (uint16_t)it->st.st_mode,
		.uid = it->st.st_uid, .gid = it->st.st_gid,
		.xattr = SQUASHFS_NONE,
		.rdev = sqpack_device(major(it->st.st_rdev),
		    minor(it->st.st_rdev)),
		.size = S_ISREG(it->st.st_mode) ?
		    (uint64_t)it->st.st_size : 0,
	};
	ssize_t n;
	int rc;

	sqpack_adjust(d->p, &attr, it->st.st_mtime);
	if (S_ISLNK(it->st.st_mode)) {
		n = sys_readlinkat(d->root, it->path, target, PATH_MAX);
		if (n < 0)
			return (int)n;
		target[n] = '\0';
		attr.target = target;
		attr.size = (uint64_t)n;
	}
	rc = has_xattrs ? dir_add_xattrs(d, it->path, &attr.xattr) : 0;
	if (rc == 0)
		rc = sqw_tree_add(&d->p->tree, it->path, &attr, id);
	if (rc == 0)
		d->changed_ns[*id] = dir_changed_ns(&it->st);
	return rc;
}

/* Whether a parent directory was omitted, too. */
static bool
is_out(struct dir *d, const struct fs_item *it)
{
	char path[PATH_MAX];
	size_t len = strlen(it->path);

	if (d->p->o.exclude_count == 0 || len == 0 || len >= sizeof(path))
		return false;
	memcpy(path, it->path, len + 1);
	for (;;) {
		char *slash;

		if (sqpack_excluded(d->p, path))
			return true;
		slash = strrchr(path, '/');
		if (slash == NULL)
			return false;
		*slash = '\0';
	}
}

uint64_t
dir_changed_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000 +
	    (uint64_t)st->st_mtim.tv_nsec;
}

int
dir_trouble(struct dir *d, const char *path, int rc)
{
	progress_erase(&d->p->progress);
	msg_error(&d->p->msg, "%s/%s: %s", d->p->o.source, path,
	    rc == -EAGAIN ? "changed while it was read" : strerror(-rc));
	return d->p->o.keep_going && rc != -ENOMEM ? 0 : rc;
}

int
dir_fill_tree(struct dir *d, const struct fs_list *list)
{
	struct linked *linked = sys_calloc(list->count + 1, sizeof(*linked));
	bool *has_xattrs = NULL;
	size_t links = 0;
	int rc;

	d->changed_ns = sys_calloc(list->count + 1, sizeof(*d->changed_ns));
	rc = linked == NULL || d->changed_ns == NULL ? -ENOMEM : 0;
	if (rc == 0 && d->p->xattrs != NULL)
		rc = dir_find_xattrs(d, list, &has_xattrs);
	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		const struct fs_item *it = &list->items[i];
		uint32_t id = 0;

		if (is_out(d, it))
			continue;
		rc = it->err != 0 ? it->err : add_item(d, it,
		    has_xattrs != NULL && has_xattrs[i], &id);
		if (rc != 0) {
			int left = dir_trouble(d, it->path, rc);

			/* what is below it would be in a made-up one */
			rc = it->err == 0 && S_ISDIR(it->st.st_mode) &&
			    rc != -ENOENT ? rc : left;
			continue;
		}
		if (S_ISREG(it->st.st_mode))
			d->p->total_B += (uint64_t)it->st.st_size;
		if (!S_ISDIR(it->st.st_mode) && it->st.st_nlink > 1)
			linked[links++] = (struct linked){ it->st.st_dev,
				it->st.st_ino, id };
	}
	if (rc == 0)
		link_all(d, linked, links);
	sys_free(linked);
	sys_free(has_xattrs);
	return rc;
}
