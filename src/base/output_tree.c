/*
 * output_tree.c - an output directory that appears complete or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/output_tree.h"

#include "base/fdio.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include "output_signal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".coldpress-tree-"

enum {
	TRIES = 100,
	DENTS_B = 2048,
	DEPTH_MAX = 8,			/* maximum depth of the trees that we
					 * create */
	ROUNDS = 100			/* retries while others create files */
};

/*
 * Removes a directory with all its entries.  Like its callers, it can run in a
 * signal handler: it makes only system calls, and uses no memory except the
 * stack.
 */
static int
remove_dir(int at, const char *name, int depth)
{
	_Alignas(struct dirent64) char buf[DENTS_B];
	int dir = sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
	ssize_t n;

	if (dir < 0)
		return dir;
	while ((n = sys_getdents(dir, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n;) {
			const struct dirent64 *e = (const void *)(buf + i);

			i += e->d_reclen;
			if (!path_is_dots(e->d_name) &&
			    sys_unlinkat(dir, e->d_name, 0) == -EISDIR &&
			    depth + 1 < DEPTH_MAX)
				remove_dir(dir, e->d_name, depth + 1);
		}
	sys_close(dir);
	return sys_unlinkat(at, name, AT_REMOVEDIR);
}

static void
remove_tree(int at, const char *name)
{
	int rc = -ENOTEMPTY;

	for (int i = 0; rc == -ENOTEMPTY && i < ROUNDS; i++)
		rc = remove_dir(at, name, 0);
}

/* Opens the parent directory of path, and stores the last component. */
static int
open_parent(struct output_tree *t, const char *path)
{
	size_t len = strlen(path);
	char *copy, *slash;

	while (len > 1 && path[len - 1] == '/')
		len--;
	copy = strcopy_part(path, len);
	if (copy == NULL)
		return -ENOMEM;
	slash = strrchr(copy, '/');
	t->name = strcopy(path_name(copy));
	if (t->name != NULL) {
		if (slash != NULL)
			slash[slash == copy ? 1 : 0] = '\0';
		t->parent = sys_openat(AT_FDCWD, slash == NULL ? "." : copy,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	}
	sys_free(copy);
	return t->name == NULL ? -ENOMEM : t->parent < 0 ? t->parent : 0;
}

/* Called in a signal handler. */
static void
remove_temp(const struct output_armed *a)
{
	const struct output_tree *t = (const struct output_tree *)a;

	if (t->temp[0] != '\0')
		remove_tree(t->parent, t->temp);
}

/* Clears the temporary name, which was not created or no longer exists. */
static void
drop_temp(struct output_tree *t)
{
	output_disarm(&t->armed);
	t->temp[0] = '\0';
}

static int
open_dir(int at, const char *name)
{
	return sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
}

/*
 * Locks dir.  Returns 0, or -1 if another process holds the lock or locks are
 * not supported.
 */
static int
lock_dir(int dir, int how)
{
	int rc;

	do
		rc = flock(dir, LOCK_EX | how);
	while (rc == -1 && errno == EINTR);
	return rc;
}

/*
 * Opens the temporary directory.  Returns -EEXIST if another process has
 * already removed it as stale.
 */
static int
open_temp(struct output_tree *t)
{
	struct stat st;
	int rc;

	t->dir = open_dir(t->parent, t->temp);
	if (t->dir < 0)
		return t->dir == -ENOENT ? -EEXIST : t->dir;
	(void)lock_dir(t->dir, 0);
	rc = sys_fstat(t->dir, &st);
	if (rc != 0 || st.st_nlink > 0)
		return rc;
	sys_close(t->dir);
	t->dir = -1;
	return -EEXIST;
}

static int
make_temp(struct output_tree *t)
{
	int rc = -EEXIST;

	t->armed.remove = remove_temp;
	for (int i = 0; rc == -EEXIST && i < TRIES; i++) {
		snprintf(t->temp, sizeof(t->temp), PREFIX "%ld-%llx",
		    (long)getpid(), (unsigned long long)sys_now_ns());
		output_arm(&t->armed);
		rc = sys_mkdirat(t->parent, t->temp, 0755);
		if (rc != 0)
			drop_temp(t);
		else
			rc = open_temp(t);
	}
	return rc;
}

/* Removes the directories whose locks are free: their processes were killed. */
static void
remove_stale(int parent)
{
	int fd = open_dir(parent, ".");
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (d == NULL) {
		if (fd >= 0)
			sys_close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		int dir;

		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		dir = open_dir(parent, e->d_name);
		if (dir < 0)
			continue;
		if (sys_fstat(dir, &st) == 0 && st.st_uid == geteuid() &&
		    lock_dir(dir, LOCK_NB) == 0)
			remove_tree(parent, e->d_name);
		sys_close(dir);
	}
	closedir(d);
}

int
output_tree_create(struct output_tree *t, const char *path)
{
	struct stat st;
	int rc;

	*t = (struct output_tree)OUTPUT_TREE_NONE;
	rc = open_parent(t, path);
	if (rc != 0)
		return rc;
	rc = sys_fstatat(t->parent, t->name, &st, AT_SYMLINK_NOFOLLOW);
	if (rc != -ENOENT)
		return rc == 0 ? -EEXIST : rc;
	remove_stale(t->parent);
	return make_temp(t);
}

int
output_tree_commit(struct output_tree *t)
{
	int rc = fdio_sync(t->dir);

	/* fails if a nonempty directory now has that name */
	if (rc == 0)
		rc = sys_renameat(t->parent, t->temp, t->parent, t->name);
	if (rc != 0)
		return rc == -ENOTEMPTY ? -EEXIST : rc;
	drop_temp(t);
	rc = fdio_sync(t->parent);
	if (rc == 0)
		output_tree_abort(t);
	return rc;
}

void
output_tree_abort(struct output_tree *t)
{
	if (t->temp[0] != '\0')
		remove_tree(t->parent, t->temp);
	drop_temp(t);
	if (t->dir >= 0)
		sys_close(t->dir);
	if (t->parent >= 0)
		sys_close(t->parent);
	sys_free(t->name);
	*t = (struct output_tree)OUTPUT_TREE_NONE;
}
