/*
 * layermount_mounted.h - our mount, and the process that serves it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERMOUNT_MOUNTED_H
#define COLDPRESS_LAYERMOUNT_MOUNTED_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Finds the device number of our mount at a path.  Returns false if there is
 * none.
 */
bool mounted_by_us(const char *mountpoint, unsigned *major, unsigned *minor);

/* Unmounts our mount, even if it is in use. */
void unmount(const char *mountpoint);

/*
 * Does the same for the mount with this device number, and ends all access to
 * it.
 */
void unmount_forced(const char *mountpoint, unsigned major, unsigned minor);

/* Its server */

struct watch;

enum { WATCH_SIGNAL = SIGALRM };

/* Creates a watch, before the fork; it is never freed.  Returns 0 or -errno. */
int watch_new(struct watch **w);

/* Called in the child's first thread, which is to be watched. */
void watch_hold(struct watch *w);

/*
 * Called in the parent after the child has called watch_hold(): sends this
 * process WATCH_SIGNAL when that thread has ended.  Returns 0 or -errno.
 */
int watch_start(struct watch *w);

/* Its readahead */

/*
 * Startup touches single pages of many files, and each page read ahead may
 * require another unit.  Therefore the kernel reads little ahead, if this
 * process may set that, until a file is read sequentially or some time has
 * passed.
 */
struct readahead {
	int fd;				/* the setting, or -1 */
	uint64_t bytes;			/* its final value */
	_Atomic bool raised;		/* it has its final value */
};

/* Opens the setting, after the mount and before the process is confined. */
void readahead_open(struct readahead *r, const char *mountpoint,
    uint64_t bytes);
void readahead_close(struct readahead *r);

/* These functions reduce readahead for some time at startup, and restore it. */
void readahead_lower(struct readahead *r);
void readahead_raise(struct readahead *r);

#endif
