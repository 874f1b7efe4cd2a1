/*
 * sys_fault.c - a system interface that fails on request
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sys_fault.h"

#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* Blocks from sys_malloc() and the like that have not been freed. */
static atomic_long blocks;

long
fault_blocks(void)
{
	return atomic_load(&blocks);
}

/* The call is not one more: see sys_fault_wrap.c. */
#define DIRECT(call) (fault_direct++, (call), fault_direct--)

void *
sys_malloc(size_t size)
{
	void *p = fault(FAULT_MALLOC) != 0 ? NULL : malloc(size);

	atomic_fetch_add(&blocks, p != NULL);
	return p;
}

void *
sys_calloc(size_t count, size_t size)
{
	void *p = NULL;

	if (fault(FAULT_MALLOC) == 0)
		DIRECT(p = calloc(count, size));

	atomic_fetch_add(&blocks, p != NULL);
	return p;
}

void *
sys_realloc(void *ptr, size_t size)
{
	void *p = NULL;

	if (fault(FAULT_MALLOC) == 0)
		DIRECT(p = realloc(ptr, size));

	atomic_fetch_add(&blocks, p != NULL && ptr == NULL);
	return p;
}

void
sys_free(void *ptr)
{
	atomic_fetch_sub(&blocks, ptr != NULL);
	free(ptr);
}

/*
 * An expression for the result of a call of that kind, which either fails as
 * planned or goes through.  These are macros, because a failing call must not
 * be made; `part` is how many bytes the call should request.
 */
#define GIVE(kind, call) \
	__extension__({ int give_e = fault(kind); \
	long give_n = -give_e; \
	if (give_e == 0) \
		DIRECT(give_n = (long)(call)); \
	give_n == -1 && give_e == 0 ? -errno : give_n; })
#define GIVE_PART(kind, len, call) \
	__extension__({ int give_e = fault(kind); \
	size_t part = give_e == FAULT_END ? 0 : \
	    give_e == FAULT_SHORT && (len) > 1 ? 1 : (len); \
	ssize_t give_n = -give_e; \
	if (give_e <= 0) \
		DIRECT(give_n = (call)); \
	give_n == -1 && give_e <= 0 ? -errno : give_n; })

int
sys_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	return (int)GIVE(FAULT_OPENAT, openat(dirfd, path, flags, mode));
}

/* This counts as openat. */
int
sys_open_beneath(int dirfd, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)flags,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	return (int)GIVE(FAULT_OPENAT, syscall(SYS_openat2, dirfd, path,
	    &how, sizeof(how)));
}

ssize_t
sys_read(int fd, void *buf, size_t len)
{
	return GIVE_PART(FAULT_READ, len, read(fd, buf, part));
}

ssize_t
sys_pread(int fd, void *buf, size_t len, off_t offset)
{
	return GIVE_PART(FAULT_PREAD, len, pread(fd, buf, part, offset));
}

ssize_t
sys_write(int fd, const void *buf, size_t len)
{
	return GIVE_PART(FAULT_WRITE, len, write(fd, buf, part));
}

ssize_t
sys_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	return GIVE_PART(FAULT_PWRITE, len, pwrite(fd, buf, part, offset));
}

off_t
sys_lseek(int fd, off_t offset, int whence)
{
	return GIVE(FAULT_LSEEK, lseek(fd, offset, whence));
}

int
sys_ftruncate(int fd, off_t len)
{
	return (int)GIVE(FAULT_FTRUNCATE, ftruncate(fd, len));
}

int
sys_fsync(int fd)
{
	return (int)GIVE(FAULT_FSYNC, fsync(fd));
}

int
sys_syncfs(int fd)
{
	return (int)GIVE(FAULT_FSYNC, syncfs(fd));
}

int
sys_close(int fd)
{
	int e = fault(FAULT_CLOSE);

	/* even a failed close has closed the descriptor: see close(2) */
	if (close(fd) == -1)
		return -errno;
	return -e;
}

