/*
 * imgsrc_dir.c - a directory as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The names are listed first.  It is an error if a file changes before its last
 * byte has been read, because the image would contain data that never existed
 * in that form.
 */
#include "imgsrc_order.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/hole.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/source/imgsrc.h"
#include "image/squashfs/format.h"
#include "walk/fs_list.h"
#include "walk/walk_trail.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { WINDOW = 512, BATCH = 64, CLAIM = 8, READERS_MAX = 64 };

#define BUDGET (UINT64_C(16) << 20)

/* A file that was opened, and read unless it is large, ahead of use. */
struct file_ahead {
	bool done;
	int rc;				/* 0, or -errno from opening or reading
					 * it */
	int fd;				/* descriptor of a large file; otherwise
					 * -1 */
	uint64_t base;			/* where the file begins in it */
	bool fixed;			/* it cannot change */
	uint8_t *data;			/* contents of a small file */
	struct stat st;			/* status when it was opened */
};

struct buffer {
	char *text;
	size_t room;
};

/* A directory.  The sizes are used to find files that can have duplicates. */
struct imgsrc_dir {
	struct imgsrc_image *to;
	int root;
	uint64_t *sizes;		/* files with blocks, ascending */
	size_t size_count;
	uint64_t *changed_ns;		/* change times at the time of listing,
					 * by node id */
	size_t listed;			/* number of node ids then */
	uint32_t *files;		/* nodes with data, in order */
	size_t file_count;
	size_t group, ends[2];		/* for --order: ends of the first files
					 * and the rest */
	struct buffer path, renamed_path;
	struct walk_trail trail;	/* while names are added */
	struct renamed *renamed;	/* names in the root that were taken by
					 * the image that is added to */
	size_t renamed_count, renamed_cap;
	struct linked *linked;		/* names of inodes with several links */
	size_t links;
	/*
	 * Reading ahead.  File number k uses slot k modulo WINDOW.  Threads
	 * claim CLAIM files at a time, in order, so that they seldom wait for
	 * the lock.  They wait while the slots are in use, or while BUDGET
	 * bytes have been read ahead, unless the next file to be used is among
	 * theirs, so the consumer always makes progress.
	 *
	 * Waking a thread costs more than reading a small file.  Therefore the
	 * consumer wakes waiting threads only after every BATCH files, and when
	 * it has to wait itself.
	 */
	pthread_t threads[READERS_MAX];
	unsigned started;
	pthread_mutex_t lock;		/* protects the rest, except that only
					 * the consumer changes next */
	pthread_cond_t ready, room;
	struct file_ahead slots[WINDOW];
	size_t claimed;			/* files so far */
	uint64_t ahead_B;		/* bytes read ahead */
	bool stop;
	/* the current file */
	size_t next;			/* index in files, plus 1 */
	bool left_out;			/* a file was omitted while reading */
	const struct file_ahead *file;
	uint64_t offset;
};

/* Extended attributes */

enum { PROC_PATH_MAX = PATH_MAX + 64, CHUNK = 256 };

/*
 * Returns a path via /proc, because only recent kernels accept a directory
 * descriptor and a relative path.
 */
static int
proc_path(int at, const char *path, char proc[PROC_PATH_MAX])
{
	return snprintf(proc, PROC_PATH_MAX, "/proc/self/fd/%d/%s", at,
	    *path == '\0' ? "." : path) >= PROC_PATH_MAX ?
	    -ENAMETOOLONG : 0;
}

/*
 * Lists the names of a path's attributes.  The system call is three times as
 * fast as access via /proc.
 */
static ssize_t
list_xattrs(int at, const char *path, char *names, size_t len)
{
	char proc[PROC_PATH_MAX];
	ssize_t n = sys_listxattrat(at, *path == '\0' ? "." : path, names, len);
	int rc;

	/* a system call filter may return EPERM */
	if (n != -ENOSYS && n != -EPERM)
		return n;
	rc = proc_path(at, path, proc);
	return rc != 0 ? rc : sys_llistxattr(proc, names, len);
}

/*
 * Adds the extended attributes of a path below the directory `at` to the image,
 * omitting those that the format does not support.  *index identifies the set.
 * Returns 0 or -errno.
 */
