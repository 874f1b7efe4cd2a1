/*
 * fdio.c - complete reads and writes on descriptors
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/fdio.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * Returns whether a call that returned -errno must be repeated, after waiting
 * if necessary.
 */
static int
must_repeat(int fd, short events, ssize_t n)
{
	struct pollfd p = { .fd = fd, .events = events };

	if (n == -EAGAIN)
		poll(&p, 1, -1);
	return n == -EINTR || n == -EAGAIN;
}

ssize_t
fdio_read(int fd, void *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = sys_read(fd, (char *)buf + done, len - done);
		if (n < 0 && !must_repeat(fd, POLLIN, n))
			return n;
		if (n == 0)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

ssize_t
fdio_read_text(int dir, const char *path, char *text, size_t size)
{
	int fd = sys_openat(dir, path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd;

	if (fd >= 0) {
		n = fdio_read(fd, text, size - 1);
		sys_close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n;
}

ssize_t
fdio_read_line(int dir, const char *path, char *text, size_t size)
{
	ssize_t n = fdio_read_text(dir, path, text, size);

	if (n < 0)
		return n;
	n = (ssize_t)strcspn(text, "\n");
	text[n] = '\0';
	return n;
}

int
fdio_read_all(int fd, size_t max, char **text, size_t *len)
{
	size_t cap = 4096, used = 0;
	char *all = NULL, *more;
	ssize_t n = 0;

	do {
		cap *= 2;	/* one byte is reserved for the NUL */
		more = sys_realloc(all, cap);
		if (more == NULL)
			break;
		all = more;
		n = fdio_read(fd, all + used, cap - 1 - used);
		used += n > 0 ? (size_t)n : 0;
	} while (used == cap - 1 && used <= max);
	if (more == NULL || n < 0 || used > max) {
		sys_free(all);
		return more == NULL ? -ENOMEM : n < 0 ? (int)n : -EFBIG;
	}
	all[used] = '\0';
	*text = all;
	*len = used;
	return 0;
}

ssize_t
fdio_pread(int fd, void *buf, size_t len, off_t offset)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = sys_pread(fd, (char *)buf + done, len - done,
		    offset + (off_t)done);
		if (n < 0 && n != -EINTR)
			return n;
		if (n == 0)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

int
fdio_write(int fd, const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t n;

	while (len > 0) {
		n = sys_write(fd, p, len);
		if (n < 0 && !must_repeat(fd, POLLOUT, n))
			return (int)n;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int
fdio_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	const char *p = buf;
	ssize_t n;

	while (len > 0) {
		n = sys_pwrite(fd, p, len, offset);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? -EIO : (int)n;
		p += n;
		len -= (size_t)n;
		offset += n;
	}
	return 0;
}

int
fdio_sync(int fd)
{
	int rc = sys_fsync(fd);

	return rc == -EINVAL || rc == -EROFS || rc == -ENOTSUP ? 0 : rc;
}

void
fdio_hold_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
			(void)!open("/dev/null",
			    fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/*
 * Reads an attribute's value, or the list of names, into allocated memory.
 * Returns its length.
 */
static ssize_t
get_xattr(int fd, const char *name, char **value)
{
	ssize_t n = name == NULL ? flistxattr(fd, NULL, 0) :
	    fgetxattr(fd, name, NULL, 0);

	if (n <= 0)
		return n == 0 ? 0 : -errno;
	*value = sys_malloc((size_t)n);
	if (*value == NULL)
		return -ENOMEM;
	n = name == NULL ? flistxattr(fd, *value, (size_t)n) :
	    fgetxattr(fd, name, *value, (size_t)n);
	return n == -1 ? -errno : n;
}

/*
 * Copies the extended attributes, except those that describe the content of one
 * file or grant rights to a program, and those that this filesystem does not
 * support or this user may not set.  Returns 0 or the first -errno.
 */
static int
copy_xattrs(int from, int to)
{
	static const char *const own[] = { "security.capability",
	    "security.ima", "security.evm" };
	enum { OWN = sizeof(own) / sizeof(own[0]) };
	char *names = NULL;
	ssize_t n = get_xattr(from, NULL, &names);
	int rc = n < 0 && n != -ENOTSUP ? (int)n : 0;

	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1) {
		const char *name = names + i;
		char *value = NULL;
		size_t k = 0;
		ssize_t len;

		while (k < OWN && strcmp(name, own[k]) != 0)
			k++;
		if (k < OWN)
			continue;
		len = get_xattr(from, name, &value);
		if (len >= 0 && fsetxattr(to, name, value == NULL ? "" : value,
		    (size_t)len, 0) == -1)
			len = -errno;
		sys_free(value);
		if (len < 0 && len != -ENOTSUP && len != -EPERM &&
		    len != -ENODATA && rc == 0)
			rc = (int)len;
	}
	sys_free(names);
	return rc;
}

int
fdio_copy_meta(int from, int to)
{
	struct stat st;
	mode_t mode;
	int rc = 0, e;

	if (fstat(from, &st) == -1)
		return -errno;
	mode = st.st_mode & 0777;
	/*
	 * Being unable to change the owner is not an error, because only root
	 * can: the owner is then the user who runs the tool, and the group is
	 * set separately.
	 */
	if (fchown(to, st.st_uid, st.st_gid) == -1) {
		rc = errno == EPERM ? 0 : -errno;
		if (rc == 0 && fchown(to, (uid_t)-1, st.st_gid) == -1) {
			rc = errno == EPERM ? 0 : -errno;
			/* the new group must not get the old group's rights */
			mode &= ~(mode_t)S_IRWXG;
			mode |= (st.st_mode & S_IRWXO) << 3 & st.st_mode &
			    S_IRWXG;
		}
	}
	e = copy_xattrs(from, to);
	rc = rc != 0 ? rc : e;
	if (fchmod(to, mode) == -1 && rc == 0)
		rc = -errno;
	if (futimens(to, (struct timespec[2]){ st.st_atim, st.st_mtim }) ==
	    -1 && rc == 0)
		rc = -errno;
	return rc;
}
