/*
 * sqpack_dir_list.c - adding the contents of a directory to an image's tree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_dir.h"

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

/* Adds an item below the directory `at`, under a path of the image. */
static int
add_item(struct dir *d, int at, const struct fs_item *it, const char *path,
    bool has_xattrs, uint32_t *id)
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
		n = sys_readlinkat(at, it->path, target, PATH_MAX);
		if (n < 0)
			return (int)n;
		target[n] = '\0';
		attr.target = target;
		attr.size = (uint64_t)n;
	}
	rc = has_xattrs ? dir_add_xattrs(d, at, it->path, &attr.xattr) : 0;
	if (rc == 0)
		rc = sqw_tree_add(&d->p->tree, path, &attr, id);
	if (rc == 0)
		d->changed_ns[*id] = dir_changed_ns(&it->st);
	return rc;
}

/* Returns whether an item or one of its parent directories is excluded. */
static bool
is_out(struct dir *d, const struct fs_item *it, const char *image_path)
{
	const struct sqpack_options *o = &d->p->o;
	char path[PATH_MAX];
	size_t len = strlen(image_path);

	if (len == 0 || len >= sizeof(path))
		return false;
	if (o->left_out != NULL && o->left_out(d->p, image_path, &it->st))
		return true;
	if (o->exclude_count == 0)
		return false;
	memcpy(path, image_path, len + 1);
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
	bool several = d->p->o.input_count > 0;

	progress_erase(&d->p->progress);
	msg_error(&d->p->msg, "%s%s%s: %s", several ? "" : d->p->o.source,
	    several ? "" : "/", path, rc == -EAGAIN ?
	    "changed while it was being read" : strerror(-rc));
	return d->p->o.keep_going && rc != -ENOMEM ? 0 : rc;
}

struct fill {
	struct dir *d;
	struct linked *linked;
	size_t links;
};

static int
take_item(struct fill *f, int at, const struct fs_item *it, const char *path,
    bool has_xattrs)
{
	struct sqpack *p = f->d->p;
	uint32_t id = 0;
	int rc;

	if (is_out(f->d, it, path))
		return 0;
	rc = it->err != 0 ? it->err : add_item(f->d, at, it, path,
	    has_xattrs, &id);
	if (rc != 0) {
		int left = dir_trouble(f->d, path, rc);

		/*
		 * its contents would otherwise be placed in a directory with
		 * default attributes
		 */
		return it->err == 0 && S_ISDIR(it->st.st_mode) &&
		    rc != -ENOENT ? rc : left;
	}
	if (S_ISREG(it->st.st_mode))
		p->total_B += (uint64_t)it->st.st_size;
	if (!S_ISDIR(it->st.st_mode) && it->st.st_nlink > 1 && !p->o.no_links)
		f->linked[f->links++] = (struct linked){ it->st.st_dev,
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
name_of(const struct dir *d, unsigned root)
{
	const struct sqpack_input *in = d->p->o.inputs;

	if (d->p->o.input_count == 0)
		return "";
	while (!in->is_dir || root-- > 0)
		in++;
	return in->name;
}

/* Adds a source that is not a directory. */
static int
take_single(struct fill *f, const struct sqpack_input *in)
{
	char path[PATH_MAX + 1];
	struct fs_item it = { .path = path };
	int rc;

	if (snprintf(path, sizeof(path), "%s", in->real) >= PATH_MAX)
		return dir_trouble(f->d, in->path, -ENAMETOOLONG);
	rc = sys_fstatat(f->d->root, path, &it.st, AT_SYMLINK_NOFOLLOW);
	return rc != 0 ? dir_trouble(f->d, in->path, rc) :
	    take_item(f, f->d->root, &it, in->name, f->d->p->xattrs != NULL);
}

int
dir_fill_tree(struct dir *d, const struct fs_list *list)
{
	struct sqpack_options *o = &d->p->o;
	size_t most = list->count + o->input_count + 1;
	struct fill f = { .d = d, .linked = sys_calloc(most,
	    sizeof(*f.linked)) };
	char path[PATH_MAX];
	bool *has_xattrs = NULL;
	int rc;

	d->changed_ns = sys_calloc(most, sizeof(*d->changed_ns));
	rc = f.linked == NULL || d->changed_ns == NULL ? -ENOMEM : 0;
	if (rc == 0 && d->p->xattrs != NULL)
		rc = dir_find_xattrs(d, list, &has_xattrs);
	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		const struct fs_item *it = &list->items[i];

		rc = image_path(path, name_of(d, it->root), it);
		rc = rc != 0 ? dir_trouble(d, it->path, rc) :
		    take_item(&f, list->roots[it->root], it, path,
		    has_xattrs != NULL && has_xattrs[i]);
	}
	for (size_t k = 0; rc == 0 && k < o->input_count; k++)
		if (!o->inputs[k].is_dir)
			rc = take_single(&f, &o->inputs[k]);
	if (rc == 0)
		link_all(d, f.linked, f.links);
	sys_free(f.linked);
	sys_free(has_xattrs);
	return rc;
}

int
dir_list_inputs(struct dir *d, struct fs_list *list)
{
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < d->p->o.input_count; k++) {
		const struct sqpack_input *in = &d->p->o.inputs[k];

		if (!in->is_dir)
			continue;
		rc = sys_openat(AT_FDCWD, in->path,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		if (rc >= 0)
			rc = fs_list_add(list, rc, d->p->o.data.threads);
		if (rc != 0)
			msg_error(&d->p->msg, "%s: %s", in->path,
			    strerror(-rc));
	}
	return rc;
}

const struct sqpack_input *
dir_input(const struct dir *d, const char *path)
{
	const struct sqpack_input *in = d->p->o.inputs;
	size_t len = strcspn(path, "/");

	while (strlen(in->name) != len || memcmp(in->name, path, len) != 0)
		in++;
	return in;
}
