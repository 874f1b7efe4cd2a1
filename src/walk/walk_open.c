/*
 * walk_open.c - opening files below a directory, but not outside it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/sys.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* Copies the first component of *path to name, and advances *path past it. */
static int
cut_name(const char **path, char name[NAME_MAX + 1])
{
	size_t len = strcspn(*path, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, *path, len);
	name[len] = '\0';
	*path += len + strspn(*path + len, "/");
	return strcmp(name, "..") == 0 ? -EXDEV : 0;
}

/*
 * Opens path directory by directory, without following links.  Used before
 * Linux 5.6, in containers that block new system calls, and under valgrind.
 */
static int
open_by_steps(int root, const char *path, int flags)
{
	char name[NAME_MAX + 1];
	int dir = root, fd = -ENOENT;

	if (*path == '/')
		return -EXDEV;
	while (*path != '\0') {
		fd = cut_name(&path, name);
		if (fd == 0)
			fd = sys_openat(dir, name, *path == '\0' ?
			    flags | O_NOFOLLOW :
			    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
		if (dir != root)
			sys_close(dir);
		if (fd < 0)
			break;
		dir = fd;
	}
	return fd;
}

static int
open_beneath(int dir, const char *path, int flags)
{
	int fd = sys_open_beneath(dir, path, flags);

	return fd == -ENOSYS || fd == -EPERM ?
	    open_by_steps(dir, path, flags) : fd;
}

/* Opens a part of a path, preserving the access time if permitted. */
static int
open_part(int dir, const char *path, int flags)
{
	int fd = open_beneath(dir, path, flags | O_NOATIME);

	return fd == -EPERM ? open_beneath(dir, path, flags) : fd;
}

int
tree_open(int root, const char *path, int flags)
{
	char part[PATH_MAX];
	int dir = root, fd = -ENAMETOOLONG;

	flags |= O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	while (strlen(path) >= PATH_MAX) {
		const char *slash = memrchr(path, '/', PATH_MAX - 1);

		fd = -ENAMETOOLONG;
		if (slash == NULL || slash == path)
			break;
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = '\0';
		fd = open_beneath(dir, part,
		    O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			break;
		if (dir != root)
			sys_close(dir);
		dir = fd;
		path = slash + 1;
	}
	if (strlen(path) < PATH_MAX)
		fd = open_part(dir, path, flags);
	if (dir != root)
		sys_close(dir);
	return fd;
}
