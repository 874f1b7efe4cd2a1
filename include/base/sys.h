/*
 * sys.h - the system interface: allocation, I/O, clock and threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Modules make system calls through these functions wherever failure matters.
 * The library has one plain implementation (src/base/sys.c).  A test program
 * that defines the same functions is linked in place of that archive member, so
 * that any call can be made to fail without LD_PRELOAD and without a branch in
 * the tools themselves.
 *
 * Each call is thread-safe and behaves as the system call of the same name, but
 * returns -errno on failure instead of returning -1 and setting errno.
 */
#ifndef COLDPRESS_SYS_H
#define COLDPRESS_SYS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Returns memory, which the caller frees with sys_free(), or NULL. */
void *sys_malloc(size_t size);
void *sys_calloc(size_t count, size_t size);
void *sys_realloc(void *ptr, size_t size);
void sys_free(void *ptr);

/*
 * Each function makes one system call and returns a byte count, a descriptor or
 * 0 on success, and -errno on failure.  The caller closes descriptors.
 */
int sys_openat(int dirfd, const char *path, int flags, mode_t mode);
/*
 * Calls openat2(2): path must stay below dirfd and contain no symbolic link.
 * Returns -ENOSYS before Linux 5.6, and -EPERM in containers that block new
 * system calls.
 */
int sys_open_beneath(int dirfd, const char *path, int flags);
ssize_t sys_read(int fd, void *buf, size_t len);
ssize_t sys_pread(int fd, void *buf, size_t len, off_t offset);
ssize_t sys_write(int fd, const void *buf, size_t len);
ssize_t sys_pwrite(int fd, const void *buf, size_t len, off_t offset);
off_t sys_lseek(int fd, off_t offset, int whence);
int sys_ftruncate(int fd, off_t len);
int sys_fsync(int fd);
int sys_syncfs(int fd);
int sys_close(int fd);
int sys_dup(int fd);			/* fcntl(2), F_DUPFD_CLOEXEC */
int sys_pipe(int ends[2]);		/* pipe2(2), O_CLOEXEC */

/* Directory entries: reading, creating and changing them */
ssize_t sys_getdents(int fd, void *buf, size_t len);	/* getdents64(2) */
int sys_fstat(int fd, struct stat *st);
int sys_fstatat(int dirfd, const char *path, struct stat *st, int flags);
ssize_t sys_readlinkat(int dirfd, const char *path, char *buf, size_t len);
int sys_mkdirat(int dirfd, const char *path, mode_t mode);
int sys_symlinkat(const char *target, int dirfd, const char *path);
int sys_mknodat(int dirfd, const char *path, mode_t mode, dev_t dev);
int sys_linkat(int olddir, const char *old, int newdir, const char *name,
    int flags);
int sys_renameat(int olddir, const char *old, int newdir, const char *name);
int sys_unlinkat(int dirfd, const char *path, int flags);

/*
 * These set a file's attributes, or those of the open file fd if path is NULL.
 * times contains the last access time and the last modification time.
 */
int sys_chown(int fd, const char *path, uid_t uid, gid_t gid, int flags);
int sys_chmod(int fd, const char *path, mode_t mode, int flags);
int sys_utimens(int fd, const char *path, const struct timespec times[2],
    int flags);

/* Extended attributes of an open file, or of a path that may be a link. */
int sys_fsetxattr(int fd, const char *name, const void *value, size_t len);
int sys_lsetxattr(const char *path, const char *name, const void *value,
    size_t len);
ssize_t sys_lgetxattr(const char *path, const char *name, void *value,
    size_t len);
ssize_t sys_llistxattr(const char *path, char *names, size_t len);

/*
 * Like sys_llistxattr(), but for a path below dir.  Returns -ENOSYS before
 * Linux 6.13.
 */
ssize_t sys_listxattrat(int dir, const char *path, char *names, size_t len);

/* Starts a joinable thread.  Returns 0 or -errno. */
int sys_thread(pthread_t *thread, void *(*start)(void *), void *arg);

/*
 * Returns the CLOCK_MONOTONIC time in nanoseconds, which is unaffected by
 * wall-clock steps.
 */
uint64_t sys_now_ns(void);

/* Returns the calling thread's processor time in nanoseconds. */
uint64_t sys_cpu_ns(void);

/* Sleeps for the full time, even if interrupted by signals. */
void sys_sleep_ns(uint64_t ns);

#endif
