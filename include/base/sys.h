/*
 * sys.h - the seam: allocation, input and output, clock and threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every module asks the system through these calls and through nothing else
 * where a failure matters.  The library holds one plain implementation
 * (src/base/sys.c).  A test program that defines the same functions is linked in
 * its place, archive member for archive member, so that any call can be made
 * to fail without preloading and without a branch in the real tools.
 *
 * Each call is thread-safe and behaves as the system call of its name, with
 * -errno for failure in place of -1 and errno.
 */
#ifndef COLDPRESS_SYS_H
#define COLDPRESS_SYS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Memory, or NULL.  The caller owns it and gives it to sys_free(). */
void *sys_malloc(size_t size);
void *sys_calloc(size_t count, size_t size);
void *sys_realloc(void *ptr, size_t size);
void sys_free(void *ptr);

/*
 * One system call each: the number of bytes or the descriptor, 0 where there
 * is neither, or -errno.  A descriptor is the caller's to close.
 */
int sys_openat(int dirfd, const char *path, int flags, mode_t mode);
/*
 * Of openat2(2): path stays below dirfd and goes through no link.  -ENOSYS
 * before Linux 5.6, and -EPERM in containers that refuse what is new.
 */
int sys_open_beneath(int dirfd, const char *path, int flags);
ssize_t sys_read(int fd, void *buf, size_t len);
ssize_t sys_pread(int fd, void *buf, size_t len, off_t offset);
ssize_t sys_write(int fd, const void *buf, size_t len);
int sys_fsync(int fd);
int sys_syncfs(int fd);
int sys_close(int fd);
int sys_linkat(int olddir, const char *old, int newdir, const char *name,
    int flags);
int sys_renameat(int olddir, const char *old, int newdir, const char *name);
int sys_unlinkat(int dirfd, const char *path, int flags);

/* A joinable thread; 0 or -errno. */
int sys_thread(pthread_t *thread, void *(*start)(void *), void *arg);

/* Nanoseconds of CLOCK_MONOTONIC; steps of the wall clock do not show. */
uint64_t sys_now_ns(void);

#endif