static int
add_xattrs(struct imgsrc_dir *d, int at, const char *path, uint32_t *index)
{
	char proc[PROC_PATH_MAX], names[64 << 10], value[64 << 10];
	struct sqt_xattrs *to = d->to->xattrs;
	ssize_t n;
	int rc;

	*index = SQUASHFS_NONE;
	n = list_xattrs(at, path, names, sizeof(names));
	if (n <= 0)
		return n == 0 || n == -ENOTSUP ? 0 : (int)n;
	rc = proc_path(at, path, proc);
	if (rc == 0)
		rc = sqt_xattrs_begin(to);
	for (ssize_t i = 0; rc == 0 && i < n;
	    i += (ssize_t)strlen(names + i) + 1) {
		const char *name = names + i;
		ssize_t len = sys_lgetxattr(proc, name, value, sizeof(value));

		if (len == -ENODATA || (d->to->o.wants_xattr != NULL &&
		    !d->to->o.wants_xattr(d->to->o.arg, name)))
			continue;
		rc = len < 0 ? (int)len :
		    sqt_xattrs_add(to, name, value, (size_t)len);
		if (len >= 0 && rc == -ENOTSUP) {
			imgsrc_tell(d->to, IMGSRC_WARNING, "%s: attribute %s "
			    "omitted: squashfs supports only user, trusted and "
			    "security", proc, name);
			rc = 0;
		}
	}
	return rc != 0 ? rc : sqt_xattrs_end(to, index);
}

/* A search, in which threads claim chunks of the list. */
struct xattr_search {
	const struct fs_list *list;
	bool *has;			/* by item: it may have attributes */
	atomic_size_t next;
};

static void
search_xattrs(void *arg, unsigned thread)
{
	struct xattr_search *s = arg;
	struct walk_trail trail = { .count = 0 };
	struct fs_path p = { .s = NULL };
	size_t i;

	(void)thread;
	while ((i = atomic_fetch_add(&s->next, CHUNK)) < s->list->count)
		for (size_t end = i + CHUNK; i < end && i < s->list->count;
		    i++) {
			const struct fs_item *it = &s->list->items[i];
			const char *path = fs_list_path(s->list, i, &p);
			int at = path == NULL ? -ENOMEM : walk_trail_reach(
			    &trail, s->list->roots[it->root], &path);
			ssize_t n = at < 0 ? at :
			    list_xattrs(at, path, NULL, 0);

			/*
			 * the error will occur again, and be reported, when the
			 * item is processed
			 */
			s->has[i] = n != 0 && n != -ENOTSUP;
		}
	sys_free(p.s);
	walk_trail_close(&trail);
}

/* Names */

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

/*
 * Returns 1 if an item or one of its parent directories is excluded, 0 if not,
 * or -ENOMEM.
 */
static int
is_left_out(const struct imgsrc_dir *d, const struct stat *st,
    const char *image_path)
{
	const struct imgsrc_options *o = &d->to->o;
	bool excluded = false;
	char *path, *slash;
	int rc;

	if (*image_path == '\0')
		return 0;
	rc = o->left_out == NULL ? 0 : o->left_out(o->arg, image_path, st);
	if (rc != 0 || o->exclude_count == 0)
		return rc;
	path = strcopy(image_path);
	if (path == NULL)
		return -ENOMEM;
	for (;;) {
		excluded = imgsrc_excluded(d->to, path);
		slash = strrchr(path, '/');
		if (excluded || slash == NULL)
			break;
		*slash = '\0';
	}
	sys_free(path);
	return excluded;
}

/*
 * Returns the change time of a file in nanoseconds; dates out of range wrap
 * around.
 */
static uint64_t
changed_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000 +
	    (uint64_t)st->st_mtim.tv_nsec;
}

/*
 * Reports an error for a path in the directory.  Returns 0 if the path may be
 * omitted (to->o.keep_going), otherwise rc.
 */
static int
dir_trouble(struct imgsrc_dir *d, const char *path, int rc)
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

/* A name in the root, and what it is called in the image. */
struct renamed {
	char *from, *to;
};

