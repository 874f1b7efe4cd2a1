/*
 * imgsrc_dir_list.c - adding the contents of a directory to an image's tree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "imgsrc_dir.h"

#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
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
by_linked_inode(const void *a, const void *b)
{
	const struct linked *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void
join_links(struct imgsrc_dir *d, struct linked *l, size_t n)
{
	qsort(l, n, sizeof(*l), by_linked_inode);
	for (size_t i = 1; i < n; i++)
		if (l[i].dev == l[i - 1].dev && l[i].ino == l[i - 1].ino)
			sqw_tree_link(&d->to->tree, l[i].id, l[i - 1].id);
}

/* Adds an item below the directory `at`, under a path of the image. */
static int
add_listed(struct imgsrc_dir *d, int at, const struct fs_item *it,
    const char *path, bool has_xattrs, uint32_t *id)
{
	char target[PATH_MAX + 1];
	struct sqw_attr attr = {
		.mode = (uint16_t)it->st.st_mode,
		.uid = it->st.st_uid, .gid = it->st.st_gid,
		.xattr = SQUASHFS_NONE,
		.rdev = squashfs_device(major(it->st.st_rdev),
		    minor(it->st.st_rdev)),
		.size = S_ISREG(it->st.st_mode) ?
		    (uint64_t)it->st.st_size : 0,
	};
	ssize_t n;
	int rc;

	imgsrc_adjust(d->to, &attr, it->st.st_mtime);
	if (S_ISLNK(it->st.st_mode)) {
		n = sys_readlinkat(at, it->path, target, PATH_MAX);
		if (n < 0)
			return (int)n;
		target[n] = '\0';
		attr.target = target;
		attr.size = (uint64_t)n;
	}
	if (has_xattrs) {
		rc = imgsrc_dir_add_xattrs(d, at, it->path, &attr.xattr);
		if (rc != 0)
			return rc;
	}
	rc = sqw_tree_add(&d->to->tree, path, &attr, id);
	if (rc == 0)
		d->changed_ns[*id] = imgsrc_dir_changed_ns(&it->st);
	return rc;
}

/* Returns whether an item or one of its parent directories is excluded. */
static bool
is_left_out(const struct imgsrc_dir *d, const struct fs_item *it,
    const char *image_path)
{
	const struct imgsrc_options *o = &d->to->o;
	char path[PATH_MAX];
	size_t len = strlen(image_path);

	if (len == 0 || len >= sizeof(path))
		return false;
	if (o->left_out != NULL && o->left_out(o->arg, image_path, &it->st))
		return true;
	if (o->exclude_count == 0)
		return false;
	memcpy(path, image_path, len + 1);
	for (;;) {
		char *slash;

		if (imgsrc_excluded(d->to, path))
			return true;
		slash = strrchr(path, '/');
		if (slash == NULL)
			return false;
		*slash = '\0';
	}
}

uint64_t
imgsrc_dir_changed_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000 +
	    (uint64_t)st->st_mtim.tv_nsec;
}

int
imgsrc_dir_trouble(struct imgsrc_dir *d, const char *path, int rc)
{
	const struct imgsrc_options *o = &d->to->o;
	bool several = o->input_count > 0;

	imgsrc_tell(d->to, IMGSRC_ERROR, "%s%s%s: %s",
	    several ? "" : o->path, several ? "" : "/", path, rc == -EAGAIN ?
	    "changed while it was being read" : strerror(-rc));
	if (o->keep_going && rc != -ENOMEM)
		return 0;
	d->to->told = true;
	return rc;
}

/* The names being listed, and those with several links. */
struct listing {
	struct imgsrc_dir *d;
	struct linked *linked;
	size_t links;
};

static int
list_item(struct listing *l, int at, const struct fs_item *it,
    const char *path, bool has_xattrs)
{
	struct imgsrc_image *to = l->d->to;
	uint32_t id = 0;
	int rc, left;

	if (is_left_out(l->d, it, path))
		return 0;
	rc = it->err != 0 ? it->err : add_listed(l->d, at, it, path,
	    has_xattrs, &id);
	if (rc != 0) {
		left = imgsrc_dir_trouble(l->d, path, rc);
		/*
		 * without the directory, its contents would be placed in one
		 * with default attributes
		 */
		if (it->err == 0 && S_ISDIR(it->st.st_mode) && rc != -ENOENT) {
			to->told = true;
			left = rc;
		}
		return left;
	}
	if (S_ISREG(it->st.st_mode))
		to->total_B += (uint64_t)it->st.st_size;
	if (!S_ISDIR(it->st.st_mode) && it->st.st_nlink > 1 && !to->o.no_links)
		l->linked[l->links++] = (struct linked){ it->st.st_dev,
			it->st.st_ino, id };
	return 0;
}

