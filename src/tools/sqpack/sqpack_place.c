/*
 * sqpack_place.c - creating the names of an image below a directory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A name is a single component other than "." and ".."; the reader rejects all
 * others.  Its directory is opened from the root of the extraction without
 * following symbolic links, and the name itself is not followed either.
 * Nothing is therefore created outside the root, regardless of the contents of
 * the image, even if another process changes the directories in the meantime.
 */
#include "sqpack_extract.h"

#include "base/sys.h"
#include "walk/node.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void
place_open(struct place *p, struct extract *x)
{
	*p = (struct place){ .x = x, .fd = -1 };
}

void
place_close(struct place *p)
{
	if (p->fd >= 0)
		sys_close(p->fd);
	sys_free(p->path);
}

/* Returns whether the error would also affect every later write. */
static bool
is_fatal(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EROFS ||
	    rc == -EIO || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
}

const char *
place_path(struct place *p, size_t number)
{
	int rc = sq_path(p->x->i.m, number, &p->path, &p->cap);

	return rc != 0 ? "?" : p->path;
}

void
extract_fail(struct place *p, size_t number, const char *what, int rc)
{
	struct sqpack *s = p->x->i.p;
	int none = 0;
	bool again = atomic_load(&p->x->err) != 0;

	if (is_fatal(rc))
		atomic_compare_exchange_strong(&p->x->err, &none, rc);
	if (again && is_fatal(rc))
		return;
	pthread_mutex_lock(&p->x->lock);
	progress_erase(&s->progress);
	msg_error(&s->msg, "%s/%s: %s%s", s->o.directory, place_path(p, number),
	    what, rc == -EEXIST ? "already exists (-f replaces it)" :
	    rc == -ESTALE ? "replaced during extraction" :
	    strerror(-rc));
	pthread_mutex_unlock(&p->x->lock);
}

void
extract_stop(struct extract *x, int rc)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&x->err, &none, rc))
		return;
	pthread_mutex_lock(&x->lock);
	progress_erase(&x->i.p->progress);
	msg_error(&x->i.p->msg, "%s: %s", x->i.p->o.source, strerror(-rc));
	pthread_mutex_unlock(&x->lock);
}

void
extract_damage(struct place *p, size_t number, uint64_t at, const char *why)
{
	struct sqpack *s = p->x->i.p;

	pthread_mutex_lock(&p->x->lock);
	progress_erase(&s->progress);
	if (at == 0)
		msg_error(&s->msg, "%s: %s: %s", s->o.source,
		    place_path(p, number), why);
	else
		msg_error(&s->msg, "%s: %s: offset %llu: %s", s->o.source,
		    place_path(p, number), (unsigned long long)at, why);
	pthread_mutex_unlock(&p->x->lock);
}

int
place_enter(struct place *p, size_t dir)
{
	if (p->fd >= 0 && p->dir == dir)
		return p->fd;
	if (p->fd >= 0)
		sys_close(p->fd);
	p->dir = dir;
	p->fd = -1;
	if (dir == 0) {
		p->fd = sys_dup(p->x->root);
		return p->fd;
	}
	if (sq_path(p->x->i.m, dir, &p->path, &p->cap) != 0)
		return -ENOMEM;
	p->fd = tree_open(p->x->root, p->path, O_DIRECTORY);
	return p->fd;
}

/* Opens the directory of a name and copies the name to p->name. */
static int
stand(struct place *p, const struct sq_entry *e)
{
	if (e->name_len >= sizeof(p->name))
		return -ENAMETOOLONG;
	memcpy(p->name, e->name, e->name_len);
	p->name[e->name_len] = '\0';
	return place_enter(p, e->parent);
}

int
place_dir(struct place *p, size_t number, const struct sq_entry *e)
{
	int dir = stand(p, e), rc;

	if (dir < 0)
		return dir;
	rc = node_dir(dir, p->name, p->x->i.p->o.force);
	atomic_store(&p->x->made[number], rc > 0 ? MADE : rc == 0 ?
	    WAS_THERE : NOT_MADE);
	return rc < 0 ? rc : 0;
}

int
place_file(struct place *p, size_t number, const struct sq_entry *e)
{
	int dir = stand(p, e), fd;

	if (dir < 0)
		return dir;
	fd = node_file(dir, p->name, e->size, p->x->i.p->o.force);
	if (fd >= 0)
		atomic_store(&p->x->made[number], MADE);
	return fd;
}

int
place_reopen(struct place *p, size_t number, const struct sq_entry *e)
{
	int dir = stand(p, e);

	(void)number;
	return dir < 0 ? dir : node_reopen(dir, p->name, false);
}