/* Returns what a path begins with in the image, or NULL if that is the same. */
static const struct renamed *
find_renamed(const struct imgsrc_dir *d, const char *path, bool back)
{
	size_t len = strcspn(path, "/");

	for (size_t i = 0; i < d->renamed_count; i++) {
		const struct renamed *r = &d->renamed[i];
		const char *name = back ? r->to : r->from;

		if (strncmp(name, path, len) == 0 && name[len] == '\0')
			return r;
	}
	return NULL;
}

/*
 * Chooses a name in the root for one that the image that is added to may have:
 * the base with the first number that is free.
 */
static int
rename_taken(struct imgsrc_dir *d, const char *name, const char *base)
{
	size_t room = strlen(base) + 24;
	void *items = d->renamed;
	struct renamed r;
	uint32_t id;
	int rc;

	id = sqw_tree_find(&d->to->tree, name);
	/* a source that keeps its path may have made the directory before */
	if (id == SQW_NOWHERE || (d->to->o.top_count < d->to->o.input_count &&
	    !imgsrc_is_kept(d->to, id)))
		return 0;
	rc = array_grow(&items, d->renamed_count, &d->renamed_cap, sizeof(r));
	d->renamed = items;
	if (rc != 0)
		return rc;
	r = (struct renamed){ strcopy(name), sys_malloc(room) };
	if (r.from == NULL || r.to == NULL) {
		sys_free(r.from);
		sys_free(r.to);
		return -ENOMEM;
	}
	for (unsigned k = 1; ; k++) {
		snprintf(r.to, room, "%s_%u", base, k);
		if (sqw_tree_find(&d->to->tree, r.to) == SQW_NOWHERE)
			break;
	}
	imgsrc_tell(d->to, IMGSRC_WARNING, "%s: the image has this name "
	    "already; added as %s", name, r.to);
	d->renamed[d->renamed_count++] = r;
	return 0;
}

/* Writes the concatenation to a buffer.  Returns 0 or -ENOMEM. */
static int
join(struct buffer *b, const char *x, const char *y, const char *z)
{
	size_t want = strlen(x) + strlen(y) + strlen(z) + 1;

	if (want > b->room) {
		char *text = sys_realloc(b->text, 2 * want);

		if (text == NULL)
			return -ENOMEM;
		b->text = text;
		b->room = 2 * want;
	}
	snprintf(b->text, b->room, "%s%s%s", x, y, z);
	return 0;
}

/* Sets *path to the path in the image for an item of the source. */
static int
image_path(struct imgsrc_dir *d, const char **path)
{
	const struct imgsrc_options *o = &d->to->o;
	const struct renamed *r;
	const char *base = *path;
	int rc = 0;

	if (o->append == NULL || **path == '\0')
		return 0;
	if (strchr(*path, '/') == NULL) {
		/* sources with equal names have numbers already */
		for (size_t k = 0; k < o->top_count; k++)
			if (strcmp(o->inputs[k].name, *path) == 0)
				base = path_name(o->inputs[k].real);
		rc = rename_taken(d, *path, base);
	}
	r = rc == 0 ? find_renamed(d, *path, false) : NULL;
	if (r == NULL)
		return rc;
	rc = join(&d->renamed_path, r->to, "", *path + strlen(r->from));
	*path = d->renamed_path.text;
	return rc;
}

/*
 * Adds an item, which is called `name` in the directory `at`, under a path of
 * the image.  err is 0, or -errno if it could not be examined.
 */
