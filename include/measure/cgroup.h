/*
 * cgroup.h - a version 2 control group of our own, to count and to kill in
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * No controller is needed: cpu.stat and cgroup.kill are in every group
 * (Documentation/admin-guide/cgroup-v2.rst of Linux).  The memory figures are
 * there if the parent hands down the memory controller and the kernel can
 * reset a peak (Linux 6.12).
 *
 * A struct cgroup belongs to one thread at a time.
 */
#ifndef COLDPRESS_CGROUP_H
#define COLDPRESS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct cgroup {
	int parent, dir;		/* folders */
	int cpu, kill, peak, now;	/* files in it; -1: not there */
	uint64_t base_B;		/* memory at cgroup_mark() */
	bool killed;			/* cgroup_kill() was called */
	char name[96];
};

/*
 * The folder of this process's own group, or -ENOENT where there is no
 * version 2 hierarchy, or -errno.  The caller closes it.
 */
int cgroup_own(void);

/*
 * Makes the group name below ours.  0 or -errno: -ENOENT, -EACCES, -EROFS ...
 * where there is none to be had; then nothing is to be removed.
 */
int cgroup_create(struct cgroup *g, const char *name);

/* Processor time used in the group since it was made, in us; or -errno. */
int64_t cgroup_cpu_us(const struct cgroup *g);

/* Memory is counted from here on; where it cannot be, nothing is done. */
void cgroup_mark(struct cgroup *g);

/* By how much memory has grown since then, at its peak; -ENOENT: unknown. */
int64_t cgroup_peak_B(const struct cgroup *g);

/*
 * Kills every process in the group.  0 or -errno.  Linux 6.12 and later also
 * kill whatever is born into the group from then on by CLONE_INTO_CGROUP, as
 * if it had been there: cgroup_renew() before the next one.
 */
int cgroup_kill(struct cgroup *g);

/*
 * Replaces a group in which there was a kill, and which must be empty, by a
 * new one, whose counters are 0.  Else nothing is done.  0 or -errno: then
 * there is no group any more.
 */
int cgroup_renew(struct cgroup *g);

/*
 * Removes the group, which must be empty by then, and closes its files.  A
 * group that cannot be removed stays.
 */
void cgroup_remove(struct cgroup *g);

/*
 * Kills what is in the group name below the folder parent and removes it, if
 * it can be.  Thread-safe.
 */
void cgroup_end(int parent, const char *name);

#endif
