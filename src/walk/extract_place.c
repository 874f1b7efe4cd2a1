/*
 * extract_place.c - creating an entry in its directory below the root
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "extract_impl.h"

#include "base/path.h"
#include "base/strcopy.h"
#include "base/sys.h"
#include "walk/node.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

void
extract_place_open(struct extract_place *p, struct extract *x)
{
	*p = (struct extract_place){ .x = x, .fd = -1 };
}

void
extract_place_close(struct extract_place *p)
{
	if (p->fd >= 0)
		sys_close(p->fd);
	sys_free(p->dir);
	sys_free(p->text.text);
}

/* Opens the directory named by the first len bytes of path. */
static int
open_below(const struct extract_place *p, const char *path, size_t len)
{
	char *copy;
	int fd;

	if (len == 0)
		return sys_dup(p->x->o.root);
	copy = strcopy_part(path, len);
	if (copy == NULL)
		return -ENOMEM;
	fd = tree_open(p->x->o.root, copy, O_DIRECTORY);
	sys_free(copy);
	return fd;
}

/* Copies n bytes to p->name: a single component. */
static int
set_name(struct extract_place *p, const char *name, size_t n)
{
	if (n >= sizeof(p->name))
		return -ENAMETOOLONG;
	memcpy(p->name, name, n);
	p->name[n] = '\0';
	return n == 0 || path_is_dots(p->name) ? -EINVAL : 0;
}

/*
 * Creates the missing directories of a path, from the top; other threads may be
 * doing the same.
 */