static int
list_item(struct imgsrc_dir *d, int at, const char *name,
    const struct stat *st, int err, const char *path, bool has_xattrs)
{
	struct imgsrc_image *to = d->to;
	char target[PATH_MAX + 1];
	struct sqw_attr attr = {
		.mode = (uint16_t)st->st_mode,
		.uid = st->st_uid, .gid = st->st_gid,
		.xattr = SQUASHFS_NONE,
		.rdev = squashfs_device(major(st->st_rdev),
		    minor(st->st_rdev)),
		.size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
	};
	uint32_t id;
	ssize_t n;
	int rc, left = is_left_out(d, st, path);

	if (left > 0)
		return 0;
	rc = left < 0 ? left : err;
	if (rc == 0)
		rc = image_path(d, &path);
	if (rc != 0)
		goto trouble;
	imgsrc_adjust(to, &attr, st->st_mtime);
	if (S_ISLNK(st->st_mode)) {
		n = sys_readlinkat(at, name, target, PATH_MAX);
		rc = n < 0 ? (int)n : 0;
		if (rc != 0)
			goto trouble;
		target[n] = '\0';
		attr.target = target;
		attr.size = (uint64_t)n;
	}
	if (has_xattrs)
		rc = add_xattrs(d, at, name, &attr.xattr);
	if (rc == 0)
		rc = sqw_tree_add(&to->tree, path, &attr, &id);
	if (rc != 0)
		goto trouble;
	d->changed_ns[id] = changed_ns(st);
	if (S_ISREG(st->st_mode))
		to->total_B += (uint64_t)st->st_size;
	/* a source that is given twice has each of its files twice */
	if (!S_ISDIR(st->st_mode) && !to->o.no_links &&
	    (st->st_nlink > 1 || to->o.input_count > 1))
		d->linked[d->links++] = (struct linked){ st->st_dev,
			st->st_ino, id };
	return 0;
trouble:
	left = dir_trouble(d, path, rc);
	/*
	 * without the directory, its contents would be placed in one with
	 * default attributes
	 */
	if (err == 0 && S_ISDIR(st->st_mode) && rc != -ENOENT) {
		to->told = true;
		left = rc;
	}
	return left;
}

/*
 * Adds an item of the list, found at a path that can have any length, under a
 * path of the image.
 */
static int
list_deep(struct imgsrc_dir *d, int root, const struct fs_item *it,
    const char *from, const char *path, bool has_xattrs)
{
	const struct stat st = fs_item_stat(it);
	const char *name = from;
	int at = walk_trail_reach(&d->trail, root, &name);

	return at < 0 ? dir_trouble(d, from, at) :
	    list_item(d, at, name, &st, it->err, path, has_xattrs);
}

/* Adds the listed names to the tree, with hard links.  Returns 0 or -errno. */
static int
fill_tree(struct imgsrc_dir *d, const struct fs_list *list)
{
	const struct imgsrc_options *o = &d->to->o;
	size_t most = d->to->tree.count + list->count + o->input_count + 1;
	struct xattr_search s = { .list = list };
	struct fs_path from = { .s = NULL };
	char real[PATH_MAX + 1];
	int rc = -ENOMEM;

	d->linked = sys_calloc(most, sizeof(*d->linked));
	d->changed_ns = sys_calloc(most, sizeof(*d->changed_ns));
	if (d->linked == NULL || d->changed_ns == NULL)
		return -ENOMEM;
	if (d->to->xattrs != NULL) {
		s.has = sys_malloc(most * sizeof(*s.has));
		if (s.has == NULL)
			return -ENOMEM;
		/* in a short list, each item is checked when it is processed */
		if (list->count < CHUNK)
			memset(s.has, true, list->count);
		else
			parallel_run(d->to->pack.threads, search_xattrs, &s);
	}
	for (size_t k = 0; k < o->input_count; k++) {
		const struct imgsrc_input *in = &o->inputs[k];
		struct stat st;

		if (in->is_dir)
			continue;
		rc = snprintf(real, sizeof(real), "%s", *in->real == '\0' ?
		    "." : in->real) < PATH_MAX ? sys_fstatat(d->root, real,
		    &st, AT_SYMLINK_NOFOLLOW) : -ENAMETOOLONG;
		rc = rc != 0 ? dir_trouble(d, in->path, rc) : list_item(d,
		    d->root, real, &st, 0, in->name, d->to->xattrs != NULL);
		if (rc != 0)
			goto out;
	}
	for (size_t i = 0; i < list->count; i++) {
		const struct fs_item *it = &list->items[i];
		const struct imgsrc_input *in = o->inputs;
		const char *name = "", *path = fs_list_path(list, i, &from);

		/* the source that is directory number `root` */
		if (o->input_count > 0) {
			for (unsigned k = it->root; !in->is_dir || k-- > 0;)
				in++;
			name = in->name;
		}
		rc = path == NULL ? -ENOMEM : join(&d->path, name,
		    *name == '\0' || *path == '\0' ? "" : "/", path);
		if (rc == 0)
			rc = list_deep(d, list->roots[it->root], it, path,
			    d->path.text, s.has != NULL && s.has[i]);
		if (rc != 0)
			goto out;
	}
	qsort(d->linked, d->links, sizeof(*d->linked), by_linked_inode);
	for (size_t i = 1; i < d->links; i++) {
		const struct linked *l = &d->linked[i];

		if (l->dev == l[-1].dev && l->ino == l[-1].ino)
			sqw_tree_link(&d->to->tree, l->id, l[-1].id);
	}
	rc = 0;
out:
	walk_trail_close(&d->trail);
	sys_free(from.s);
	sys_free(s.has);
	return rc;
}

