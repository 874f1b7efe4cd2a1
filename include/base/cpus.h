/*
 * cpus.h - the number of CPUs this process may use
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: sched_getaffinity(2), cgroups(7), proc_pid_mountinfo(5), and the
 * kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
 * Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us).  Thread-safe.
 */
#ifndef COLDPRESS_CPUS_H
#define COLDPRESS_CPUS_H

/*
 * Returns the number of CPUs in the calling thread's affinity mask, limited by
 * its control groups' quotas; at least 1.
 */
unsigned cpus_usable(void);

/*
 * Returns the number of threads to run: `asked`, or one per CPU if `asked` is
 * 0, but never more than `most`.
 */
unsigned cpus_choose(unsigned asked, unsigned most);

/*
 * Returns the number of CPUs allowed by the tightest quota in this process's
 * control groups and their ancestors, rounded up; 0 if there is no quota or it
 * cannot be read.  root is prepended to every path that is read ("" for the
 * running system), so that a test can simulate a system.
 */
unsigned cpus_quota(const char *root);

#endif