int
sys_dup(int fd)
{
	return (int)GIVE(FAULT_DUP, fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

int
sys_pipe(int ends[2])
{
	return (int)GIVE(FAULT_PIPE, pipe2(ends, O_CLOEXEC));
}

ssize_t
sys_getdents(int fd, void *buf, size_t len)
{
	return GIVE(FAULT_GETDENTS, getdents64(fd, buf, len));
}

int
sys_fstat(int fd, struct stat *st)
{
	return (int)GIVE(FAULT_STAT, fstat(fd, st));
}

int
sys_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	return (int)GIVE(FAULT_STAT, fstatat(dirfd, path, st, flags));
}

ssize_t
sys_readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	return GIVE(FAULT_READLINKAT, readlinkat(dirfd, path, buf, len));
}

int
sys_mkdirat(int dirfd, const char *path, mode_t mode)
{
	return (int)GIVE(FAULT_MKDIRAT, mkdirat(dirfd, path, mode));
}

int
sys_symlinkat(const char *target, int dirfd, const char *path)
{
	return (int)GIVE(FAULT_SYMLINKAT, symlinkat(target, dirfd, path));
}

int
sys_mknodat(int dirfd, const char *path, mode_t mode, dev_t dev)
{
	return (int)GIVE(FAULT_MKNODAT, mknodat(dirfd, path, mode, dev));
}

int
sys_linkat(int olddir, const char *old, int newdir, const char *name,
    int flags)
{
	return (int)GIVE(FAULT_LINKAT,
	    linkat(olddir, old, newdir, name, flags));
}

int
sys_renameat(int olddir, const char *old, int newdir, const char *name)
{
	return (int)GIVE(FAULT_RENAMEAT, renameat(olddir, old, newdir, name));
}

int
sys_unlinkat(int dirfd, const char *path, int flags)
{
	return (int)GIVE(FAULT_UNLINKAT, unlinkat(dirfd, path, flags));
}

int
sys_chown(int fd, const char *path, uid_t uid, gid_t gid, int flags)
{
	return (int)GIVE(FAULT_CHOWN, path == NULL ? fchown(fd, uid, gid) :
	    fchownat(fd, path, uid, gid, flags));
}

int
sys_chmod(int fd, const char *path, mode_t mode, int flags)
{
	return (int)GIVE(FAULT_CHMOD, path == NULL ? fchmod(fd, mode) :
	    fchmodat(fd, path, mode, flags));
}

int
sys_utimens(int fd, const char *path, const struct timespec times[2],
    int flags)
{
	return (int)GIVE(FAULT_UTIMENS, path == NULL ? futimens(fd, times) :
	    utimensat(fd, path, times, flags));
}

int
sys_fsetxattr(int fd, const char *name, const void *value, size_t len)
{
	return (int)GIVE(FAULT_SETXATTR, fsetxattr(fd, name, value, len, 0));
}

int
sys_lsetxattr(const char *path, const char *name, const void *value,
    size_t len)
{
	return (int)GIVE(FAULT_SETXATTR, lsetxattr(path, name, value, len, 0));
}

ssize_t
sys_lgetxattr(const char *path, const char *name, void *value, size_t len)
{
	return GIVE(FAULT_GETXATTR, lgetxattr(path, name, value, len));
}

ssize_t
sys_listxattrat(int dir, const char *path, char *names, size_t len)
{
	(void)dir, (void)path, (void)names, (void)len;
	return -ENOSYS;
}

ssize_t
sys_llistxattr(const char *path, char *names, size_t len)
{
	return GIVE(FAULT_GETXATTR, llistxattr(path, names, len));
}

int
sys_thread(pthread_t *thread, void *(*entry)(void *), void *arg)
{
	int e = fault(FAULT_THREAD);

	return e != 0 ? -e : -pthread_create(thread, NULL, entry, arg);
}

/* The clock cannot fail, but a signal may arrive while it is read. */
uint64_t
sys_now_ns(void)
{
	struct timespec ts;

	fault(FAULT_NOW);
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