/* Files */

static int
by_twin_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns the key for finding possible duplicates; see data.h. */
static uint64_t
key_of(const struct imgsrc_dir *d, uint64_t size)
{
	uint32_t block = d->to->pack.block;

	return d->to->pack.exact ? (size - 1) / block : size;
}

/* Gives a path in the image the name that it has in the source. */
static int
restore_name(const struct imgsrc_dir *d, char **text, size_t *room)
{
	const struct renamed *r = find_renamed(d, *text, true);
	size_t from, rest, to;
	char *p;

	if (r == NULL)
		return 0;
	to = strlen(r->to);
	from = strlen(r->from);
	rest = strlen(*text) - to + 1;
	if (from + rest > *room) {
		p = sys_realloc(*text, from + rest);
		if (p == NULL)
			return -ENOMEM;
		*text = p;
		*room = from + rest;
	}
	memmove(*text + from, *text + to, rest);
	memcpy(*text, r->from, from);
	return 0;
}

/*
 * Writes the path of file i, absolute if there are several sources, to *text, a
 * buffer of *room bytes that is enlarged with sys_realloc(), and sets *size.
 * Returns 0 or -ENOMEM.
 */
static int
path_of_file(const struct imgsrc_dir *d, size_t i, char **text, size_t *room,
    uint64_t *size)
{
	const struct imgsrc_input *in = d->to->o.inputs, *end;
	int rc = sqw_tree_path(&d->to->tree, d->files[i], text, room);
	size_t skip, real, rest;
	char *p;

	*size = d->to->tree.nodes[d->files[i]].attr.size;
	if (rc == 0 && d->renamed_count > 0)
		rc = restore_name(d, text, room);
	if (rc != 0 || d->to->o.input_count == 0)
		return rc;
	p = *text;
	skip = strcspn(p, "/");
	end = in + d->to->o.top_count;
	while (in < end && (strlen(in->name) != skip ||
	    memcmp(in->name, p, skip) != 0))
		in++;
	if (in == end)			/* a pseudo file */
		return 0;
	real = strlen(in->real);
	rest = strlen(p) - skip + 1;
	if (real + rest > *room) {
		p = sys_realloc(*text, real + rest);
		if (p == NULL)
			return -ENOMEM;
		*text = p;
		*room = real + rest;
	}
	memmove(p + real, p + skip, rest);
	memcpy(p, in->real, real);
	return 0;
}

/* Returns whether a file has not been written to meanwhile. */
static bool
is_same(const struct stat *was, const struct stat *is)
{
	return was->st_size == is->st_size &&
	    was->st_mtim.tv_sec == is->st_mtim.tv_sec &&
	    was->st_mtim.tv_nsec == is->st_mtim.tv_nsec;
}

/*
 * Opens a file, and reads it unless it is large.  c is its content, if that is
 * not in the directory.
 */
static void
open_ahead(const struct imgsrc_dir *d, struct walk_trail *trail,
    const char *path, uint64_t size, const struct imgsrc_content *c,
    struct file_ahead *f)
{
	struct stat was;
	ssize_t n = 0;

