/*
 * caches.h - dropping the kernel's file caches
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the kernel's Documentation/admin-guide/sysctl/vm.rst, drop_caches.
 */
#ifndef COLDPRESS_CACHES_H
#define COLDPRESS_CACHES_H

/* Returns 0 if this process may drop them, otherwise -errno. */
int caches_may_drop(void);

/*
 * Writes dirty pages to their devices, then drops the page cache, dentries and
 * inodes of all filesystems.  An unresponsive filesystem would block the
 * caller forever, so a child does the work: if it does not exit, and nothing
 * has been written for CACHES_PATIENCE_S seconds, or CACHES_LIMIT_S have
 * passed, the result is -ETIMEDOUT and the child is left behind.  Returns 0, or
 * -errno from the call that failed.
 *
 * To be called by one thread at a time, in a process that does not wait for
 * arbitrary children.
 */
enum { CACHES_PATIENCE_S = 20, CACHES_LIMIT_S = 600 };
int caches_drop(void);

/* Returns the meaning of -errno from the above, as the end of a sentence. */
const char *caches_reason(int rc);

#endif
