/*
 * node.c - creating names in a directory, without following links
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk/node.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

/* Removes an existing name, if allowed, after an attempt that returned rc. */
static int
unlink_existing(int dir, const char *name, bool replace, int rc)
{
	if (rc != -EEXIST || !replace)
		return rc;
	return sys_unlinkat(dir, name, 0);
}

int
node_root(const char *path, mode_t mode, bool *made)
{
	int rc = sys_mkdirat(AT_FDCWD, path, mode);

	*made = rc == 0;
	return rc != 0 && rc != -EEXIST ? rc : sys_openat(AT_FDCWD, path,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

int
node_dir(int dir, const char *name, bool replace)
{
	int rc = sys_mkdirat(dir, name, 0700), fd;

	if (rc != -EEXIST)
		return rc == 0 ? 1 : rc;
	fd = sys_openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
	if (fd >= 0)
		return sys_close(fd);
	rc = unlink_existing(dir, name, replace, rc);
	if (rc == 0)
		rc = sys_mkdirat(dir, name, 0700);
	return rc == 0 ? 1 : rc;
}

/*
 * Returns the mode in which a file is created that will get this mode.  Until
 * it has its owner and group, the group's permissions would be another's; so it
 * has any only if everybody has them.
 */
static mode_t
first_mode(mode_t mode)
{
	return 0600 | ((mode >> 3 & 07) == (mode & 07) ? mode & 0777 : 0);
}

int
node_file(int dir, const char *name, mode_t mode, bool replace)
{
	enum { HOW = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
	mode_t first = first_mode(mode);
	int fd = sys_openat(dir, name, HOW, first), rc;

	if (fd == -EEXIST) {
		rc = unlink_existing(dir, name, replace, fd);
		fd = rc != 0 ? rc : sys_openat(dir, name, HOW, first);
	}
	return fd;
}

int
node_reopen(int dir, const char *name)
{
	struct stat st;
	int fd = sys_openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC |
	    O_NONBLOCK, 0), rc;

	if (fd < 0)
		return fd;
	rc = sys_fstat(fd, &st);
	if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_nlink != 1))
		rc = -ESTALE;
	if (rc != 0)
		sys_close(fd);
	return rc != 0 ? rc : fd;
}

int
node_symlink(int dir, const char *name, const char *target, bool replace)
{
	int rc = sys_symlinkat(target, dir, name);

	if (rc == -EEXIST) {
		rc = unlink_existing(dir, name, replace, rc);
		rc = rc != 0 ? rc : sys_symlinkat(target, dir, name);
	}
	return rc;
}

int
node_special(int dir, const char *name, mode_t type, dev_t device,
    bool replace)
{
	mode_t mode = (type & S_IFMT) | 0600;
	int rc = sys_mknodat(dir, name, mode, device);

	if (rc == -EEXIST) {
		rc = unlink_existing(dir, name, replace, rc);
		rc = rc != 0 ? rc : sys_mknodat(dir, name, mode, device);
	}
	return rc;
}

int
node_link(int from, const char *old, int dir, const char *name, bool replace)
{
	int rc = sys_linkat(from, old, dir, name, 0);

	if (rc == -EEXIST) {
		rc = unlink_existing(dir, name, replace, rc);
		rc = rc != 0 ? rc : sys_linkat(from, old, dir, name, 0);
	}
	return rc;
}

static void
complain(const struct node_status *s, const char *what, int rc)
{
	if (rc != 0)
		s->fail(s->arg, what, rc);
}

int
node_finish(int at, const char *name, const struct node_status *s)
{
	const struct timespec times[2] = { s->mtime, s->mtime };
	mode_t mode = s->mode & (s->owner ? 07777 : 01777);
	struct stat is;
	/* looking costs less than setting what is set */
	bool known = (name == NULL ? sys_fstat(at, &is) : sys_fstatat(at, name,
	    &is, AT_SYMLINK_NOFOLLOW)) == 0;
	int rc = 0;

	if (name == NULL && S_ISREG(s->mode) &&
	    !(known && (uint64_t)is.st_size == s->size))
		rc = sys_ftruncate(at, (off_t)s->size);
	if (s->owner && !(known && is.st_uid == s->uid &&
	    is.st_gid == s->gid)) {
		complain(s, "cannot set owner: ", sys_chown(at, name, s->uid,
		    s->gid, AT_SYMLINK_NOFOLLOW));
		/* that may have taken its set-ID bits */
		known = known && (mode & (S_ISUID | S_ISGID)) == 0;
	}
	if (s->attributes != NULL && s->attributes(s->arg))
		known = false;
	if (!S_ISLNK(s->mode) && !(known && (is.st_mode & 07777) == mode))
		complain(s, "cannot set mode: ", sys_chmod(at, name, mode,
		    AT_SYMLINK_NOFOLLOW));
	complain(s, "cannot set time: ", sys_utimens(at, name, times,
	    AT_SYMLINK_NOFOLLOW));
	return rc;
}

int
node_xattr(int fd, int dir, const char *name, const char *attribute,
    const void *value, size_t len)
{
	char path[NAME_MAX + 64];

	if (fd >= 0)
		return sys_fsetxattr(fd, attribute, value, len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir, name);
	return sys_lsetxattr(path, attribute, value, len);
}