	if (c != NULL && c->path != NULL) {
		f->fd = sys_openat(AT_FDCWD, c->path, O_RDONLY | O_CLOEXEC, 0);
	} else if (c != NULL) {
		f->fd = sys_dup(c->fd);
		f->fixed = true;
		f->base = c->at;
	} else {
		f->fd = walk_trail_open(trail, d->root, path, 0);
	}
	if (f->fd < 0) {
		f->rc = f->fd;
		return;
	}
	/*
	 * a small file is examined after its last byte has been read, which
	 * shows whether it has changed since it was listed; one that was not
	 * listed, before that as well
	 */
	if (c != NULL && !f->fixed)
		f->rc = sys_fstat(f->fd, &was);
	if (size < d->to->pack.block) {
		f->data = sys_malloc((size_t)size);
		n = f->data == NULL ? -ENOMEM : fdio_pread(f->fd, f->data,
		    (size_t)size, (off_t)f->base);
	}
	if (f->rc == 0)
		f->rc = sys_fstat(f->fd, &f->st);
	if (f->rc == 0 && c != NULL && !f->fixed && !is_same(&was, &f->st))
		f->rc = -EAGAIN;
	if (f->rc == 0 && f->fixed) {
		if (f->base + size > (uint64_t)f->st.st_size)
			f->rc = -ENODATA;
		f->st.st_size = (off_t)size;
		f->st.st_blocks = c->dense ? ((off_t)size + 511) / 512 : 0;
	}
	if (f->rc == 0 && (!S_ISREG(f->st.st_mode) ||
	    (uint64_t)f->st.st_size != size))
		f->rc = -EAGAIN;
	if (f->rc == 0 && size < d->to->pack.block && n < (ssize_t)size)
		f->rc = n < 0 ? (int)n : -EAGAIN;
	if (f->rc == 0 && size >= d->to->pack.block)
		return;
	if (f->rc != 0) {
		sys_free(f->data);
		f->data = NULL;
	}
	sys_close(f->fd);
	f->fd = -1;
}

static void
drop_file(struct file_ahead *f)
{
	if (f->fd >= 0)
		sys_close(f->fd);
	sys_free(f->data);
	*f = (struct file_ahead){ .fd = -1 };
}

static void *
read_ahead(void *arg)
{
	struct imgsrc_dir *d = arg;
	struct walk_trail trail = { .count = 0 };
	struct file_ahead files[CLAIM];
	char *path = NULL;
	size_t room = 0, from, to;
	uint64_t size, bytes;

	pthread_mutex_lock(&d->lock);
	while (d->claimed < d->file_count && !d->stop) {
		from = d->claimed;
		to = d->file_count - from < CLAIM ? d->file_count :
		    from + CLAIM;
		d->claimed = to;
		while (!d->stop && (to >= d->next + WINDOW ||
		    (from > d->next && d->ahead_B > BUDGET)))
			pthread_cond_wait(&d->room, &d->lock);
		if (d->stop)
			break;
		pthread_mutex_unlock(&d->lock);
		bytes = 0;
		for (size_t i = from; i < to; i++) {
			struct file_ahead *f = &files[i - from];

			*f = (struct file_ahead){ .fd = -1, .done = true,
				.rc = path_of_file(d, i, &path, &room,
				&size) };
			if (f->rc == 0)
				open_ahead(d, &trail, path, size,
				    imgsrc_content_of(d->to,
				    d->to->tree.nodes[d->files[i]].id), f);
			bytes += f->data != NULL ? size : 0;
		}
		pthread_mutex_lock(&d->lock);
		d->ahead_B += bytes;
		for (size_t i = from; i < to; i++)
			d->slots[i % WINDOW] = files[i - from];
		if (from <= d->next && d->next < to)
			pthread_cond_signal(&d->ready);
	}
	pthread_mutex_unlock(&d->lock);
	walk_trail_close(&trail);
	sys_free(path);
	return NULL;
}

/*
 * Reports an error for the current file.  Returns -ECANCELED if it is to be
 * omitted.
 */
static int
file_trouble(struct imgsrc_dir *d, int rc)
{
	uint32_t node = d->files[d->next - 1];
	char *path = NULL;
	size_t room = 0;
	uint64_t size;

	if (path_of_file(d, d->next - 1, &path, &room, &size) == 0)
		rc = dir_trouble(d, path, rc);
	else
		rc = dir_trouble(d, "", rc);
	sys_free(path);
	if (rc != 0)
		return rc;
	d->to->tree.nodes[node].attr.mode = 0;
	d->left_out = true;
	return -ECANCELED;
}

