/*
 * layermount_mounted.h - our mount, and a watch on the process that serves it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERMOUNT_MOUNTED_H
#define COLDPRESS_LAYERMOUNT_MOUNTED_H

#include <signal.h>
#include <stdbool.h>

/* layermount_mounted.c */

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

/* layermount_watch.c */

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

#endif
