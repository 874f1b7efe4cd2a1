/*
 * cpus.h - how many CPUs this process may use
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: sched_getaffinity(2), cgroups(7), proc_pid_mountinfo(5), and the
 * kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
 * Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us).  Thread-safe.
 */
#ifndef COLDPRESS_CPUS_H
#define COLDPRESS_CPUS_H

/*
 * The CPUs of the calling thread's affinity mask, but no more than the
 * quotas of its control groups allow.  At least 1.
 */
unsigned cpus_usable(void);

/* How many threads to run: asked or, if that is 0, all CPUs; at most most. */
unsigned cpus_choose(unsigned asked, unsigned most);

/*
 * As many CPUs as the tightest quota in the control groups of this process
 * and in those around them allows, rounded up; 0 where there is none, or
 * none can be read.  root stands before every path that is read ("" for the
 * running system), so that a test can show a system of its own.
 */
unsigned cpus_quota(const char *root);

#endif