static int
dir_next(void *arg, struct sqw_file *to)
{
	struct imgsrc_dir *d = arg;
	const struct sqw_node *n;
	struct file_ahead *f;
	const uint64_t *p, *end = d->sizes + d->size_count;
	uint64_t key;
	int rc;

	/* opens the next file, which must be the one that was listed */
	do {
		if (d->next == d->file_count)
			return 0;
		if (d->to->order != NULL && !d->to->o.order_backwards &&
		    d->group < 2 &&
		    d->next == d->ends[d->group]) {
			d->group++;
			return 2;
		}
		pthread_mutex_lock(&d->lock);
		if (d->next > 0) {	/* the previous file is used up */
			f = &d->slots[(d->next - 1) % WINDOW];
			d->ahead_B -= f->data != NULL ?
			    (uint64_t)f->st.st_size : 0;
			drop_file(f);
		}
		f = &d->slots[d->next % WINDOW];
		if (d->next % BATCH == 0 || !f->done)
			pthread_cond_broadcast(&d->room);
		while (!f->done)
			pthread_cond_wait(&d->ready, &d->lock);
		n = &d->to->tree.nodes[d->files[d->next++]];
		pthread_mutex_unlock(&d->lock);
		d->file = f;
		rc = f->rc;
		/* other files have been checked for their size only */
		if (rc == 0 && n->id < d->listed &&
		    changed_ns(&d->file->st) != d->changed_ns[n->id])
			rc = -EAGAIN;
		if (rc != 0)
			rc = file_trouble(d, rc);
	} while (rc == -ECANCELED);
	if (rc != 0)
		return rc;
	d->offset = 0;
	to->id = n->id;
	to->size = n->attr.size;
	to->raw = n->attr.raw;
	to->alone = false;
	/* a tail may be shared, whatever the size of the file */
	if (to->size >= d->to->pack.block && !d->to->pack.tails) {
		key = key_of(d, to->size);
		p = bsearch(&key, d->sizes, d->size_count, sizeof(*d->sizes),
		    by_twin_key);
		to->alone = p == NULL || ((p == d->sizes || p[-1] != key) &&
		    (p + 1 == end || p[1] != key));
	}
	to->dense = d->to->pack.exact &&
	    (uint64_t)f->st.st_blocks * 512 >= (uint64_t)f->st.st_size;
	return 1;
}

/*
 * Advances in the current large file, and checks at its end that it is
 * unchanged since it was opened.
 */
static int
advance_large(struct imgsrc_dir *d, uint64_t len)
{
	const struct stat *was = &d->file->st;
	struct stat st;

	d->offset += len;
	if (d->offset < (uint64_t)was->st_size || d->file->fixed)
		return 0;
	return sys_fstat(d->file->fd, &st) == 0 && is_same(was, &st) ? 0 :
	    -EAGAIN;
}

static int64_t
dir_skip(void *arg)
{
	struct imgsrc_dir *d = arg;
	const struct stat *st = &d->file->st;
	uint64_t n = d->file->data != NULL || d->file->fixed ? 0 :
	    sqw_hole_blocks(
	    hole_at(d->file->fd, st, d->offset),
	    (uint64_t)st->st_size - d->offset, d->to->pack.block);
	int rc = n == 0 ? 0 : advance_large(d, n);

	return rc != 0 ? file_trouble(d, rc) : (int64_t)n;
}

static int
dir_read(void *arg, void *buf, size_t len)
{
	struct imgsrc_dir *d = arg;
	ssize_t n;
	int rc;

	if (d->file->data != NULL) {
		memcpy(buf, d->file->data + d->offset, len);
		d->offset += len;
		return 0;
	}
	n = fdio_pread(d->file->fd, buf, len, (off_t)(d->file->base +
	    d->offset));
	rc = n < 0 ? (int)n : (size_t)n < len ? -EAGAIN : advance_large(d, len);
	return rc != 0 ? file_trouble(d, rc) : 0;
}

static int
dir_rewind(void *arg)
{
	struct imgsrc_dir *d = arg;

	d->offset = 0;
	return 0;
}

static void
dir_close(void *state)
{
	struct imgsrc_dir *d = state;

	if (d == NULL)
		return;
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_broadcast(&d->room);
	pthread_mutex_unlock(&d->lock);
	while (d->started > 0)
		pthread_join(d->threads[--d->started], NULL);
	for (size_t i = 0; i < WINDOW; i++)
		drop_file(&d->slots[i]);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->ready);
	pthread_cond_destroy(&d->room);
	if (d->root >= 0)
		sys_close(d->root);
	for (size_t i = 0; i < d->renamed_count; i++) {
		sys_free(d->renamed[i].from);
		sys_free(d->renamed[i].to);
	}
	sys_free(d->renamed);
	sys_free(d->path.text);
	sys_free(d->renamed_path.text);
	sys_free(d->linked);
	sys_free(d->changed_ns);
	sys_free(d->sizes);
	sys_free(d->files);
	sys_free(d);
}

