/*
 * sys.c - the plain implementation of the system interface
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* since Linux 6.13; same number on all architectures except Alpha */
#ifndef SYS_listxattrat
#define SYS_listxattrat 465
#endif

enum {
	LARGE = 64 << 10,
	LINE = 64		/* size of a cache line */
};

/*
 * The C library maps large allocations and returns an address 16 bytes into a
 * page.  On CPUs whose string moves have a slow case, including AMD's Zen,
 * copying to such an address takes twice as long, and so does reading a cached
 * file.
 */
void *
sys_malloc(size_t size)
{
	void *p;

	if (size < LARGE)
		return malloc(size);
	return posix_memalign(&p, LINE, size) == 0 ? p : NULL;
}

void *
sys_calloc(size_t count, size_t size)
{
	return calloc(count, size);
}

void *
sys_realloc(void *ptr, size_t size)
{
	return ptr == NULL ? sys_malloc(size) : realloc(ptr, size);
}

void
sys_free(void *ptr)
{
	free(ptr);
}

/* The C library has no wrapper for openat2(2). */
int
sys_open_beneath(int dirfd, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)flags,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	long fd;
	int tries = 0;

	/* a concurrent rename may prevent the kernel from checking the path */
	do
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	while (fd == -1 && errno == EAGAIN && ++tries < 100);
	return fd == -1 ? -errno : (int)fd;
}

int
sys_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd = openat(dirfd, path, flags, mode);

	return fd == -1 ? -errno : fd;
}

ssize_t
sys_read(int fd, void *buf, size_t len)
{
	ssize_t n = read(fd, buf, len);

	return n == -1 ? -errno : n;
}

ssize_t
sys_pread(int fd, void *buf, size_t len, off_t offset)
{
	ssize_t n = pread(fd, buf, len, offset);

	return n == -1 ? -errno : n;
}

ssize_t
sys_write(int fd, const void *buf, size_t len)
{
	ssize_t n = write(fd, buf, len);

	return n == -1 ? -errno : n;
}

ssize_t
sys_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	ssize_t n = pwrite(fd, buf, len, offset);

	return n == -1 ? -errno : n;
}

off_t
sys_lseek(int fd, off_t offset, int whence)
{
	off_t at = lseek(fd, offset, whence);

	return at == -1 ? -errno : at;
}

int
sys_ftruncate(int fd, off_t len)
{
	return ftruncate(fd, len) == -1 ? -errno : 0;
}

int
sys_fsync(int fd)
{
	return fsync(fd) == -1 ? -errno : 0;
}

int
sys_syncfs(int fd)
{
	return syncfs(fd) == -1 ? -errno : 0;
}

int
sys_close(int fd)
{
	return close(fd) == -1 ? -errno : 0;
}

int
sys_dup(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy == -1 ? -errno : copy;
}

int
sys_pipe(int ends[2])
{
	return pipe2(ends, O_CLOEXEC) == -1 ? -errno : 0;
}

ssize_t
sys_getdents(int fd, void *buf, size_t len)
{
	ssize_t n = getdents64(fd, buf, len);

	return n == -1 ? -errno : n;
}

int
sys_fstat(int fd, struct stat *st)
{
	return fstat(fd, st) == -1 ? -errno : 0;
}

int
sys_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	return fstatat(dirfd, path, st, flags) == -1 ? -errno : 0;
}

ssize_t
sys_readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	ssize_t n = readlinkat(dirfd, path, buf, len);

	return n == -1 ? -errno : n;
}

int
sys_mkdirat(int dirfd, const char *path, mode_t mode)
{
	return mkdirat(dirfd, path, mode) == -1 ? -errno : 0;
}

int
sys_symlinkat(const char *target, int dirfd, const char *path)
{
	return symlinkat(target, dirfd, path) == -1 ? -errno : 0;
}

int
sys_mknodat(int dirfd, const char *path, mode_t mode, dev_t dev)
{
	return mknodat(dirfd, path, mode, dev) == -1 ? -errno : 0;
}

int
sys_linkat(int olddir, const char *old, int newdir, const char *name,
    int flags)
{
	return linkat(olddir, old, newdir, name, flags) == -1 ? -errno : 0;
}

int
sys_renameat(int olddir, const char *old, int newdir, const char *name)
{
	return renameat(olddir, old, newdir, name) == -1 ? -errno : 0;
}

int
sys_unlinkat(int dirfd, const char *path, int flags)
{
	return unlinkat(dirfd, path, flags) == -1 ? -errno : 0;
}

int
sys_chown(int fd, const char *path, uid_t uid, gid_t gid, int flags)
{
	int rc = path == NULL ? fchown(fd, uid, gid) :
	    fchownat(fd, path, uid, gid, flags);

	return rc == -1 ? -errno : 0;
}

int
sys_chmod(int fd, const char *path, mode_t mode, int flags)
{
	int rc = path == NULL ? fchmod(fd, mode) :
	    fchmodat(fd, path, mode, flags);

	return rc == -1 ? -errno : 0;
}

int
sys_utimens(int fd, const char *path, const struct timespec times[2],
    int flags)
{
	int rc = path == NULL ? futimens(fd, times) :
	    utimensat(fd, path, times, flags);

	return rc == -1 ? -errno : 0;
}

int
sys_fsetxattr(int fd, const char *name, const void *value, size_t len)
{
	return fsetxattr(fd, name, value, len, 0) == -1 ? -errno : 0;
}

int
sys_lsetxattr(const char *path, const char *name, const void *value,
    size_t len)
{
	return lsetxattr(path, name, value, len, 0) == -1 ? -errno : 0;
}

ssize_t
sys_lgetxattr(const char *path, const char *name, void *value, size_t len)
{
	ssize_t n = lgetxattr(path, name, value, len);

	return n == -1 ? -errno : n;
}

ssize_t
sys_listxattrat(int dir, const char *path, char *names, size_t len)
{
	ssize_t n = syscall(SYS_listxattrat, dir, path, AT_SYMLINK_NOFOLLOW,
	    names, len);

	return n == -1 ? -errno : n;
}

ssize_t
sys_llistxattr(const char *path, char *names, size_t len)
{
	ssize_t n = llistxattr(path, names, len);

	return n == -1 ? -errno : n;
}

int
sys_thread(pthread_t *thread, void *(*start)(void *), void *arg)
{
	return -pthread_create(thread, NULL, start, arg);
}

uint64_t
sys_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t
sys_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void
sys_sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000) };

	while (nanosleep(&t, &t) == -1 && errno == EINTR)
		;
}