static int
make_parents(struct extract_place *p, const char *path, size_t len)
{
	for (size_t from = 0, n; from < len; from += n + 1) {
		int dir = open_below(p, path, from == 0 ? 0 : from - 1), rc;

		if (dir < 0)
			return dir;
		n = strcspn(path + from, "/");
		rc = set_name(p, path + from, n);
		if (rc == 0)
			rc = node_dir(dir, p->name, false);
		if (rc == 1)
			rc = sys_chmod(dir, p->name, 0755, 0);
		sys_close(dir);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Makes the first len bytes of path the current directory. */
static int
change_dir(struct extract_place *p, const char *path, size_t len)
{
	int rc;

	if (p->fd >= 0 && len == p->dir_len && memcmp(path, p->dir, len) == 0)
		return 0;
	if (p->fd >= 0)
		sys_close(p->fd);
	p->fd = -1;
	if (len >= p->dir_cap) {
		sys_free(p->dir);
		p->dir_cap = 0;
		p->dir = sys_malloc(2 * len + 64);
		if (p->dir == NULL)
			return -ENOMEM;
		p->dir_cap = 2 * len + 64;
	}
	memcpy(p->dir, path, len);
	p->dir_len = len;
	p->fd = open_below(p, path, len);
	if (p->fd == -ENOENT) {
		rc = make_parents(p, path, len);
		p->fd = rc != 0 ? rc : open_below(p, path, len);
	}
	return p->fd < 0 ? p->fd : 0;
}

/* Makes the directory of entry n the current one, and sets p->name. */
static int
enter(struct extract_place *p, size_t n)
{
	const char *path = p->x->s->path(p->x->s->arg, n, &p->text), *name;
	int rc;

	if (path == NULL)
		return -ENOMEM;
	if (*path == '\0')
		return -EISDIR;
	name = path_name(path);
	rc = change_dir(p, path, name == path ? 0 : (size_t)(name - path) - 1);
	return rc != 0 ? rc : set_name(p, name, strlen(name));
}

/* Creating */

static void
set_state(struct extract_place *p, size_t n, enum extract_state state)
{
	atomic_store(&p->x->state[n], (uint8_t)state);
}

int
extract_place_dir(struct extract_place *p, size_t n)
{
	int rc = enter(p, n);

	if (rc == -EISDIR) {
		p->x->root_entry = n;
		rc = p->x->o.made_root;
	} else if (rc == 0) {
		rc = node_dir(p->fd, p->name, p->x->o.replace);
	}
	if (rc < 0)
		return rc;
	set_state(p, n, rc > 0 ? EXTRACT_NEW_DIR : EXTRACT_OLD_DIR);
	return 0;
}

int
extract_place_file(struct extract_place *p, size_t n,
    const struct extract_entry *e)
{
	int rc = enter(p, n), fd;

	if (rc != 0)
		return rc;
	fd = node_file(p->fd, p->name, e->size, p->x->o.replace);
	if (fd >= 0)
		set_state(p, n, EXTRACT_PARTIAL);
	return fd;
}

static int
make_symlink(struct extract_place *p, const struct extract_entry *e)
{
	char target[PATH_MAX + 1];

	if (e->target_len > PATH_MAX ||
	    memchr(e->target, '\0', e->target_len) != NULL)
		return -ENAMETOOLONG;
	memcpy(target, e->target, e->target_len);
	target[e->target_len] = '\0';
	return node_symlink(p->fd, p->name, target, p->x->o.replace);
}

int
extract_place_other(struct extract_place *p, size_t n,
    const struct extract_entry *e)
{
	bool replace = p->x->o.replace;
	int rc = enter(p, n);

	if (rc != 0)
		return rc;
	if (e->form == EXTRACT_OPAQUE)
		return sys_fsetxattr(p->fd, "trusted.overlay.opaque", "y", 1);
	if (e->form == EXTRACT_WHITEOUT)
		return node_special(p->fd, p->name, S_IFCHR, makedev(0, 0),
		    replace);
	if (S_ISLNK(e->mode))
		rc = make_symlink(p, e);
	else
		rc = node_special(p->fd, p->name, e->mode, e->device, replace);
	if (rc == 0)
		extract_place_finish(p, -1, n, e);
	return rc;
}

int
extract_place_link(struct extract_place *p, struct extract_place *of,
    size_t n, size_t file)
{
	int rc = enter(p, n);

	if (rc == 0)
		rc = enter(of, file);
	return rc != 0 ? rc : node_link(of->fd, of->name, p->fd, p->name,
	    p->x->o.replace);
}

int
extract_place_reopen(struct extract_place *p, size_t n)
{
	int rc = enter(p, n);

	return rc != 0 ? rc : node_reopen(p->fd, p->name);
}

int
extract_place_open_dir(struct extract_place *p, size_t n)
{
	const char *path = p->x->s->path(p->x->s->arg, n, &p->text);

	return path == NULL ? -ENOMEM : open_below(p, path, strlen(path));
}

int
extract_place_remove(struct extract_place *p, size_t n)
{
	int rc = enter(p, n);

	return rc != 0 ? rc : sys_unlinkat(p->fd, p->name, 0);
}

/* Attributes */

struct attributes_of {
	struct extract_place *p;
	size_t n;
	int fd;				/* -1: use the name in its
					 * directory */
};

static void
set_attribute(void *to, const char *name, const void *value, size_t len)
{
	struct attributes_of *of = to;
	struct extract *x = of->p->x;
	char text[512];
	int rc = node_xattr(of->fd, of->p->fd, of->p->name, name, value, len);

	if (rc == 0 || atomic_fetch_add(&x->attributes, 1) != 0)
		return;
	snprintf(text, sizeof(text), "attribute %s is skipped: %s", name,
	    strerror(-rc));
	extract_report(of->p, EXTRACT_WARNING, of->n, text);
}

static void
set_attributes(void *arg)
{
	struct attributes_of *of = arg;
	const struct extract_source *s = of->p->x->s;

	if (s->attributes != NULL)
		s->attributes(s->arg, of->n, set_attribute, of);
}

static void
status_failed(void *arg, const char *what, int rc)
{
	struct attributes_of *of = arg;

	extract_fail(of->p, of->n, what, rc);
}

void
extract_place_finish(struct extract_place *p, int fd, size_t n,
    const struct extract_entry *e)
{
	struct attributes_of of = { p, n, fd };
	const struct node_status status = {
		.mode = e->mode, .owner = p->x->o.owner && e->has_owner,
		.uid = e->uid, .gid = e->gid, .mtime = e->mtime,
		.attributes = set_attributes, .fail = status_failed, .arg = &of
	};

	node_finish(fd < 0 ? p->fd : fd, fd < 0 ? p->name : NULL, &status);
}