static int
dir_open(struct imgsrc_image *to, void **state, struct sqw_source *files)
{
	struct imgsrc_dir *d = sys_calloc(1, sizeof(*d));
	const struct imgsrc_options *o = &to->o;
	const struct sqw_tree *t = &to->tree;
	/* twice as many readers as compressors, because they mostly wait */
	unsigned readers = 2 * to->pack.threads;
	struct fs_list list = { .count = 0 };
	int rc = -ENOMEM, fd;

	*state = d;
	if (d == NULL)
		goto fail;
	d->to = to;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->ready, NULL);
	pthread_cond_init(&d->room, NULL);
	for (size_t i = 0; i < WINDOW; i++)
		d->slots[i].fd = -1;
	*files = (struct sqw_source){ .next = dir_next, .read = dir_read,
		.skip = dir_skip, .rewind = dir_rewind, .arg = d };
	d->root = rc = sys_openat(AT_FDCWD, o->input_count > 0 ||
	    o->no_source ? "/" : o->path,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (rc < 0)
		goto fail;
	if (o->input_count == 0 && !o->no_source) {
		fd = sys_dup(d->root);
		rc = fd < 0 ? fd : fs_list_add(&list, fd, to->pack.threads);
		if (rc != 0)
			goto fail_list;
	}
	for (size_t k = 0; k < o->input_count; k++) {
		if (!o->inputs[k].is_dir)
			continue;
		fd = sys_openat(AT_FDCWD, o->inputs[k].path,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		rc = fd < 0 ? fd : fs_list_add(&list, fd, to->pack.threads);
		if (rc != 0) {
			imgsrc_fail(to, rc, "%s: %s", o->inputs[k].path,
			    strerror(-rc));
			goto fail_list;
		}
	}
	rc = fs_list_end(&list);
	if (rc == 0)
		rc = fill_tree(d, &list);
	fs_list_free(&list);
	d->listed = to->tree.count;
	if (rc == 0)
		rc = imgsrc_complete(to);
	if (rc != 0)
		goto fail;
	rc = -ENOMEM;
	d->sizes = sys_calloc(t->count, sizeof(*d->sizes));
	d->files = sys_calloc(t->count, sizeof(*d->files));
	if (d->sizes == NULL || d->files == NULL)
		goto fail;
	for (uint32_t i = 0; i < t->count; i++) {
		if (!sqw_has_data(t, i))
			continue;
		if (!imgsrc_is_kept(to, t->nodes[i].id))
			d->files[d->file_count++] = i;
		/* without fragments, they also have one block */
		if (t->nodes[i].attr.size >= to->pack.block ||
		    (to->pack.exact && to->pack.no_fragments))
			d->sizes[d->size_count++] = key_of(d,
			    t->nodes[i].attr.size);
	}
	qsort(d->sizes, d->size_count, sizeof(*d->sizes), by_twin_key);
	rc = to->order == NULL ? 0 : imgsrc_order_sort(to, d->files,
	    d->file_count, &d->ends[0], &d->ends[1]);
	while (rc == 0 && d->started < readers && d->started < READERS_MAX) {
		rc = sys_thread(&d->threads[d->started], read_ahead, d);
		d->started += rc == 0;
	}
	/* fewer threads than wanted will do */
	if (d->started > 0)
		return 0;
	goto fail;
fail_list:
	fs_list_free(&list);
fail:
	if (!to->told)
		imgsrc_fail(to, rc, "%s: %s", o->path, strerror(-rc));
	return rc;
}

static int
dir_finish(void *state)
{
	struct imgsrc_dir *d = state;
	struct imgsrc_image *to = d->to;
	int rc = d->left_out ? sqw_tree_prune(&to->tree) : 0;

	return rc == 0 ? 0 : imgsrc_fail(to, rc, "%s: %s", to->o.path,
	    strerror(-rc));
}

const struct imgsrc_source imgsrc_dir = {
	.open = dir_open, .finish = dir_finish, .close = dir_close
};
