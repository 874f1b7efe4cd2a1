/*
 * dirs.c - the directories of a snapshotter
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What containers leave may be of any depth and have any names, so trees are
 * collected first (walk/walk_tree.h), without recursion.
 */
#include "dirs.h"

#include "base/array.h"
#include "base/path.h"
#include "base/sys.h"
#include "walk/walk_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, DENTS = 32 << 10 };

static int
open_dir(int at, const char *path)
{
	return sys_openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
}

/* Gives a new directory the owner of the parent snapshot's files. */
static int
copy_owner(int all, int64_t parent, int dir)
{
	char path[DIRS_NAME + 8];
	struct stat st;
	int rc;

	snprintf(path, sizeof(path), "%" PRId64 "/fs", parent);
	rc = sys_fstatat(all, path, &st, AT_SYMLINK_NOFOLLOW);
	if (rc == 0 && (st.st_uid != 0 || st.st_gid != 0))
		rc = sys_chown(dir, "fs", st.st_uid, st.st_gid,
		    AT_SYMLINK_NOFOLLOW);
	return rc;
}

int
dirs_make(int all, int64_t id, int64_t parent, bool work)
{
	char name[DIRS_NAME];
	int dir, rc;

	snprintf(name, sizeof(name), "%" PRId64, id);
	rc = sys_mkdirat(all, name, 0700);
	/* of a transaction that has not happened */
	if (rc == -EEXIST && dirs_remove(all, name) == 0)
		rc = sys_mkdirat(all, name, 0700);
	if (rc != 0)
		return rc;
	dir = open_dir(all, name);
	rc = dir < 0 ? dir : sys_mkdirat(dir, "fs", 0755);
	/* whatever the mask of this process is */
	if (rc == 0)
		rc = sys_chmod(dir, "fs", 0755, 0);
	if (rc == 0 && work)
		rc = sys_mkdirat(dir, "work", 0711);
	if (rc == 0 && parent != 0)
		rc = copy_owner(all, parent, dir);
	if (dir >= 0)
		sys_close(dir);
	if (rc == 0)
		rc = sys_fsync(all);
	if (rc != 0)
		(void)dirs_remove(all, name);
	return rc;
}

/*
 * Calls act() for everything in a directory: first for what is not a directory,
 * then for directories, each after those in it.
 */
static int
each_below(int dir, int (*act)(void *arg, int at, const char *path, bool is_dir),
    void *arg)
{
	atomic_bool cancel = false;
	struct tree t = { .count = 0 };
	struct tree_path p = { .cap = 0 };
	const char *path;
	int rc = tree_scan(&t, dir, 1, &cancel), at;

	for (size_t i = t.count + t.dir_count; rc == 0 && i-- > 1;) {
		bool is_dir = i < t.dir_count;
		const struct tree_entry e = is_dir ? (struct tree_entry){
			.name = t.dirs[i].name, .dir = t.dirs[i].parent } :
			t.entries[i - t.dir_count];

		rc = e.err != 0 ? e.err : tree_path(&t, &e, &p);
		if (rc != 0)
			break;
		path = p.s;
		at = tree_reach(dir, &path);
		rc = at < 0 ? at : act(arg, at, path, is_dir);
		if (at >= 0 && at != dir)
			sys_close(at);
	}
	sys_free(p.s);
	tree_free(&t);
	return rc;
}

static int
unlink_one(void *arg, int at, const char *path, bool is_dir)
{
	int rc = sys_unlinkat(at, path, is_dir ? AT_REMOVEDIR : 0);

	(void)arg;
	return rc == -ENOENT ? 0 : rc;
}

bool
dirs_is_mounted(int all, const char *name)
{
	char path[DIRS_NAME + 256 + 8];
	struct stat outer, inner;

	if ((size_t)snprintf(path, sizeof(path), "%s/fs", name) >=
	    sizeof(path) || sys_fstatat(all, name, &outer,
	    AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	switch (sys_fstatat(all, path, &inner, AT_SYMLINK_NOFOLLOW)) {
	case 0:
		return inner.st_dev != outer.st_dev;
	case -ENOENT: case -ENOTDIR:
		return false;
	default:
		/* for example, of a server that no longer exists */
		return true;
	}
}

int
dirs_remove(int all, const char *name)
{
	int dir, rc;

	if (dirs_is_mounted(all, name))
		return -EBUSY;
	dir = open_dir(all, name);
	if (dir == -ENOTDIR || dir == -ELOOP)
		return sys_unlinkat(all, name, 0);
	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	rc = each_below(dir, unlink_one, NULL);
	sys_close(dir);
	if (rc == 0)
		rc = sys_unlinkat(all, name, AT_REMOVEDIR);
	return rc == -ENOENT ? 0 : rc;
}

/* Usage */

struct census {
	struct snapshots_usage *usage;
	struct name {			/* of a file with several */
		dev_t dev;
		ino_t ino;
		blkcnt_t blocks;
	} *names;
	size_t count, cap;
};

static void
count_inode(struct census *c, blkcnt_t blocks)
{
	c->usage->inodes++;
	c->usage->bytes += (int64_t)blocks * BLOCK;
}

static int
count_one(void *arg, int at, const char *path, bool is_dir)
{
	struct census *c = arg;
	void *names = c->names;
	struct stat st;
	int rc = sys_fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW);

	/* containers are running */
	if (rc == -ENOENT)
		return 0;
	if (rc != 0)
		return rc;
	if (is_dir || st.st_nlink == 1) {
		count_inode(c, st.st_blocks);
		return 0;
	}
	rc = array_grow(&names, c->count, &c->cap, sizeof(*c->names));
	c->names = names;
	if (rc == 0)
		c->names[c->count++] = (struct name){ st.st_dev, st.st_ino,
			st.st_blocks };
	return rc;
}

static int
compare_inodes(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino == y->ino ? 0 : x->ino < y->ino ? -1 : 1;
}

static void
count_names(struct census *c)
{
	if (c->count == 0)
		return;
	qsort(c->names, c->count, sizeof(*c->names), compare_inodes);
	for (size_t i = 0; i < c->count; i++)
		if (i == 0 || compare_inodes(&c->names[i - 1],
		    &c->names[i]) != 0)
			count_inode(c, c->names[i].blocks);
}

int
dirs_usage(int all, int64_t id, struct snapshots_usage *u)
{
	char path[DIRS_NAME + 8];
	struct census c = { .usage = u };
	struct stat st;
	int dir, rc;

	*u = (struct snapshots_usage){ .bytes = 0 };
	snprintf(path, sizeof(path), "%" PRId64 "/fs", id);
	dir = open_dir(all, path);
	if (dir < 0)
		return dir;
	rc = sys_fstat(dir, &st);
	if (rc == 0) {
		count_inode(&c, st.st_blocks);
		rc = each_below(dir, count_one, &c);
	}
	count_names(&c);
	sys_free(c.names);
	sys_close(dir);
	return rc;
}

int
dirs_each(int all, int (*take)(void *arg, const char *name), void *arg)
{
	_Alignas(struct dirent64) char buf[DENTS];
	int dir = open_dir(all, "."), rc = 0;
	ssize_t n = 0;

	if (dir < 0)
		return dir;
	while (rc == 0 && (n = sys_getdents(dir, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; rc == 0 && i < n;) {
			const struct dirent64 *e = (const void *)(buf + i);

			i += e->d_reclen;
			if (!path_is_dots(e->d_name))
				rc = take(arg, e->d_name);
		}
	sys_close(dir);
	return rc != 0 ? rc : (int)n;
}
