/*
 * output.c - an output file that appears complete or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/output.h"

#include "base/fdio.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include "output_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Opens a directory within another.  Write and search permission is enough;
 * only syncing requires read permission.
 */
static int
open_dir(struct output *o, int at, const char *dir)
{
	o->dirfd = sys_openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	o->dir_sync = o->dirfd >= 0;
	if (o->dirfd == -EACCES)
		o->dirfd = sys_openat(at, dir,
		    O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	return o->dirfd < 0 ? o->dirfd : 0;
}

/* Opens the directory that contains path, and stores the last component. */
static int
open_parent(struct output *o, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash == NULL ? path : slash + 1;
	char *dir;
	int rc;

	if (*base == '\0')
		return -EISDIR;
	dir = slash == NULL ? strcopy(".") :
	    strcopy_part(path, (size_t)(base - path));
	if (dir == NULL)
		return -ENOMEM;
	rc = open_dir(o, AT_FDCWD, dir);
	sys_free(dir);
	if (rc != 0)
		return rc;
	o->name = strcopy(base);
	return o->name == NULL ? -ENOMEM : 0;
}

/* Called in a signal handler. */
static void
remove_temp(const struct output_armed *a)
{
	const struct output *o = (const struct output *)a;

	if (o->temp[0] != '\0')
		unlinkat(o->dirfd, o->temp, 0);
}

/* Clears the temporary name, which was not created or no longer exists. */
static void
drop_temp(struct output *o)
{
	output_disarm(&o->armed);
	o->temp[0] = '\0';
}

/*
 * Generates the next temporary name, which a signal handler removes.  It is not
 * derived from the final name, which may be 255 bytes long.
 */
static void
next_temp(struct output *o)
{
	snprintf(o->temp, sizeof(o->temp), ".coldpress-%ld-%llx",
	    (long)getpid(), (unsigned long long)sys_now_ns());
	o->armed.remove = remove_temp;
	output_arm(&o->armed);
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
		drop_temp(o);
	return fd;
}

static bool
is_special(mode_t mode)
{
	return !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

/*
 * /dev/stdout can refer to any file, and must be written like descriptor 1,
 * from its current offset.  Returns a copy of such a descriptor, -ENOENT, or
 * -EBADF if it is open only for reading.
 */
static int
open_standard(const struct output *o)
{
	struct stat st;
	int rc = -ENOENT;

	for (int fd = STDERR_FILENO; fd >= STDIN_FILENO; fd--) {
		if (fstat(fd, &st) == -1 || st.st_dev != o->there.st_dev ||
		    st.st_ino != o->there.st_ino)
			continue;
		rc = -EBADF;
		if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
			continue;
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		return fd == -1 ? -errno : fd;
	}
	return rc;
}

/*
 * Opens the target without truncating or creating it, so that a regular file
 * that has replaced the device is not modified.  Returns -EBUSY for a mounted
 * block device.
 */
static int
open_in_place(struct output *o, bool link)
{
	struct stat st;
	int fd = sys_openat(o->dirfd, o->name, O_WRONLY | O_NOCTTY |
	    O_CLOEXEC | (S_ISBLK(o->there.st_mode) ? O_EXCL : 0) |
	    (link ? 0 : O_NOFOLLOW), 0);
	int rc = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == -1)
		rc = -errno;
	else if (!is_special(st.st_mode))
		rc = -EEXIST;
	if (rc == 0)
		return fd;
	sys_close(fd);
	return rc;
}

/*
 * Examines what already exists at the path.  Returns a descriptor to write in
 * place, or -ENOENT.
 */
static int
open_existing(struct output *o, bool in_place)
{
	struct stat st;
	bool special;
	int fd = -ENOENT;

	if (fstatat(o->dirfd, o->name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return -ENOENT;
	if (!o->replace)
		return -EEXIST;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	o->there = st;
	if (S_ISLNK(st.st_mode) &&
	    fstatat(o->dirfd, o->name, &o->there, 0) == -1)
		o->there = st;
	special = is_special(o->there.st_mode);
	if (!in_place)
		return special ? -EEXIST : -ENOENT;
	if (S_ISLNK(st.st_mode))
		fd = open_standard(o);
	if (special && (fd == -ENOENT || fd == -EBADF))
		fd = open_in_place(o, S_ISLNK(st.st_mode));
	o->direct = fd >= 0;
	return fd;
}

/*
 * Opens an unnamed file, a temporary file, or the file to be written in place.
 */
static int
open_target(struct output *o, bool in_place)
{
	int fd = open_existing(o, in_place);

	if (fd == -ENOENT) {
		fd = sys_openat(o->dirfd, ".",
		    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd == -EOPNOTSUPP || fd == -EISDIR || fd == -EINVAL)
			fd = open_temp(o);
	}
	if (fd < 0)
		return fd;
	o->fd = fd;
	return 0;
}

int
output_create(struct output *o, const char *path, bool replace)
{
	int rc;

	*o = (struct output){ .fd = -1, .dirfd = -1, .replace = replace };
	rc = open_parent(o, path);
	if (rc == 0)
		rc = open_target(o, true);
	if (rc != 0)
		output_abort(o);
	return rc;
}

int
output_create_at(struct output *o, int dirfd, const char *name, bool replace)
{
	int rc;

	*o = (struct output){ .fd = -1, .dirfd = -1, .replace = replace };
	rc = open_dir(o, dirfd, ".");
	if (rc != 0)
		goto out;
	o->name = strcopy(name);
	rc = o->name == NULL ? -ENOMEM : open_target(o, false);
out:
	if (rc != 0)
		output_abort(o);
	return rc;
}

bool
output_is(const struct output *o, const struct stat *st)
{
	const struct stat *there = &o->there;

	if (there->st_mode == 0)
		return false;
	if (S_ISBLK(there->st_mode) && S_ISBLK(st->st_mode))
		return there->st_rdev == st->st_rdev;
	return there->st_dev == st->st_dev && there->st_ino == st->st_ino;
}

/* Gives the unnamed file a name.  Without /proc, only root can do this. */
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

/*
 * Gives the file its final name after the last call that can report a failed
 * write.  That is fsync(2) if requested; otherwise close(2), but only if the
 * file has a temporary name, because closing an unnamed file deletes it.  A
 * file that will replace another needs a temporary name, which is renamed.
 */
static int
give_name(struct output *o)
{
	int rc = -EEXIST;

	if (o->temp[0] == '\0' && !o->replace)
		return link_as(o, o->name);
	if (o->temp[0] == '\0') {
		while (rc == -EEXIST) {
			next_temp(o);
			rc = link_as(o, o->temp);
		}
		if (rc != 0) {
			drop_temp(o);
			return rc;
		}
	}
	if (!o->synced) {
		rc = sys_close(o->fd);
		o->fd = -1;
		if (rc != 0)
			return rc;
	}
	if (o->replace) {
		rc = sys_renameat(o->dirfd, o->temp, o->dirfd, o->name);
	} else {
		rc = sys_linkat(o->dirfd, o->temp, o->dirfd, o->name, 0);
		if (rc == 0)
			sys_unlinkat(o->dirfd, o->temp, 0);
	}
	if (rc == 0)
		drop_temp(o);
	return rc;
}

int
output_sync(struct output *o)
{
	int rc = o->direct ? fdio_sync(o->fd) : sys_fsync(o->fd);

	o->synced = rc == 0;
	return rc;
}

int
output_commit(struct output *o, bool sync)
{
	bool named = false;
	int rc = 0;

	/*
	 * writes to a device are delayed; without a sync, errors would be lost
	 */
	sync |= o->direct && S_ISBLK(o->there.st_mode);
	if (sync && !o->synced)
		rc = output_sync(o);
	if (rc != 0)
		goto out;
	if (!o->direct) {
		rc = give_name(o);
		if (rc != 0)
			goto out;
		named = !o->replace;
		/*
		 * sync the directory or, if it is not readable, the whole
		 * filesystem; some filesystems cannot sync a directory, and
		 * return EINVAL
		 */
		if (sync) {
			rc = o->dir_sync ? sys_fsync(o->dirfd) :
			    sys_syncfs(o->fd);
			if (rc != 0 && rc != -EINVAL)
				goto out;
		}
	}
	rc = 0;
	if (o->fd >= 0) {
		rc = sys_close(o->fd);
		o->fd = -1;
	}
out:
	/* after a late failure, remove a new file, but keep a replacement */
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
	drop_temp(o);
	if (o->fd >= 0)
		sys_close(o->fd);
	if (o->dirfd >= 0)
		sys_close(o->dirfd);
	sys_free(o->name);
	*o = (struct output){ .fd = -1, .dirfd = -1 };
}
