/*
 * output_tree.c - an output directory that appears complete or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/output_tree.h"

#include "base/fdio.h"
#include "base/path.h"
#include "base/strcopy.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TRIES = 100,
	DEPTH_MAX = 8			/* depth of the trees that we create */
};

/* Opens path's parent directory, and keeps the name in it. */
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

static int
make_temp(struct output_tree *t)
{
	int rc = -EEXIST;

	for (int i = 0; rc == -EEXIST && i < TRIES; i++) {
		snprintf(t->temp, sizeof(t->temp), ".new-%ld-%d",
		    (long)getpid(), i);
		rc = sys_mkdirat(t->parent, t->temp, 0755);
	}
	if (rc != 0)
		t->temp[0] = '\0';
	return rc;
}

static int
open_dir(int at, const char *name)
{
	return sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
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
	rc = make_temp(t);
	if (rc != 0)
		return rc;
	t->dir = open_dir(t->parent, t->temp);
	return t->dir < 0 ? t->dir : 0;
}

int
output_tree_commit(struct output_tree *t)
{
	int rc = fdio_sync(t->dir);

	/* fails if a directory has that name by now, unless it is empty */
	if (rc == 0)
		rc = sys_renameat(t->parent, t->temp, t->parent, t->name);
	if (rc != 0)
		return rc == -ENOTEMPTY ? -EEXIST : rc;
	t->temp[0] = '\0';
	fdio_sync(t->parent);
	output_tree_abort(t);
	return 0;
}

static void
remove_below(int at, const char *name, int depth)
{
	int fd = open_dir(at, name);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (d == NULL) {
		if (fd >= 0)
			sys_close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (path_is_dots(e->d_name))
			continue;
		if (sys_unlinkat(fd, e->d_name, 0) == -EISDIR &&
		    depth < DEPTH_MAX)
			remove_below(fd, e->d_name, depth + 1);
	}
	closedir(d);
	sys_unlinkat(at, name, AT_REMOVEDIR);
}

void
output_tree_abort(struct output_tree *t)
{
	if (t->temp[0] != '\0')
		remove_below(t->parent, t->temp, 0);
	if (t->dir >= 0)
		sys_close(t->dir);
	if (t->parent >= 0)
		sys_close(t->parent);
	sys_free(t->name);
	*t = (struct output_tree)OUTPUT_TREE_NONE;
}
