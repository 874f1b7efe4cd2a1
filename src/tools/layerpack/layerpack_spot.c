/*
 * layerpack_spot.c - creating the entries of a layer below a directory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The directory of an entry is opened from the root of the extraction without
 * following symbolic links, and the name itself is not followed either.
 * Nothing is therefore created outside the root, regardless of the contents of
 * the layer, even if another process changes the directories in the meantime.
 */
#include "layerpack_extract.h"

#include "base/path.h"
#include "base/strcopy.h"
#include "base/sys.h"
#include "image/oci/whiteout.h"
#include "walk/node.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

void
spot_open(struct spot *s, struct extract *x)
{
	*s = (struct spot){ .x = x, .fd = -1 };
}

void
spot_close(struct spot *s)
{
	if (s->fd >= 0)
		sys_close(s->fd);
	s->fd = -1;
}

/* Returns the length of the part before the name, without the slash. */
static size_t
dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (size_t)(slash - path);
}

/* Opens the directory named by the first len bytes of path. */
static int
open_dir(struct spot *s, const char *path, size_t len)
{
	char *copy;
	int fd;

	if (len == 0)
		return sys_dup(s->x->root);
	copy = strcopy_part(path, len);
	if (copy == NULL)
		return -ENOMEM;
	fd = tree_open(s->x->root, copy, O_DIRECTORY);
	sys_free(copy);
	return fd;
}

static int
set_name(struct spot *s, const char *name)
{
	if (strlen(name) >= sizeof(s->name))
		return -ENAMETOOLONG;
	strcpy(s->name, name);
	return 0;
}

/* Creates the missing directories of a path, from the top. */
static int
make_dirs(struct spot *s, const char *path, size_t len)
{
	int rc = 0;

	for (size_t from = 0, n; rc >= 0 && from < len; from += n + 1) {
		int fd = open_dir(s, path, from == 0 ? 0 : from - 1);

		n = strcspn(path + from, "/");
		rc = fd < 0 ? fd : n >= sizeof(s->name) ? -ENAMETOOLONG : 0;
		if (rc == 0) {
			memcpy(s->name, path + from, n);
			s->name[n] = '\0';
			rc = node_dir(fd, s->name, false);
		}
		if (rc == 1)
			rc = sys_chmod(fd, s->name, 0755, 0);
		if (fd >= 0)
			sys_close(fd);
	}
	return rc < 0 ? rc : 0;
}

int
spot_enter(struct spot *s, const char *path, bool make)
{
	size_t len = dir_len(path);
	int rc;

	if (s->fd < 0 || len != s->dir_len || memcmp(path, s->path, len) != 0) {
		spot_close(s);
		s->fd = open_dir(s, path, len);
		if (s->fd == -ENOENT && make) {
			rc = make_dirs(s, path, len);
			s->fd = rc != 0 ? rc : open_dir(s, path, len);
		}
		s->path = path;
		s->dir_len = len;
	}
	if (s->fd < 0)
		return s->fd;
	rc = set_name(s, path_name(path));
	return rc != 0 ? rc : s->fd;
}

/* Whiteouts, in the form used by overlayfs */

bool
extract_is_whiteout(const struct extract *x, size_t n)
{
	const struct layer_entry *e = &x->entries[n];

	return x->p->o.overlay && e->type == TAR_FILE &&
	    whiteout_has_prefix(path_name(e->path));
}

/*
 * Creates a whiteout: an attribute of an opaque directory, or a 0/0 device for
 * a removed file.
 */
static int
make_whiteout(struct spot *s, bool replace)
{
	if (strcmp(s->name, WHITEOUT_OPAQUE) == 0)
		return sys_fsetxattr(s->fd, "trusted.overlay.opaque", "y", 1);
	memmove(s->name, s->name + strlen(WHITEOUT_PREFIX),
	    strlen(s->name + strlen(WHITEOUT_PREFIX)) + 1);
	if (*s->name == '\0' || path_is_dots(s->name))
		return -EINVAL;
	return node_special(s->fd, s->name, S_IFCHR, makedev(0, 0), replace);
}

/* Entries */

static int
make_file(struct spot *s, const struct layer_entry *e, bool replace)
{
	int fd = node_file(s->fd, s->name, e->size, replace);
	int rc = fd < 0 ? fd : sys_close(fd);

	if (fd >= 0 && rc != 0)
		sys_unlinkat(s->fd, s->name, 0);
	return rc;
}

int
spot_make(struct spot *s, size_t n, bool replace)
{
	const struct layer_entry *e = &s->x->entries[n];
	int rc;

	if (extract_is_whiteout(s->x, n))
		return make_whiteout(s, replace);
	switch (e->type) {
	case TAR_DIR:
		rc = node_dir(s->fd, s->name, replace);
		return rc < 0 ? rc : 0;
	case TAR_FILE:
		return make_file(s, e, replace);
	case TAR_SYMLINK:
		return node_symlink(s->fd, s->name, e->link, replace);
	default:
		return node_special(s->fd, s->name, tar_type_mode(e->type),
		    e->type == TAR_FIFO ? 0 : makedev(e->major, e->minor),
		    replace);
	}
}

/* Attributes */

struct setting {
	struct spot *s;
	size_t n;
	int fd;				/* -1: use the name in its
					 * directory */
};

static void
miss_attribute(struct setting *t, const char *name, int rc)
{
	struct extract *x = t->s->x;

	pthread_mutex_lock(&x->lock);
	if (x->attributes++ == 0)
		msg_warn(&x->p->msg, "%s/%s: attribute %s is skipped: %s",
		    x->p->o.directory, x->entries[t->n].path, name,
		    strerror(-rc));
	pthread_mutex_unlock(&x->lock);
}

static void
set_attributes(void *arg)
{
	struct setting *t = arg;
	const struct layer_entry *e = &t->s->x->entries[t->n];

	if (t->s->x->p->o.no_xattrs)
		return;
	for (size_t i = 0; i < e->xattr_count; i++) {
		const struct tar_xattr *a = &e->xattrs[i];
		int rc = node_xattr(t->fd, t->s->fd, t->s->name, a->name,
		    a->value, a->length);

		if (rc != 0)
			miss_attribute(t, a->name, rc);
	}
}

static void
tell_failure(void *arg, const char *what, int rc)
{
	struct setting *t = arg;

	extract_fail(t->s->x, t->n, what, rc);
}

void
spot_finish(struct spot *s, int fd, size_t n)
{
	const struct layer_entry *e = &s->x->entries[n];
	struct setting t = { s, n, fd };
	const struct node_status status = {
		.mode = tar_type_mode(e->type) | e->mode, .owner = s->x->owner,
		.uid = (uid_t)e->uid, .gid = (gid_t)e->gid,
		.mtime = { .tv_sec = e->mtime, .tv_nsec = (long)e->mtime_ns },
		.attributes = set_attributes, .fail = tell_failure, .arg = &t
	};

	node_finish(fd < 0 ? s->fd : fd, fd < 0 ? s->name : NULL, &status);
}
