/*
 * caches.h - dropping the kernel's file caches
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the kernel's Documentation/admin-guide/sysctl/vm.rst, drop_caches.
 */
#ifndef COLDPRESS_CACHES_H
#define COLDPRESS_CACHES_H

/* Returns 0 if this process may drop the caches, otherwise -errno. */
int caches_may_drop(void);

/*
 * Writes dirty pages to their devices, then drops the page cache, dentries and
 * inodes of all filesystems.  Because an unresponsive filesystem could block
 * the caller forever, a child process does the work.  If the child has not
 * exited after CACHES_LIMIT_S seconds, or after CACHES_PATIENCE_S seconds
 * without a write, it is left running and -ETIMEDOUT is returned.  Returns 0,
 * or -errno from the call that failed.
 *
 * Call this from one thread at a time, in a process that does not wait for
 * arbitrary children.
 */
enum { CACHES_PATIENCE_S = 20, CACHES_LIMIT_S = 600 };
int caches_drop(void);

/* Returns a phrase that states why one of the functions above failed. */
const char *caches_reason(int rc);

#endif
