/*
 * caches.h - the kernel's caches of files, dropped
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the kernel's Documentation/admin-guide/sysctl/vm.rst, drop_caches.
 */
#ifndef COLDPRESS_CACHES_H
#define COLDPRESS_CACHES_H

/* Whether this process may drop them: 0 or -errno. */
int caches_may_drop(void);

/*
 * Writes dirty pages to their devices, then drops the page cache, dentries and
 * inodes of all file systems.  A file system that does not answer would keep
 * the caller for ever, so a child does it: if that does not end, and for
 * CACHES_PATIENCE_S seconds the kernel has had no less to write, -ETIMEDOUT,
 * and the child is left behind.  0, or -errno of what failed.
 *
 * For one thread at a time, of a process that does not wait for any child.
 */
enum { CACHES_PATIENCE_S = 20 };
int caches_drop(void);

/* What -errno of the above means: the end of a sentence. */
const char *caches_reason(int rc);

#endif