void
place_drop(struct place *p, size_t number, const struct sq_entry *e)
{
	int dir = stand(p, e), rc;

	rc = dir < 0 ? dir : sys_unlinkat(dir, p->name, 0);
	if (rc != 0)
		extract_fail(p, number, "", rc);
	atomic_store(&p->x->made[number], NOT_MADE);
}

/* Attributes */

/* The attributes being set, and the file. */
struct setting {
	struct place *p;
	size_t number;
	const struct sq_entry *e;
	int fd;				/* -1: -1: use the name in its
					 * directory */
};

static void
miss_attribute(struct place *p, size_t number, const char *name, int rc)
{
	struct sqpack *s = p->x->i.p;

	pthread_mutex_lock(&p->x->lock);
	if (p->x->attributes++ == 0) {
		progress_erase(&s->progress);
		msg_warn(&s->msg, "%s/%s: attribute %s omitted: %s",
		    s->o.directory, place_path(p, number), name, strerror(-rc));
	}
	pthread_mutex_unlock(&p->x->lock);
}

static int
set_attribute(void *arg, const char *name, const void *value, size_t len)
{
	struct setting *s = arg;
	int rc;

	if (s->p->x->i.p->o.user_xattrs && strncmp(name, "user.", 5) != 0)
		return 0;
	rc = node_xattr(s->fd, s->p->fd, s->p->name, name, value, len);
	if (rc != 0)
		miss_attribute(s->p, s->number, name, rc);
	return 0;
}

static void
set_attributes(void *arg)
{
	struct setting *s = arg;
	const struct sq_entry *e = s->e;

	if (e->xattr == SQUASHFS_NONE || s->p->x->i.p->o.no_xattrs ||
	    (e->why != NULL && e->lost))
		return;
	/* what is wrong with the name has been reported */
	if (sq_xattrs(s->p->x->i.m, e->xattr, set_attribute, s) != 0 &&
	    e->why == NULL)
		extract_damage(s->p, s->number, 0,
		    "the extended attributes cannot be read");
}

static void
tell_failure(void *arg, const char *what, int rc)
{
	struct setting *s = arg;

	extract_fail(s->p, s->number, what, rc);
}

/*
 * Sets the attributes of an open file or, if fd is -1, of the name in its
 * directory.
 */
static void
finish(struct place *p, int fd, size_t number, const struct sq_entry *e)
{
	struct setting s = { p, number, e, fd };
	const struct node_status status = {
		.mode = e->mode, .owner = p->x->owner && e->has_owner,
		.uid = e->uid, .gid = e->gid, .mtime = { .tv_sec = e->mtime },
		.attributes = set_attributes, .fail = tell_failure, .arg = &s
	};

	node_finish(fd < 0 ? p->fd : fd, fd < 0 ? p->name : NULL, &status);
}

void
place_finish(struct place *p, int fd, size_t number,
    const struct sq_entry *e)
{
	finish(p, fd, number, e);
	atomic_store(&p->x->made[number], WHOLE);
}

static int
make_symlink(struct place *p, const struct sq_entry *e)
{
	char target[PATH_MAX + 1];

	if (e->size > PATH_MAX || memchr(e->target, '\0',
	    (size_t)e->size) != NULL)
		return -ENAMETOOLONG;
	memcpy(target, e->target, (size_t)e->size);
	target[e->size] = '\0';
	return node_symlink(p->fd, p->name, target, p->x->i.p->o.force);
}

static int
make_other(struct place *p, const struct sq_entry *e)
{
	dev_t device = makedev(squashfs_major(e->rdev),
	    squashfs_minor(e->rdev));

	if (S_ISLNK(e->mode))
		return make_symlink(p, e);
	return node_special(p->fd, p->name, e->mode, S_ISBLK(e->mode) ||
	    S_ISCHR(e->mode) ? device : 0, p->x->i.p->o.force);
}

int
place_other(struct place *p, size_t number, const struct sq_entry *e)
{
	int dir = stand(p, e), rc;

	if (dir < 0)
		return dir;
	rc = make_other(p, e);
	if (rc != 0)
		return rc;
	finish(p, -1, number, e);
	atomic_store(&p->x->made[number], WHOLE);
	return 0;
}

int
place_link(struct place *p, struct place *of, size_t number,
    const struct sq_entry *e)
{
	size_t first = p->x->as[e->first];
	struct sq_entry f;
	int dir = stand(p, e), from, rc;

	if (atomic_load(&p->x->made[first]) != WHOLE)
		return -ENOENT;
	sq_get(p->x->i.m, first, &f);
	from = stand(of, &f);
	if (dir < 0 || from < 0)
		return dir < 0 ? dir : from;
	rc = node_link(from, of->name, dir, p->name, p->x->i.p->o.force);
	if (rc == 0)
		atomic_store(&p->x->made[number], WHOLE);
	return rc;
}