/*
 * Builds the image path of an item below the directory called `name` in the
 * image.
 */
static int
image_path(char path[PATH_MAX], const char *name, const struct fs_item *it)
{
	int n = snprintf(path, PATH_MAX, "%s%s%s", name, *name == '\0' ||
	    *it->path == '\0' ? "" : "/", it->path);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Returns the name of the source that is directory number `root`. */
static const char *
input_name(const struct imgsrc_dir *d, unsigned root)
{
	const struct imgsrc_input *in = d->to->o.inputs;

	if (d->to->o.input_count == 0)
		return "";
	while (!in->is_dir || root-- > 0)
		in++;
	return in->name;
}

/* Adds a source that is not a directory. */
static int
list_single(struct listing *l, const struct imgsrc_input *in)
{
	struct imgsrc_dir *d = l->d;
	char path[PATH_MAX + 1];
	struct fs_item it = { .path = path };
	int rc;

	if (snprintf(path, sizeof(path), "%s", in->real) >= PATH_MAX)
		return imgsrc_dir_trouble(d, in->path, -ENAMETOOLONG);
	rc = sys_fstatat(d->root, path, &it.st, AT_SYMLINK_NOFOLLOW);
	return rc != 0 ? imgsrc_dir_trouble(d, in->path, rc) :
	    list_item(l, d->root, &it, in->name, d->to->xattrs != NULL);
}

int
imgsrc_dir_fill_tree(struct imgsrc_dir *d, const struct fs_list *list)
{
	const struct imgsrc_options *o = &d->to->o;
	size_t most = list->count + o->input_count + 1;
	struct listing l = { .d = d };
	char path[PATH_MAX];
	bool *has_xattrs = NULL;
	int rc = -ENOMEM;

	l.linked = sys_calloc(most, sizeof(*l.linked));
	d->changed_ns = sys_calloc(most, sizeof(*d->changed_ns));
	if (l.linked == NULL || d->changed_ns == NULL)
		goto out;
	if (d->to->xattrs != NULL) {
		rc = imgsrc_dir_find_xattrs(d, list, &has_xattrs);
		if (rc != 0)
			goto out;
	}
	for (size_t i = 0; i < list->count; i++) {
		const struct fs_item *it = &list->items[i];

		rc = image_path(path, input_name(d, it->root), it);
		if (rc != 0)
			rc = imgsrc_dir_trouble(d, it->path, rc);
		else
			rc = list_item(&l, list->roots[it->root], it, path,
			    has_xattrs != NULL && has_xattrs[i]);
		if (rc != 0)
			goto out;
	}
	for (size_t k = 0; k < o->input_count; k++) {
		rc = o->inputs[k].is_dir ? 0 : list_single(&l, &o->inputs[k]);
		if (rc != 0)
			goto out;
	}
	join_links(d, l.linked, l.links);
	rc = 0;
out:
	sys_free(l.linked);
	sys_free(has_xattrs);
	return rc;
}

int
imgsrc_dir_list_inputs(struct imgsrc_dir *d, struct fs_list *list)
{
	for (size_t k = 0; k < d->to->o.input_count; k++) {
		const struct imgsrc_input *in = &d->to->o.inputs[k];
		int rc;

		if (!in->is_dir)
			continue;
		rc = sys_openat(AT_FDCWD, in->path,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		if (rc >= 0)
			rc = fs_list_add(list, rc, d->to->pack.threads);
		if (rc != 0)
			return imgsrc_fail(d->to, rc, "%s: %s", in->path,
			    strerror(-rc));
	}
	return 0;
}

const struct imgsrc_input *
imgsrc_dir_input(const struct imgsrc_dir *d, const char *path)
{
	const struct imgsrc_input *in = d->to->o.inputs;
	size_t len = strcspn(path, "/");

	while (strlen(in->name) != len || memcmp(in->name, path, len) != 0)
		in++;
	return in;
}
