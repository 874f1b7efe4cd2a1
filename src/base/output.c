/*
 * output.c - a file that comes into being whole or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/output.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the directory of path and keeps the last component. */
static int
split(struct output *o, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash == NULL ? path : slash + 1;
	size_t dirlen = slash == NULL ? 0 : (size_t)(base - path);
	char *dir;

	if (*base == '\0')
		return -EISDIR;
	dir = sys_calloc(1, dirlen + 2);
	o->name = sys_malloc(strlen(base) + 1);
	if (dir == NULL || o->name == NULL) {
		sys_free(dir);
		sys_free(o->name);
		return -ENOMEM;
	}
	memcpy(dir, dirlen == 0 ? "." : path, dirlen == 0 ? 1 : dirlen);
	memcpy(o->name, base, strlen(base) + 1);
	o->dirfd = sys_openat(AT_FDCWD, dir,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	sys_free(dir);
	if (o->dirfd < 0)
		sys_free(o->name);
	return o->dirfd < 0 ? o->dirfd : 0;
}

/* The next temporary name: short, since the final one may have 255 bytes. */
static void
next_temp(struct output *o)
{
	snprintf(o->temp, sizeof(o->temp), ".coldpress-%ld-%llx",
	    (long)getpid(), (unsigned long long)sys_now_ns());
}

static int
open_temp(struct output *o)
{
	int fd;

	do {
		next_temp(o);
		fd = sys_openat(o->dirfd, o->temp,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} while (fd == -EEXIST);
	if (fd < 0)
		o->temp[0] = '\0';
	return fd;
}

/* The unnamed file, a temporary one, or the device that stands there. */
static int
open_target(struct output *o)
{
	struct stat st;
	int fd;

	if (fstatat(o->dirfd, o->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!o->replace)
			return -EEXIST;
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		o->direct = S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode);
	}
	if (o->direct)
		return sys_openat(o->dirfd, o->name, O_WRONLY | O_CLOEXEC, 0);
	fd = sys_openat(o->dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd == -EOPNOTSUPP || fd == -EISDIR || fd == -EINVAL)
		fd = open_temp(o);
	return fd;
}

int
output_create(struct output *o, const char *path, bool replace)
{
	int rc;

	*o = (struct output){ .fd = -1, .dirfd = -1, .replace = replace };
	rc = split(o, path);
	if (rc != 0)
		return rc;
	rc = open_target(o);
	if (rc < 0) {
		output_abort(o);
		return rc;
	}
	o->fd = rc;
	return 0;
}

/* Links the unnamed file as name.  Without /proc only root can. */
static int
link_as(const struct output *o, const char *name)
{
	char proc[32];
	int rc;

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", o->fd);
	rc = sys_linkat(AT_FDCWD, proc, o->dirfd, name, AT_SYMLINK_FOLLOW);
	if (rc == -ENOENT)
		rc = sys_linkat(o->fd, "", o->dirfd, name, AT_EMPTY_PATH);
	return rc;
}

/* An unnamed file that is to replace another gets a temporary name first. */
static int
link_temp(struct output *o)
{
	int rc;

	do {
		next_temp(o);
		rc = link_as(o, o->temp);
	} while (rc == -EEXIST);
	if (rc != 0)
		o->temp[0] = '\0';
	return rc;
}

/* From the temporary to the final name, over an old file or not at all. */
static int
move_temp(struct output *o)
{
	int rc = o->replace ?
	    sys_renameat(o->dirfd, o->temp, o->dirfd, o->name) :
	    sys_linkat(o->dirfd, o->temp, o->dirfd, o->name, 0);

	if (rc == 0 && !o->replace)
		sys_unlinkat(o->dirfd, o->temp, 0);
	if (rc == 0)
		o->temp[0] = '\0';
	return rc;
}

/*
 * Naming follows the last call that can still report a failed write: fsync
 * where asked for, else close where the file has a name to outlive it.
 */
static int
give_name(struct output *o)
{
	int rc = 0;

	if (o->temp[0] == '\0' && !o->replace)
		return link_as(o, o->name);
	if (o->temp[0] == '\0')
		rc = link_temp(o);
	if (rc == 0) {
		rc = sys_close(o->fd);
		o->fd = -1;
	}
	return rc != 0 ? rc : move_temp(o);
}

int
output_commit(struct output *o, bool sync)
{
	bool named = false;
	int rc = 0;

	if (sync && !o->direct)
		rc = sys_fsync(o->fd);
	if (rc == 0 && !o->direct) {
		rc = give_name(o);
		named = rc == 0 && !o->replace;
	}
	if (rc == 0 && sync && !o->direct)
		rc = sys_fsync(o->dirfd);
	if (o->fd >= 0 && rc == 0) {
		rc = sys_close(o->fd);
		o->fd = -1;
	}
	/* after a late failure a new name goes again; a replaced one stays */
	if (rc != 0 && named)
		sys_unlinkat(o->dirfd, o->name, 0);
	output_abort(o);
	return rc;
}

void
output_abort(struct output *o)
{
	if (o->temp[0] != '\0')
		sys_unlinkat(o->dirfd, o->temp, 0);
	if (o->fd >= 0)
		sys_close(o->fd);
	if (o->dirfd >= 0)
		sys_close(o->dirfd);
	sys_free(o->name);
	*o = (struct output){ .fd = -1, .dirfd = -1 };
}
