/*
 * cgroup.h - creating a version 2 cgroup for accounting and killing
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * No controller is needed: cpu.stat and cgroup.kill are in every group (Linux's
 * Documentation/admin-guide/cgroup-v2.rst).  Memory figures are available if
 * the parent delegates the memory controller and the kernel can reset the peak
 * (Linux 6.12).
 *
 * A struct cgroup belongs to one thread at a time.
 */
#ifndef COLDPRESS_CGROUP_H
#define COLDPRESS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct cgroup {
	int parent, dir;		/* directories */
	int cpu, kill, peak, now;	/* files in it; -1: missing */
	uint64_t base_B;		/* memory in use at cgroup_mark() */
	bool killed;			/* cgroup_kill() was called */
	char name[96];
};

/*
 * Returns the directory of this process's own group, or -ENOENT if there is no
 * version 2 hierarchy, or -errno.  The caller closes it.
 */
int cgroup_own(void);

/*
 * Creates the group `name` under ours.  Returns 0 or -errno (-ENOENT, -EACCES,
 * -EROFS, ... if groups cannot be created); on failure there is nothing to
 * remove.
 */
int cgroup_create(struct cgroup *g, const char *name);

/*
 * Returns the processor time used in the group since it was created, in us, or
 * -errno.
 */
int64_t cgroup_cpu_us(const struct cgroup *g);

/* Starts measuring memory growth; does nothing if memory cannot be measured. */
void cgroup_mark(struct cgroup *g);

/* Returns the peak memory growth since cgroup_mark(), or -ENOENT if unknown. */
int64_t cgroup_peak_B(const struct cgroup *g);

/*
 * Kills every process in the group.  Returns 0 or -errno.  Linux 6.12 and later
 * also kill processes created in the group afterwards with CLONE_INTO_CGROUP,
 * so call cgroup_renew() before the next one.
 */
int cgroup_kill(struct cgroup *g);

/*
 * If cgroup_kill() was called, replaces the group, which must be empty, with a
 * new one whose counters are 0; otherwise does nothing.  Returns 0 or -errno;
 * after an error the group no longer exists.
 */
int cgroup_renew(struct cgroup *g);

/*
 * Removes the group, which must be empty, and closes its files.  A group that
 * cannot be removed is left in place.
 */
void cgroup_remove(struct cgroup *g);

/*
 * Kills the processes in the group `name` in the directory `parent`, and
 * removes the group if possible.  Thread-safe.
 */
void cgroup_end(int parent, const char *name);

#endif
